// Work that flows at shared rates: transfers, waves of CTAs, kernels that live off memory bandwidth.
//
// Rates change only when a flow starts or ends. All changes of one instant are settled together. A resource that could
// give all of its flows their caps at once holds nobody back: it is left out until that changes. Only flows that share
// one of the others, directly or through others, with a changed one are planned anew: GEMMs that leave memory bandwidth
// over do not meet the copies beside them. A flow that starts in the instant in which an equal one ends takes over its
// rate: nothing is planned (wave after wave of a GEMM costs one event each).
//
// Each plan moves the ends of many flows; ends at one time leave in the order in which they were planned.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine.hpp"
#include "sim/frame_store.hpp"
#include "sim/max_min.hpp"
#include "sim/planned_ends.hpp"

namespace weft::sim {

using FlowId = int;
using PathId = int;

class FluidPool {
 public:
  explicit FluidPool(Engine& engine);
  FluidPool(const FluidPool&) = delete;  // events in the engine point at it

  /// `capacity` in units per us.
  int add_resource(double capacity);
  int resources() const { return static_cast<int>(count_); }
  PathId add_path(const Uses& uses);

  /// `work` units at most at `cap` units per us; `done` is called at the end, in the phase `happen`. Ends are rounded
  /// up to the next nanosecond, so that what is equal stays simultaneous.
  FlowId start(double work, double cap, PathId path, Waiter done);
  /// Asked when a flow ends, by whom that is told: what starts equal ones one after the other as long as nobody else
  /// does anything meanwhile. So many of them, `most` or fewer, have ended when it comes back, at what is then the
  /// present; nobody is told.
  std::int64_t start_and_end(double work, double cap, PathId path, std::int64_t most);
  /// Changes the largest rate of a flow that has not ended yet.
  void set_cap(FlowId id, double cap);

  /// Forgets all flows, which have ended, all paths, and the resources that were added after the first so many.
  void restart(int resources);

  double capacity(int resource) const { return resources_[resource].capacity; }
  /// Units per us that go through a resource, at the end of an instant.
  double load(int resource) const;
  /// Units that went through a resource so far.
  double served(int resource) const;
  /// Largest load over capacity that any plan so far gave a resource: never above 1 (a property that tests check).
  double peak_load() const { return peak_load_; }
  /// Nobody will ask for it.
  void leave_out_peak_load() { with_peak_load_ = false; }
  std::uint64_t plans() const { return plans_; }

 private:
  struct Resource {
    double capacity = 0;
    double wanted = 0;                                // what its running flows would take at their caps
    double load = 0;                                  // in the plan that is made
    boost::container::small_vector<FlowId, 4> flows;  // that run, in any order
    bool is_touched = false;                          // its flows have changed since the last settling
    std::uint64_t seen = 0;                           // number of the search that met it last

    /// Of one that runs: most have few beside them.
    FlowId& place_of(FlowId id) {
      FlowId* place = flows.data();
      while (*place != id) ++place;
      return *place;
    }
  };
  struct Path {
    std::size_t first_use = 0, last_use = 0;
    double served = 0;  // units of the flows that ended
  };
  struct Flow {
    PathId path = 0;
    bool has_rate = false, runs = false;
    std::uint64_t seen = 0;  // number of the search that met it last
    double cap = 0;
    double work = 0, left = 0, rate = 0;
    Picoseconds updated;
    Waiter done;
  };
  /// A flow that has ended and the equal one that was started as it did: neither has been counted.
  struct Renewal {
    FlowId gone, follows;
  };
  struct NewEnd {
    FlowId flow;
    Picoseconds end;
    int part = 0;  // see order_ties()
  };
  /// Of most simulations, so that memory is not asked for again and again as they begin.
  static constexpr std::size_t usual_resources = 12, usual_flows = 14;
  using ResourceList = boost::container::small_vector<int, usual_resources>;
  using FlowList = boost::container::small_vector<FlowId, usual_flows>;
  static constexpr FlowId none = -1;

