// Ranks that do nothing but copy from or to peers, one copy after the other, and that nothing holds in step: hundreds
// of iterations count, no two of which are alike. All that happens to the links is that one copy begins or ends, so
// that no queue of events is needed: the times are those of the simulation with one, bit for bit, at a quarter of its
// cost.
//
// Why the same bits: between two of these moments the rates stay, and at each of them the rates of those whom it
// concerns are found as FluidPool finds them for a lone change, with the same operations in the same order. Which order
// things of one instant have is the business of the queue. So where two copies begin or end at the same time, this
// gives up, and the whole run is simulated with the queue.
#pragma once

#include <boost/container/small_vector.hpp>
#include <utility>
#include <vector>

#include "sim/max_min.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_machine.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

class CopyChains {
 public:
  /// Is that all that the ranks do?
  static bool are_all(const StreamOrder& order, const std::vector<OperationCost>& costs);

  /// Of such a schedule. Refers to its arguments, and leaves links behind in the machine.
  CopyChains(const StreamOrder& order, SimulatedMachine& machine, int ranks);

  /// Tells `run`, which has been prepared for them, the times of so many iterations. False where two things happen at
  /// one time, or nothing any more: what was told is worth nothing then.
  bool tell(ScheduleRun& run, int iterations);

 private:
  /// A copy of a rank, the same in every iteration.
  struct Link {
    CopyRoute route;
    std::vector<Use> uses;  // but for what can hold nobody back
    std::vector<Use> own;   // those of them that no other rank uses: they cap its rate
  };
  /// A rank, which is at one copy or before it.
  struct Rank {
    int number = 0, iteration = 0;
    OperationId id = 0;
    int occasion = 0;            // of that copy, for skew.hpp
    const Link* link = nullptr;  // likewise
    bool flows = false, has_rate = false;
    int slot = 0;                // as the pool would number its flows
    double wanted = 0, cap = 0;  // rate with nobody beside and nothing in the way; at most
    double left = 0, rate = 0;
    Picoseconds updated;
    std::uint64_t seen = 0;  // number of the search that met it last
  };
  struct Resource {
    double capacity = 0, wanted = 0;                   // as in FluidPool
    boost::container::small_vector<Rank*, 4> flowing;  // by slot, since sums are rounded in this order
    std::uint64_t seen = 0;                            // number of the search that met it last
  };
  /// Whose copy begins or ends first, and does another one at the same time?
  struct First {
    int rank = 0;
    Picoseconds time;
    bool is_tied = false;
  };

  void forget_wide_resources();
  void set_own_resources_apart();
  First first_rank() const;
  Picoseconds& next(const Rank& one) { return next_[one.number]; }
  void begin_iteration(Rank& one, Picoseconds time);
  void wait_for_copy(Rank& one, Picoseconds begin);
  void begin_flow(Rank& one);
  void end_flow(Rank& one);
  void settle(Rank& changed);
  void count(Rank& changed, Resource& resource, double wanted);
  bool update_limit(int resource);
  void plan(int resource);
  bool share_evenly(int resource);
  bool meets_nobody(const Rank& one) const;
  void find_group(int resource);
  void set_rate(Rank& one, double rate);
  Picoseconds end_of(const Rank& one) const;

  const StreamOrder& order_;
  SimulatedMachine& machine_;
  std::vector<Link> links_;  // by rank and operation
  ScheduleRun* run_ = nullptr;
  int iterations_ = 0, at_work_ = 0;  // the latter: ranks
  Picoseconds now_;
  std::vector<Rank> ranks_;
  std::vector<Picoseconds> next_;  // by rank: its bytes begin or cease to flow
  std::vector<Resource> resources_;
  std::vector<double> limits_;  // by resource: its capacity, or infinite where nobody is held back
  std::vector<int> free_slots_, to_plan_, open_;
  std::vector<Rank*> group_;
  int slots_ = 0;
  std::uint64_t searches_ = 0;
  MaxMin max_min_;
  std::vector<Demand> demands_;
};

}  // namespace weft::sim
