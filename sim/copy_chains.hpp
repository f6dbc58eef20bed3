// Ranks that do nothing but copy from or to peers, one copy after the other, and that nothing holds in step: hundreds
// of iterations count, no two of which are alike. All that happens to the links is that one copy begins or ends, so
// that no queue of events is needed: the times are those of the simulation with one, bit for bit, at a fifth of its
// cost.
//
// Why the same bits: between two of these moments the rates stay, and at each of them the rates of those whom it
// concerns are found as FluidPool finds them for a lone change, with the same operations in the same order. Which order
// things of one instant have is the business of the queue. So where two copies begin or end at the same time, this
// gives up, and the whole run is simulated with the queue; so it does where a copy may meet others at more than one
// resource, as on PCIe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/max_min.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_machine.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

class CopyChains {
 public:
  static constexpr std::size_t most_ranks = 64;

  /// Is that all that the ranks do?
  static bool are_all(const StreamOrder& order, const std::vector<OperationCost>& costs);

  /// Of such a schedule. Refers to its arguments, and leaves links behind in the machine.
  CopyChains(const StreamOrder& order, SimulatedMachine& machine, int ranks);

  /// Tells `run`, which has been prepared for them, the times of so many iterations. False where it gives up, or where
  /// nothing happens any more: what was told is worth nothing then.
  bool tell(ScheduleRun& run, int iterations);

 private:
  struct Rank;
  /// Where copies of several ranks meet: the port of a source, as a rule.
  struct Meeting {
    double capacity = 0;
    double enough = 0;          // who want less together are not held back
    double wanted = 0;          // by all who flow
    bool holds_back = false;    // some of them, or could
    std::uint64_t flowing = 0;  // a bit for each slot
  };
  /// What no other rank uses, which caps a copy's rate: a rank's own port, as a rule.
  struct Cap {
    double per_unit = 1, enough = 0;
    double rate = 0;  // of a copy that uses all of it
  };
  /// A copy of a rank, the same in every iteration.
  struct Link {
    CopyRoute route;
    std::vector<Cap> caps;
    Meeting* meeting = nullptr;  // where it meets others, if anywhere
    double per_unit = 1;         // of what flows there
  };
  /// What is thrown for a copy of a rank. It is found while the one before flows, when nothing waits for it.
  struct Throw {
    const Link* link = nullptr;
    Picoseconds setup;  // from its begin until its bytes flow
    double wanted = 0;  // rate with nobody beside and nothing in the way
    double cap = 0;     // rate at most
  };
  /// A rank, which is at one copy or before it.
  struct Rank {
    int number = 0, iteration = 0;
    OperationId id = 0;
    int occasion = 0;  // of that copy, for skew.hpp
    bool flows = false;
    int slot = 0;  // as the pool would number its flows
    Throw copy, next_copy;
    double left = 0, rate = 0;
    Picoseconds updated;
  };
  /// Whose copy begins or ends first, and does another one at the same time?
  struct First {
    int rank = 0;
    Picoseconds time;
    bool is_tied = false;
  };

  void forget_wide_resources(std::vector<Uses>& uses) const;
  void find_meetings(const std::vector<Uses>& uses);
  void take_slot(Rank& one);
  template <class Tell>
  void for_flowing(const Meeting& meeting, Tell tell);
  First first_rank() const;
  Picoseconds& next(const Rank& one) { return next_[one.number]; }
  Throw throw_for(const Rank& one, OperationId id, int occasion) const;
  void begin_iteration(Rank& one, Picoseconds time);
  void wait_for_copy(Rank& one, Picoseconds begin);
  void begin_flow(Rank& one);
  void end_flow(Rank& one);
  void join(Rank& one, Meeting& meeting);
  void leave(Rank& one, Meeting& meeting);
  void share(Meeting& meeting);
  void set_rate(Rank& one, double rate);
  Picoseconds end_of(const Rank& one) const;

  const StreamOrder& order_;
  SimulatedMachine& machine_;
  std::vector<Link> links_;        // by rank and operation
  std::vector<Meeting> meetings_;  // by resource
  bool meets_once_ = true;         // each copy meets others at one of them at most
  ScheduleRun* run_ = nullptr;
  int iterations_ = 0, at_work_ = 0;  // the latter: ranks
  Picoseconds now_;
  std::vector<Rank> ranks_;
  std::vector<Picoseconds> next_;  // by rank: its bytes begin or cease to flow
  std::vector<int> free_slots_;
  std::array<Rank*, most_ranks> by_slot_{};
  int slots_ = 0;
  MaxMin max_min_;
  std::vector<Use> demanded_;
  std::vector<Demand> demands_;
};

}  // namespace weft::sim