  PathUses uses(const Path& path) const { return {uses_.data() + path.first_use, uses_.data() + path.last_use}; }
  PathUses uses(const Flow& flow) const { return uses(paths_[flow.path]); }
  FlowId free_slot();
  void join(FlowId id);
  void leave(FlowId id);
  void count_changes();
  void count(FlowId id, const Flow& flow, const Use& use);
  void settle();
  void settle_lone(FlowId id);
  void settle_several();
  void take_over_rates();
  bool is_equal(const Flow& gone, double cap, PathId path) const;
  bool is_twin(const Flow& a, const Flow& b) const;
  void update_limits();
  bool update_limit(int resource);
  void plan();
  void plan_group(int resource);
  bool meets_nobody(FlowId id) const;
  void plan_lone(FlowId id);
  double lone_rate(const Flow& flow);
  void sort_group();
  template <class Counts>
  void find_group(int resource, const Counts& counts);
  void note_peak_load(std::span<const double> rates);
  void set_rate(FlowId id, double rate);
  void order_ties();
  bool share_a_resource(const Flow& a, const Flow& b) const;
  void find_parts();
  void advance(Flow& flow);
  Picoseconds end_of(const Flow& flow) const;
  void plan_end(FlowId id, Picoseconds time);
  void on_end();
  bool follows_on_first_end();
  bool is_lone_renewal() const;
  void part() {
    if (ending_ != none || !renewals_.empty()) part_now();
  }
  void part_now();
  void renew_all();
  FlowId renew(const Renewal& renewal);
  void change_places(FlowId gone, FlowId id);
  void want(const Flow& flow, double cap);
  void touch(const Flow& flow);

  Engine& engine_;
  FrameVector<Resource> resources_;
  std::size_t count_ = 0;       // of resources; those beyond are memory only
  FrameVector<double> limits_;  // by resource: its capacity, or infinite where nobody is held back
  ResourceList touched_;        // resources whose flows have changed since the last settling
  FrameVector<Path> paths_;
  FrameVector<Use> uses_;  // path by path
  FrameVector<Flow> flows_;
  PlannedEnds ends_;  // of flows that run and do not stand still
  FlowList free_;
  FlowList changed_;         // have started or ended since the last settling, in this order,
  std::size_t counted_ = 0;  // and so many of them count among the flows of their resources, or no more
  FlowList unrated_;         // need a rate: new ones, and those with another cap

  // Memory of settle().
  MaxMin max_min_;
  ResourceList to_plan_;  // resources whose flows' rates may change
  boost::container::small_vector<NewEnd, usual_flows> new_ends_;
  FlowList ended_;
  ResourceList settled_;       // the resources that were touched,
  FlowId lone_change_ = none;  // or the flow whose resources alone were
  std::vector<int> part_of_;   // by flow
  FlowList group_;
  std::vector<std::uint64_t> is_in_group_;  // a bit a flow
  std::vector<Demand> demands_;
  ResourceList open_;
  std::uint64_t searches_ = 0;
  boost::container::small_vector<Renewal, usual_flows>
      renewals_;              // of this instant, as long as nothing else has changed in it
  FlowId ending_ = none;      // has ended, and still counts as running while its end is told
  FlowId renewed_ = none;     // an equal one that was started then, and does not count yet
  bool is_lone_end_ = false;  // no other flow ends when `ending_` does
  bool with_peak_load_ = true;
  double peak_load_ = 0;
  std::uint64_t plans_ = 0;
};

inline Picoseconds FluidPool::end_of(const Flow& flow) const {
  return end_of_rest(flow.left, flow.rate, flow.updated, engine_.now());
}

inline void FluidPool::plan_end(FlowId id, Picoseconds time) {
  if (time == never) return ends_.forget(id);
  ends_.plan(id, {time, engine_.take_place()});
}

}  // namespace weft::sim
