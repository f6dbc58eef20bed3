// The SMs of one GPU: which CTAs are resident where, and who gets an SM that comes free.
//
// Waiting grids are served by priority, then in order of arrival; a grid that does not fit holds back all behind it, as
// the hardware's block scheduler does; a grid at its own limit of SMs does not.
// Nothing is taken away from a resident CTA. CTAs of a cluster need one GPC, an SM each, at one instant.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine.hpp"
#include "sim/sm_placement.hpp"

namespace weft::sim {

struct Activity;

/// A kernel that wants CTAs placed.
class Grid {
 public:
  virtual ~Grid() = default;
  /// Called in the phase `dispatch` with the SMs that took CTAs, one entry a CTA; they are valid until none is
  /// resident.
  virtual void on_placed(std::span<const int> sms) = 0;

  CtaShape cta;
  int cluster = 1;
  int priority = 0;  ///< as in CUDA: lower is more urgent
  int unplaced = 0;  ///< CTAs that wait for an SM; set before submit, counted down by the pool
  int most_sms = 0;  ///< at most so many CTAs resident at once; 0: no limit
  int resident = 0;
  boost::container::small_vector<SmListPointer, 2> lists;  ///< by the pool: of the SMs that resident CTAs are on
  const Activity* owner = nullptr;                         ///< for messages
};

class SmPool {
 public:
  SmPool(Engine& engine, SmPlacement& placement);
  SmPool(const SmPool&) = delete;  // events in the engine point at it

  void submit(Grid& grid);
  /// CTAs of `grid` on these SMs have exited.
  void release(Grid& grid, std::span<const int> sms);
  /// A grid that needs no further CTAs (its tiles ran out) stops waiting for SMs.
  void withdraw(Grid& grid);

  /// Who keeps a grid that has CTAs to place from its SMs, for messages: the grid in front of it, else one that holds
  /// SMs; null where neither is there.
  const Grid* what_holds_back(const Grid& grid) const;

  /// SMs with at least one resident CTA.
  int busy_sms() const;
  /// Grids with resident CTAs.
  std::span<const Grid* const> holding() const { return holding_; }

 private:
  void request_dispatch();
  void dispatch();
  static int allowed(const Grid& grid);
  std::span<const int> place(Grid& grid);

  Engine& engine_;
  SmPlacement& placement_;
  SmStatePointer state_;
  std::vector<Grid*> waiting_;        // by priority, then arrival
  std::vector<const Grid*> holding_;  // grids with resident CTAs, in the order of their first
  bool dispatch_requested_ = false;
};

}  // namespace weft::sim
