#include "sim/fluid_pool.hpp"

#include <algorithm>
#include <cmath>

namespace weft::sim {
namespace {

constexpr std::int64_t end_grid_ps = 1000;  // ends fall on whole nanoseconds

/// Rounds up, after taking off what floating point may have added: plain rounding up would let equal flows drift
/// apart, rounding to nearest could end a flow in the instant in which it was planned, for ever.
Picoseconds rounded_up(double time_ps) {
  const auto grid = static_cast<double>(end_grid_ps);
  return {static_cast<std::int64_t>(std::ceil(time_ps / grid - 1e-6)) * end_grid_ps};
}

}  // namespace

int FluidPool::add_resource(double capacity) {
  capacities_.push_back(capacity);
  served_.push_back(0);
  flows_of_.emplace_back();
  touched_.push_back(false);
  return static_cast<int>(capacities_.size()) - 1;
}

FlowId FluidPool::free_slot() {
  if (free_.empty()) {
    flows_.emplace_back();
    return static_cast<FlowId>(flows_.size()) - 1;
  }
  const FlowId id = free_.back();
  free_.pop_back();
  return id;
}

FlowId FluidPool::start(double work, const Demand& demand, Waiter done) {
  const FlowId id = free_slot();
  Flow& flow = flows_[id];
  flow.demand = demand;  // into memory that the slot has already
  flow.work = flow.left = work;
  flow.updated = engine_.now();
  flow.done = done;
  flow.running = true;
  flow.has_rate = false;
  for (const Use& use : flow.demand.uses) flows_of_[use.resource].push_back(id);
  started_.push_back(id);
  request_settle();
  return id;
}

void FluidPool::set_cap(FlowId id, double cap) {
  flows_[id].demand.cap = cap;
  touch(flows_[id].demand);
  request_settle();
}

void FluidPool::request_settle() {
  if (settling_) return;
  settling_ = true;
  engine_.at(engine_.now(), {on_settle, this}, Phase::settle);
}

void FluidPool::touch(const Demand& demand) {
  for (const Use& use : demand.uses) touched_[use.resource] = true;
}

void FluidPool::settle() {
  settling_ = false;
  // Pair each start with an equal end of this instant: the sum over each resource is then what it was.
  for (const FlowId id : started_) {
    Flow& flow = flows_[id];
    const auto twin = std::find_if(ended_.begin(), ended_.end(), [&](FlowId other) {
      const Flow& gone = flows_[other];
      return gone.has_rate && gone.demand.cap == flow.demand.cap && gone.demand.uses == flow.demand.uses;
    });
    if (twin != ended_.end()) {
      flow.rate = flows_[*twin].rate;
      flow.has_rate = true;
      free_.push_back(*twin);
      ended_.erase(twin);
      plan_end(id);
    } else if (flow.demand.uses.empty()) {
      flow.rate = flow.demand.cap;
      flow.has_rate = true;
      plan_end(id);
    } else {
      touch(flow.demand);
    }
  }
  for (const FlowId id : ended_) {
    touch(flows_[id].demand);
    free_.push_back(id);
  }
  started_.clear();
  ended_.clear();
  for (int r = 0; r < static_cast<int>(touched_.size()); ++r)
    if (touched_[r]) plan(group_of(r));
}

/// All running flows that share resources with `resource`, directly or through others, in the order of their slots.
std::vector<FlowId> FluidPool::group_of(int resource) {
  std::vector<FlowId> group;
  std::vector<int> open{resource};
  std::vector<bool> seen_resource(capacities_.size()), seen_flow(flows_.size());
  seen_resource[resource] = true;
  while (!open.empty()) {
    const int r = open.back();
    open.pop_back();
    touched_[r] = false;
    for (const FlowId id : flows_of_[r]) {
      if (seen_flow[id]) continue;
      seen_flow[id] = true;
      group.push_back(id);
      for (const Use& use : flows_[id].demand.uses) {
        if (seen_resource[use.resource]) continue;
        seen_resource[use.resource] = true;
        open.push_back(use.resource);
      }
    }
  }
  std::sort(group.begin(), group.end());
  return group;
}

void FluidPool::plan(const std::vector<FlowId>& group) {
  if (group.empty()) return;
  ++plans_;
  std::vector<const Demand*> demands;
  demands.reserve(group.size());
  for (const FlowId id : group) demands.push_back(&flows_[id].demand);
  const std::vector<double> rates = max_min_rates(capacities_, demands);

  std::vector<double> load(capacities_.size(), 0.0);
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (const Use& use : demands[i]->uses) {
      load[use.resource] += rates[i] * use.per_unit;
      peak_load_ = std::max(peak_load_, load[use.resource] / capacities_[use.resource]);
    }
    Flow& flow = flows_[group[i]];
    if (flow.has_rate && flow.rate == rates[i]) continue;
    advance(flow);
    flow.rate = rates[i];
    flow.has_rate = true;
    plan_end(group[i]);
  }
}

void FluidPool::advance(Flow& flow) {
  const double elapsed_us = to_us(engine_.now() - flow.updated);
  flow.updated = engine_.now();
  if (flow.has_rate) flow.left = std::max(0.0, flow.left - flow.rate * elapsed_us);
}

void FluidPool::plan_end(FlowId id) {
  Flow& flow = flows_[id];
  ++flow.version;
  if (flow.rate <= 0 && flow.left > 0) return;  // stands still until the next plan
  const double end_ps =
      static_cast<double>(flow.updated.count) + (flow.left > 0 ? flow.left / flow.rate * picoseconds_per_us : 0.0);
  if (idle_ends_.empty()) {
    idle_ends_.push_back(&ends_.emplace_back());
  }
  PlannedEnd* planned = idle_ends_.back();
  idle_ends_.pop_back();
  *planned = {this, id, flow.version};
  engine_.at(std::max(rounded_up(end_ps), engine_.now()), {on_end, planned});
}

void FluidPool::on_end(void* context) {
  auto* planned = static_cast<PlannedEnd*>(context);
  FluidPool* pool = planned->pool;
  pool->idle_ends_.push_back(planned);
  pool->end(planned->flow, planned->version);
}

void FluidPool::end(FlowId id, std::uint32_t version) {
  Flow& flow = flows_[id];
  if (!flow.running || flow.version != version) return;
  flow.running = false;
  ++flow.version;
  for (const Use& use : flow.demand.uses) {
    served_[use.resource] += flow.work * use.per_unit;
    std::erase(flows_of_[use.resource], id);
  }
  ended_.push_back(id);
  request_settle();
  flow.done.call(flow.done.context);
}

}  // namespace weft::sim
