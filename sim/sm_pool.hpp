// The SMs of one GPU: which CTAs are resident where, and who gets an SM that comes free.
//
// Waiting grids are served by priority, then in order of arrival; a grid that does not fit holds back all behind it, as
// the hardware's block scheduler does; a grid at its own limit of SMs does not. CTAs go to the emptiest SMs first.
// Nothing is taken away from a resident CTA. CTAs of a cluster need one GPC, an SM each, at one instant.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine.hpp"
#include "sim/sm_layout.hpp"

namespace weft::sim {

struct Activity;

/// A kernel that wants CTAs placed.
class Grid {
 public:
  virtual ~Grid() = default;
  /// Called in the phase `dispatch` with the SMs that took CTAs, one entry a CTA; they are valid during the call.
  virtual void on_placed(std::span<const int> sms) = 0;

  CtaShape cta;
  int cluster = 1;
  int priority = 0;  ///< as in CUDA: lower is more urgent
  int unplaced = 0;  ///< CTAs that wait for an SM; set before submit, counted down by the pool
  int most_sms = 0;  ///< at most so many CTAs resident at once; 0: no limit
  int resident = 0;
  const Activity* owner = nullptr;  ///< for messages
};

class SmPool {
 public:
  SmPool(Engine& engine, SmLayout& layout);
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

 private:
  /// SMs with the same room are alike: there are few kinds at a time.
  struct Kind {
    SmRoom room;
    int sms = 0;
    bool is_fitting = false;  // for the grid that is placed
  };
  /// SMs of one GPC that may take a CTA in this round, the emptiest first.
  struct Candidates {
    int* next = nullptr;
    int* end = nullptr;
  };

  void request_dispatch();
  void dispatch();
  static int allowed(const Grid& grid);
  void place(Grid& grid);
  bool is_placed_at_once(const Grid& grid, int most) const;
  void place_at_once(const Grid& grid, int most);
  void place_round_by_round(const Grid& grid, int most);
  bool place_cluster(const Grid& grid, int most, Candidates& candidates);
  int least_load(int from) const;
  void find_candidates(int most_load);
  int load(const Kind& kind) const { return layout_.empty_sm().slots - kind.room.slots; }
  void find_fitting(const CtaShape& cta);
  void take_room(std::span<const int> sms, const CtaShape& cta, int ctas);
  int kind_with(const SmRoom& room);

  Engine& engine_;
  SmLayout& layout_;
  std::vector<Kind> kinds_;
  std::vector<int> kind_of_;            // by SM
  std::vector<Grid*> waiting_;          // by priority, then arrival
  std::vector<const Grid*> holding_;    // grids with resident CTAs, in the order of their first
  int residents_ = 0;                   // CTAs on all SMs
  std::vector<Candidates> candidates_;  // by GPC
  std::vector<int> candidate_sms_;      // GPC by GPC
  std::vector<int> placed_;             // of the grid that is served
  bool dispatch_requested_ = false;
};

}  // namespace weft::sim
