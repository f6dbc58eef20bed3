#include "sim/fluid_pool.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::sim {
namespace {

constexpr std::int64_t end_grid_ps = 1000;  // ends fall on whole nanoseconds
constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A resource whose flows together want less than this share of it holds none of them back, whatever rounding did to
/// their sum and does to the rates.
constexpr double surely_enough = 1 - 1e-6;

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
  wanted_.push_back(0);
  limits_.push_back(unlimited);
  flows_of_.emplace_back();
  is_touched_.push_back(false);
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
  flow.runs = true;
  for (const Use& use : flow.demand.uses) flows_of_[use.resource].push_back(id);
  want(flow.demand, flow.demand.cap);
  started_.push_back(id);
  request_settle();
  return id;
}

void FluidPool::set_cap(FlowId id, double cap) {
  Demand& demand = flows_[id].demand;
  want(demand, cap - demand.cap);
  demand.cap = cap;
  touch(demand);
  due_.push_back(id);
  request_settle();
}

/// Counts a flow of this cap, or the change of a cap, among what its resources have to give.
void FluidPool::want(const Demand& demand, double cap) {
  for (const Use& use : demand.uses) wanted_[use.resource] += cap * use.per_unit;
}

void FluidPool::request_settle() {
  if (settling_) return;
  settling_ = true;
  engine_.at(engine_.now(), {on_settle, this}, Phase::settle);
}

void FluidPool::touch(const Demand& demand) {
  for (const Use& use : demand.uses)
    if (!std::exchange(is_touched_[use.resource], true)) touched_.push_back(use.resource);
}

void FluidPool::settle() {
  settling_ = false;
  take_over_rates();
  update_limits();
  ++searches_;
  new_rates_.clear();
  for (const int r : to_plan_)
    if (resource_seen_[r] != searches_) plan_group(r);
  for (const FlowId id : due_)  // nothing holds the others back
    if (flows_[id].runs && std::exchange(flow_seen_[id], searches_) != searches_)
      new_rates_.push_back({id, flows_[id].demand.cap});
  due_.clear();
  set_rates();
  schedule_earliest();
}

/// Pairs each start with an equal end of this instant: the sum over each resource is then what it was.
void FluidPool::take_over_rates() {
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
      plan_end(id, end_of(flow));
    } else {
      touch(flow.demand);
      due_.push_back(id);
    }
  }
  for (const FlowId id : ended_) {
    touch(flows_[id].demand);
    free_.push_back(id);
  }
  started_.clear();
  ended_.clear();
}

/// Finds which of the touched resources can hold flows back, and could until now.
void FluidPool::update_limits() {
  to_plan_.clear();
  for (const int r : touched_) {
    is_touched_[r] = false;
    if (flows_of_[r].empty()) wanted_[r] = 0;  // forgets what rounding left
    const double before =
        std::exchange(limits_[r], wanted_[r] < surely_enough * capacities_[r] ? unlimited : capacities_[r]);
    if (std::min(before, limits_[r]) < unlimited) to_plan_.push_back(r);
  }
  settled_.swap(touched_);
  touched_.clear();
}

/// All running flows of `resource`, and those that share resources that count with them, directly or through others, in
/// any order.
template <class Counts>
void FluidPool::find_group(int resource, const Counts& counts) {
  group_.clear();
  open_.assign(1, resource);
  resource_seen_[resource] = searches_;
  while (!open_.empty()) {
    const int r = open_.back();
    open_.pop_back();
    for (const FlowId id : flows_of_[r]) {
      if (flow_seen_[id] == searches_) continue;
      flow_seen_[id] = searches_;
      group_.push_back(id);
      for (const Use& use : flows_[id].demand.uses) {
        if (!counts(use.resource) || resource_seen_[use.resource] == searches_) continue;
        resource_seen_[use.resource] = searches_;
        open_.push_back(use.resource);
      }
    }
  }
}

