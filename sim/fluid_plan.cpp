// How a pool's flows share rates anew once all that changes in an instant has changed.
#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "sim/fluid_pool.hpp"

namespace weft::sim {

void FluidPool::set_cap(FlowId id, double cap) {
  part();
  count_changes();
  Flow& flow = flows_[id];
  want(flow, cap - flow.cap);
  flow.cap = cap;
  touch(flow);
  unrated_.push_back(id);
  engine_.request_settling();
}

/// Counts the change of a flow's cap among what its resources have to give.
void FluidPool::want(const Flow& flow, double cap) {
  for (const Use& use : uses(flow)) resources_[use.resource].wanted += cap * use.per_unit;
}

inline void FluidPool::touch(const Flow& flow) {
  for (const Use& use : uses(flow))
    if (!std::exchange(resources_[use.resource].is_touched, true)) touched_.push_back(use.resource);
}

void FluidPool::settle() {
  if (changed_.empty() && unrated_.empty()) return renew_all();
  part();
  to_plan_.clear();
  new_ends_.clear();
  if (unrated_.empty() && counted_ == 0 && changed_.size() == 1)
    settle_lone(changed_.front());
  else
    settle_several();
  changed_.clear();
  counted_ = 0;
}

/// What is most common: one flow has started or ended, which can have no twin. The same as for several comes of it, and
/// where it shares nothing with others that can hold anybody back, its own end is all that is planned.
void FluidPool::settle_lone(FlowId id) {
  Flow& flow = flows_[id];
  const std::size_t itself = flow.runs ? 1 : 0;
  bool is_alone = true;
  for (const Use& use : uses(flow)) {
    count(id, flow, use);
    if (update_limit(use.resource) && resources_[use.resource].flows.size() > itself) is_alone = false;
  }
  lone_change_ = id;
  if (!flow.runs) free_.push_back(id);
  if (!is_alone) {
    if (flow.runs) unrated_.push_back(id);
    return plan();
  }
  if (!flow.runs) return;
  flow.rate = to_plan_.empty() ? flow.cap : lone_rate(flow);
  flow.has_rate = true;
  plan_end(id, end_of(flow));
}

void FluidPool::settle_several() {
  count_changes();
  take_over_rates();
  update_limits();
  plan();
}

void FluidPool::count_changes() {
  for (; counted_ < changed_.size(); ++counted_) {
    const FlowId id = changed_[counted_];
    for (const Use& use : uses(flows_[id])) count(id, flows_[id], use);
  }
}

/// A flow that has started is one of those of its resources; one that has ended is so no more.
inline void FluidPool::count(FlowId id, const Flow& flow, const Use& use) {
  Resource& resource = resources_[use.resource];
  if (flow.runs) {
    resource.flows.push_back(id);
    resource.wanted += flow.cap * use.per_unit;
  } else {
    resource.wanted -= flow.cap * use.per_unit;
    resource.place_of(id) = resource.flows.back();
    resource.flows.pop_back();
  }
}

/// Whether the resource can hold flows back, or could until now.
inline bool FluidPool::update_limit(int r) {
  Resource& resource = resources_[r];
  if (resource.flows.empty()) {  // nobody is held back, and what rounding left is forgotten
    resource.wanted = 0;
    limits_[r] = unlimited;
    return false;
  }
  const bool is_enough = resource.wanted < surely_enough * resource.capacity;
  const double before = std::exchange(limits_[r], is_enough ? unlimited : resource.capacity);
  if (std::min(before, limits_[r]) == unlimited) return false;
  to_plan_.push_back(r);
  return true;
}

/// Pairs each start with an equal end of this instant: the sum over each resource is then what it was.
void FluidPool::take_over_rates() {
  ended_.clear();
  for (const FlowId id : changed_)
    if (!flows_[id].runs) ended_.push_back(id);
  for (const FlowId id : changed_) {
    Flow& flow = flows_[id];
    if (!flow.runs) continue;
    const auto twin =
        std::find_if(ended_.begin(), ended_.end(), [&](FlowId other) { return is_twin(flows_[other], flow); });
    if (twin != ended_.end()) {
      flow.rate = flows_[*twin].rate;
      flow.has_rate = true;
      free_.push_back(*twin);
      ended_.erase(twin);
      plan_end(id, end_of(flow));
    } else {
      touch(flow);
      unrated_.push_back(id);
    }
  }
  for (const FlowId id : ended_) {
    touch(flows_[id]);
    free_.push_back(id);
  }
}

bool FluidPool::is_twin(const Flow& gone, const Flow& flow) const {
  return gone.has_rate && gone.cap == flow.cap &&
         (gone.path == flow.path || std::ranges::equal(uses(gone), uses(flow)));
}

/// Finds which of the touched resources can hold flows back, or could until now.
void FluidPool::update_limits() {
  lone_change_ = none;
  settled_.assign(touched_.begin(), touched_.end());
  touched_.clear();
  for (const int r : settled_) {
    resources_[r].is_touched = false;
    update_limit(r);
  }
}

/// Rates of all whom the resources to plan hold back, and of those that need one though nothing does.
void FluidPool::plan() {
  ++searches_;
  for (const int r : to_plan_)
    if (resources_[r].seen != searches_) plan_group(r);
  for (const FlowId id : unrated_)  // nothing holds the others back
    if (flows_[id].runs && std::exchange(flows_[id].seen, searches_) != searches_) set_rate(id, flows_[id].cap);
  unrated_.clear();
  if (new_ends_.size() > 1) order_ties();
  for (const NewEnd& one : new_ends_) plan_end(one.flow, one.end);
}

void FluidPool::plan_group(int resource) {
  const auto& flows = resources_[resource].flows;
  if (flows.size() == 1 && meets_nobody(flows.front())) return plan_lone(flows.front());
  find_group(resource, [&](int r) { return limits_[r] < unlimited; });
  if (group_.empty()) return;
  ++plans_;
  sort_group();  // sums are rounded in this order
  demands_.clear();
  for (const FlowId id : group_) demands_.push_back({flows_[id].cap, uses(flows_[id])});
  const std::vector<double>& rates = max_min_.rates(limits_, demands_);
  if (with_peak_load_) note_peak_load(rates);
  for (std::size_t i = 0; i < group_.size(); ++i) set_rate(group_[i], rates[i]);
}

/// On the resources that count.
bool FluidPool::meets_nobody(FlowId id) const {
  return std::ranges::all_of(uses(flows_[id]), [&](const Use& use) {
    return limits_[use.resource] == unlimited || resources_[use.resource].flows.size() == 1;
  });
}

void FluidPool::plan_lone(FlowId id) {
  if (std::exchange(flows_[id].seen, searches_) != searches_) set_rate(id, lone_rate(flows_[id]));
}

/// What the plan of a group of one comes to.
double FluidPool::lone_rate(const Flow& flow) {
  ++plans_;
  const double rate = MaxMin::rate_of_one(limits_, uses(flow), flow.cap);
  if (with_peak_load_) {
    demands_.assign(1, {flow.cap, uses(flow)});
    note_peak_load({&rate, 1});
  }
  return rate;
}

/// All running flows of `resource`, and those that share resources that count with them, directly or through others, in
/// any order.
template <class Counts>
void FluidPool::find_group(int resource, const Counts& counts) {
  group_.clear();
  open_.assign(1, resource);
  resources_[resource].seen = searches_;
  while (!open_.empty()) {
    const int r = open_.back();
    open_.pop_back();
    for (const FlowId id : resources_[r].flows) {
      if (std::exchange(flows_[id].seen, searches_) == searches_) continue;
      group_.push_back(id);
      for (const Use& use : uses(flows_[id]))
        if (counts(use.resource) && std::exchange(resources_[use.resource].seen, searches_) != searches_)
          open_.push_back(use.resource);
    }
  }
}

/// A large group is most of all flows: a bit for each of them costs less than comparisons.
void FluidPool::sort_group() {
  if (group_.size() < 8) return std::sort(group_.begin(), group_.end());
  is_in_group_.assign(flows_.size() / 64 + 1, 0);
  for (const FlowId id : group_) is_in_group_[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
  group_.clear();
  for (std::size_t word = 0; word < is_in_group_.size(); ++word)
    for (std::uint64_t bits = is_in_group_[word]; bits != 0; bits &= bits - 1)
      group_.push_back(static_cast<FlowId>(64 * word) + std::countr_zero(bits));
}

void FluidPool::note_peak_load(std::span<const double> rates) {
  for (const Demand& demand : demands_)
    for (const Use& use : demand.uses) resources_[use.resource].load = 0;
  for (std::size_t i = 0; i < demands_.size(); ++i)
    for (const Use& use : demands_[i].uses) {
      Resource& resource = resources_[use.resource];
      resource.load += rates[i] * use.per_unit;
      if (resource.load > peak_load_ * resource.capacity) peak_load_ = resource.load / resource.capacity;
    }
}

void FluidPool::set_rate(FlowId id, double rate) {
  Flow& flow = flows_[id];
  if (flow.has_rate && flow.rate == rate) return;
  advance(flow);
  flow.rate = rate;
  flow.has_rate = true;
  new_ends_.push_back({id, end_of(flow)});
}

inline void FluidPool::advance(Flow& flow) {
  const double elapsed_us = us_since(flow.updated, engine_.now());
  flow.updated = engine_.now();
  if (flow.has_rate) flow.left = std::max(0.0, flow.left - flow.rate * elapsed_us);
}

/// Ends at one time leave in the order in which they are planned: by the first touched resource that a flow shares with
/// them, directly or through others; then by slot. Of ends at different times the order says nothing.
void FluidPool::order_ties() {
  std::sort(new_ends_.begin(), new_ends_.end(),
            [](const NewEnd& a, const NewEnd& b) { return std::pair(a.end, a.flow) < std::pair(b.end, b.flow); });
  const auto is_open = [&](const NewEnd& a, const NewEnd& b) {
    return a.end == b.end && !share_a_resource(flows_[a.flow], flows_[b.flow]);
  };
  if (std::ranges::adjacent_find(new_ends_, is_open) == new_ends_.end()) return;
  find_parts();
  for (NewEnd& one : new_ends_) one.part = part_of_[one.flow];
  std::sort(new_ends_.begin(), new_ends_.end(), [](const NewEnd& a, const NewEnd& b) {
    return std::tuple(a.end, a.part, a.flow) < std::tuple(b.end, b.part, b.flow);
  });
}

bool FluidPool::share_a_resource(const Flow& a, const Flow& b) const {
  if (a.path == b.path) return true;
  return std::ranges::any_of(uses(a), [&](const Use& use) {
    return std::ranges::find(uses(b), use.resource, &Use::resource) != uses(b).end();
  });
}

void FluidPool::find_parts() {
  ++searches_;
  if (lone_change_ != none) {
    settled_.clear();
    for (const Use& use : uses(flows_[lone_change_])) settled_.push_back(use.resource);
  }
  std::sort(settled_.begin(), settled_.end());
  part_of_.assign(flows_.size(), -1);
  for (const int first : settled_) {
    if (resources_[first].seen == searches_) continue;
    find_group(first, [](int) { return true; });
    for (const FlowId id : group_) part_of_[id] = first;
  }
}

}  // namespace weft::sim
