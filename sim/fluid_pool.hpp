// Work that flows at shared rates: transfers, waves of CTAs, kernels that live off memory bandwidth.
//
// Rates change only when a flow starts or ends. All changes of one instant are settled together, and only flows that
// share a resource, directly or through others, with a changed one are planned anew. A flow that starts in the instant
// in which an equal one ends takes over its rate: nothing is planned (wave after wave of a GEMM costs one event each).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/engine.hpp"
#include "sim/max_min.hpp"

namespace weft::sim {

using FlowId = int;

class FluidPool {
 public:
  explicit FluidPool(Engine& engine) : engine_(engine) {}
  FluidPool(const FluidPool&) = delete;  // events in the engine point at it

  /// `capacity` in units per us.
  int add_resource(double capacity);

  /// `work` units at most at demand.cap units per us; `done` is called at the end, in the phase `happen`. Ends are
  /// rounded up to the next nanosecond, so that what is equal stays simultaneous.
  FlowId start(double work, const Demand& demand, Waiter done);
  /// Changes the largest rate of a flow that has not ended yet.
  void set_cap(FlowId id, double cap);

  double capacity(int resource) const { return capacities_[resource]; }
  /// Units that went through a resource so far.
  double served(int resource) const { return served_[resource]; }
  /// Largest load over capacity that any plan so far gave a resource: never above 1 (a property that tests check).
  double peak_load() const { return peak_load_; }
  std::uint64_t plans() const { return plans_; }

 private:
  struct Flow {
    Demand demand;
    double work = 0, left = 0, rate = 0;
    Picoseconds updated;
    Waiter done;
    std::uint32_t version = 0;  // an end that was planned for an older version is void
    bool running = false;
    bool has_rate = false;
  };
  /// What an event needs to know about a planned end.
  struct PlannedEnd {
    FluidPool* pool = nullptr;
    FlowId flow = 0;
    std::uint32_t version = 0;
  };

  FlowId free_slot();
  void request_settle();
  void settle();
  void plan(const std::vector<FlowId>& group);
  std::vector<FlowId> group_of(int resource);
  void advance(Flow& flow);
  void plan_end(FlowId id);
  void end(FlowId id, std::uint32_t version);
  void touch(const Demand& demand);
  static void on_settle(void* pool) { static_cast<FluidPool*>(pool)->settle(); }
  static void on_end(void* planned);

  Engine& engine_;
  std::vector<double> capacities_, served_;
  std::vector<std::vector<FlowId>> flows_of_;  // by resource, running flows in the order of their start
  std::vector<bool> touched_;
  std::vector<Flow> flows_;
  std::vector<FlowId> free_, started_, ended_;
  std::vector<PlannedEnd*> idle_ends_;
  std::deque<PlannedEnd> ends_;
  bool settling_ = false;
  double peak_load_ = 0;
  std::uint64_t plans_ = 0;
};

}  // namespace weft::sim
