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
  load_.push_back(0);
  resource_seen_.push_back(0);
  return static_cast<int>(capacities_.size()) - 1;
}

FlowId FluidPool::free_slot() {
  if (free_.empty()) {
    flows_.emplace_back();
    ends_.push_back(never);
    flow_seen_.push_back(0);
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
    if (touched_[r]) {
      find_group(r);
      plan();
    }
  schedule_earliest();
}

/// All running flows that share resources with `resource`, directly or through others, in the order of their slots.
void FluidPool::find_group(int resource) {
  ++searches_;
  group_.clear();
  open_.assign(1, resource);
  resource_seen_[resource] = searches_;
  while (!open_.empty()) {
    const int r = open_.back();
    open_.pop_back();
    touched_[r] = false;
    for (const FlowId id : flows_of_[r]) {
      if (flow_seen_[id] == searches_) continue;
      flow_seen_[id] = searches_;
      group_.push_back(id);
      for (const Use& use : flows_[id].demand.uses) {
        if (resource_seen_[use.resource] == searches_) continue;
        resource_seen_[use.resource] = searches_;
        open_.push_back(use.resource);
      }
    }
  }
  std::sort(group_.begin(), group_.end());
}

void FluidPool::plan() {
  if (group_.empty()) return;
  ++plans_;
  demands_.clear();
  for (const FlowId id : group_) demands_.push_back(&flows_[id].demand);
  const std::vector<double>& rates = max_min_.rates(capacities_, demands_);

  for (const Demand* demand : demands_)
    for (const Use& use : demand->uses) load_[use.resource] = 0;
  for (std::size_t i = 0; i < group_.size(); ++i) {
    for (const Use& use : demands_[i]->uses) {
      load_[use.resource] += rates[i] * use.per_unit;
      peak_load_ = std::max(peak_load_, load_[use.resource] / capacities_[use.resource]);
    }
    Flow& flow = flows_[group_[i]];
    if (flow.has_rate && flow.rate == rates[i]) continue;
    advance(flow);
    flow.rate = rates[i];
    flow.has_rate = true;
    plan_end(group_[i]);
  }
}

void FluidPool::advance(Flow& flow) {
  const double elapsed_us = to_us(engine_.now() - flow.updated);
  flow.updated = engine_.now();
  if (flow.has_rate) flow.left = std::max(0.0, flow.left - flow.rate * elapsed_us);
}

void FluidPool::plan_end(FlowId id) {
  const Flow& flow = flows_[id];
  if (flow.rate <= 0 && flow.left > 0) {  // stands still until the next plan
    ends_[id] = never;
    return;
  }
  const double end_ps =
      static_cast<double>(flow.updated.count) + (flow.left > 0 ? flow.left / flow.rate * picoseconds_per_us : 0.0);
  ends_[id] = {std::max(rounded_up(end_ps), engine_.now()), engine_.take_place()};
}

void FluidPool::schedule_earliest() {
  const PlannedEnd earliest = *std::min_element(ends_.begin(), ends_.end());
  if (earliest >= scheduled_ || (settling_ && earliest.time > engine_.now())) return;  // settle() may change it
  scheduled_ = earliest;
  if (idle_events_.empty()) idle_events_.push_back(&events_.emplace_back());
  EndEvent* event = idle_events_.back();
  idle_events_.pop_back();
  *event = {this, earliest};
  engine_.at_place(earliest.time, earliest.place, {on_end, event});
}

void FluidPool::on_end(void* context) {
  auto* event = static_cast<EndEvent*>(context);
  FluidPool* pool = event->pool;
  const PlannedEnd now = event->end;
  pool->idle_events_.push_back(event);
  if (now != pool->scheduled_) return;
  pool->scheduled_ = never;
  const auto found = std::find(pool->ends_.begin(), pool->ends_.end(), now);
  if (found != pool->ends_.end()) {
    *found = never;
    pool->end(static_cast<FlowId>(found - pool->ends_.begin()));
  }
  pool->schedule_earliest();
}

void FluidPool::end(FlowId id) {
  const Flow& flow = flows_[id];
  for (const Use& use : flow.demand.uses) {
    served_[use.resource] += flow.work * use.per_unit;
    std::erase(flows_of_[use.resource], id);
  }
  ended_.push_back(id);
  request_settle();
  flow.done.call(flow.done.context);
}

}  // namespace weft::sim