void FluidPool::plan_group(int resource) {
  find_group(resource, [&](int r) { return limits_[r] < unlimited; });
  if (group_.empty()) return;
  std::sort(group_.begin(), group_.end());  // sums are rounded in this order
  ++plans_;
  demands_.clear();
  for (const FlowId id : group_) demands_.push_back(&flows_[id].demand);
  const std::vector<double>& rates = max_min_.rates(limits_, demands_);
  note_peak_load(rates);
  for (std::size_t i = 0; i < group_.size(); ++i) new_rates_.push_back({group_[i], rates[i]});
}

void FluidPool::note_peak_load(const std::vector<double>& rates) {
  for (const Demand* demand : demands_)
    for (const Use& use : demand->uses) load_[use.resource] = 0;
  for (std::size_t i = 0; i < demands_.size(); ++i)
    for (const Use& use : demands_[i]->uses) {
      load_[use.resource] += rates[i] * use.per_unit;
      if (load_[use.resource] > peak_load_ * capacities_[use.resource])
        peak_load_ = load_[use.resource] / capacities_[use.resource];
    }
}

/// Ends at one time leave in the order in which they are planned here.
void FluidPool::set_rates() {
  std::erase_if(new_rates_, [&](const NewRate& change) {
    const Flow& flow = flows_[change.flow];
    return flow.has_rate && flow.rate == change.rate;
  });
  for (NewRate& change : new_rates_) {
    Flow& flow = flows_[change.flow];
    advance(flow);
    flow.rate = change.rate;
    flow.has_rate = true;
    change.end = end_of(flow);
  }
  const auto is_before = [](const NewRate& a, const NewRate& b) { return a.end < b.end; };
  const auto tie = [](const NewRate& a, const NewRate& b) { return a.end == b.end; };
  std::sort(new_rates_.begin(), new_rates_.end(), is_before);
  if (std::adjacent_find(new_rates_.begin(), new_rates_.end(), tie) != new_rates_.end()) order_ties();
  for (const NewRate& change : new_rates_) plan_end(change.flow, change.end);
}

/// By the first touched resource that a flow shares with them, directly or through others; then by slot.
void FluidPool::order_ties() {
  ++searches_;
  std::sort(settled_.begin(), settled_.end());
  part_of_.assign(flows_.size(), -1);
  for (const int first : settled_) {
    if (resource_seen_[first] == searches_) continue;
    find_group(first, [](int) { return true; });
    for (const FlowId id : group_) part_of_[id] = first;
  }
  for (NewRate& change : new_rates_) change.part = part_of_[change.flow];
  std::sort(new_rates_.begin(), new_rates_.end(),
            [](const NewRate& a, const NewRate& b) { return std::pair(a.part, a.flow) < std::pair(b.part, b.flow); });
}

void FluidPool::advance(Flow& flow) {
  const double elapsed_us = to_us(engine_.now() - flow.updated);
  flow.updated = engine_.now();
  if (flow.has_rate) flow.left = std::max(0.0, flow.left - flow.rate * elapsed_us);
}

Picoseconds FluidPool::end_of(const Flow& flow) const {
  if (flow.rate <= 0 && flow.left > 0) return never.time;  // stands still until the next plan
  const double end_ps =
      static_cast<double>(flow.updated.count) + (flow.left > 0 ? flow.left / flow.rate * picoseconds_per_us : 0.0);
  return std::max(rounded_up(end_ps), engine_.now());
}

void FluidPool::plan_end(FlowId id, Picoseconds time) {
  ends_[id] = time == never.time ? never : PlannedEnd{time, engine_.take_place()};
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
  Flow& flow = flows_[id];
  flow.runs = false;
  want(flow.demand, -flow.demand.cap);
  for (const Use& use : flow.demand.uses) {
    served_[use.resource] += flow.work * use.per_unit;
    std::erase(flows_of_[use.resource], id);
  }
  ended_.push_back(id);
  request_settle();
  flow.done.call(flow.done.context);
}

}  // namespace weft::sim
