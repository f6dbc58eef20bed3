// The SMs of one GPU: which CTAs are resident where, and who gets an SM that comes free.
//
// Waiting grids are served by priority, then in order of arrival; a grid that does not fit holds back all behind it, as
// the hardware's block scheduler does; a grid at its own limit of SMs does not. CTAs go to the emptiest SMs first.
// Nothing is taken away from a resident CTA. CTAs of a cluster need one GPC, an SM each, at one instant.
#pragma once

#include <map>
#include <vector>

#include "models/machine.hpp"
#include "sim/engine.hpp"

namespace weft::sim {

struct Activity;

/// What one CTA takes of an SM.
struct CtaShape {
  int threads = 0;
  int registers = 0;
  Bytes shared_memory = 0;
};

/// A kernel that wants CTAs placed.
class Grid {
 public:
  virtual ~Grid() = default;
  /// Called in the phase `dispatch` with the SMs that took CTAs, one entry a CTA.
  virtual void on_placed(const std::vector<int>& sms) = 0;

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
  SmPool(Engine& engine, const Gpu& gpu);
  SmPool(const SmPool&) = delete;  // events in the engine point at it

  void submit(Grid& grid);
  /// CTAs of `grid` on these SMs have exited.
  void release(Grid& grid, const std::vector<int>& sms);
  /// A grid that needs no further CTAs (its tiles ran out) stops waiting for SMs.
  void withdraw(Grid& grid);

  /// Who keeps a grid that has CTAs to place from its SMs, for messages: the grid in front of it, else one that holds
  /// SMs; null where neither is there.
  const Grid* what_holds_back(const Grid& grid) const;

  int sms() const { return static_cast<int>(sms_.size()); }
  /// SMs with at least one resident CTA.
  int busy_sms() const;
  /// CTAs of this shape that the empty GPU holds at once, in whole clusters.
  int capacity(const CtaShape& cta, int cluster) const;

 private:
  struct Sm {
    int gpc = 0;
    int threads = 0, registers = 0, slots = 0;  // free
    Bytes shared_memory = 0;                    // free
    bool fits(const CtaShape& cta) const {
      return slots > 0 && threads >= cta.threads && registers >= cta.registers && shared_memory >= cta.shared_memory;
    }
  };

  void request_dispatch();
  void dispatch();
  static int allowed(const Grid& grid);
  std::vector<int> place(Grid& grid);
  void place_round_by_round(const Grid& grid, int most, std::vector<int>& placed);
  bool is_placed_at_once(const Grid& grid, int most) const;
  void place_at_once(const Grid& grid, int most, std::vector<int>& placed);
  const std::vector<int>& round_of(int cluster);
  int ctas_of_empty_sm(const CtaShape& cta) const;
  void find_fitting(const CtaShape& cta);
  int least_load() const;
  void find_candidates(int load);
  bool place_cluster(const Grid& grid, int most, std::vector<int>& candidates, std::vector<int>& placed);
  int resident(const Sm& sm) const { return gpu_.ctas_per_sm - sm.slots; }
  static void occupy(Sm& sm, const CtaShape& cta, int change);
  static void on_dispatch(void* pool) { static_cast<SmPool*>(pool)->dispatch(); }

  Engine& engine_;
  Gpu gpu_;
  std::vector<Sm> sms_;
  std::vector<std::pair<int, int>> gpc_range_;  // first SM and number of SMs
  std::vector<Grid*> waiting_;                  // by priority, then arrival
  std::vector<const Grid*> holding_;            // grids with resident CTAs, in the order of their first
  std::map<int, std::vector<int>> rounds_;      // by cluster: the order in which an empty GPU's SMs take a CTA each
  int residents_ = 0;                           // CTAs on all SMs
  std::vector<int> fitting_;                    // SMs that can take a CTA of the grid that is placed
  std::vector<std::vector<int>> candidates_;    // by GPC: those that may take one in this round
  bool dispatch_requested_ = false;
};

}  // namespace weft::sim
