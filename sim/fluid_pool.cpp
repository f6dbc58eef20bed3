#include "sim/fluid_pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>
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

Picoseconds end_after(double left_ps, Picoseconds since) {
  const double end_ps = static_cast<double>(since.count) + left_ps;
  return rounded_up(std::min(end_ps, static_cast<double>(end_of_time.count)));
}

}  // namespace

/// Of most simulations, so that memory is not asked for again and again as they begin.
FluidPool::FluidPool(Engine& engine) : engine_(engine) {
  constexpr std::size_t usual_resources = 64, usual_flows = 32;
  engine.serve(ends_, waiter_for<&FluidPool::on_end>(this));
  for (auto* by_resource : {&touched_, &to_plan_, &settled_, &open_}) by_resource->reserve(usual_resources);
  for (auto* of_flows : {&free_, &started_, &ended_, &unrated_, &group_}) of_flows->reserve(usual_flows);
  resources_.reserve(usual_resources);
  limits_.reserve(usual_resources);
  flows_.reserve(usual_flows);
  paths_.reserve(usual_flows);
  uses_.reserve(4 * usual_flows);
  new_rates_.reserve(usual_flows);
  renewals_.reserve(usual_flows);
}

int FluidPool::add_resource(double capacity) {
  if (count_ == resources_.size()) resources_.emplace_back();
  resources_[count_].capacity = capacity;
  limits_.push_back(unlimited);
  return static_cast<int>(count_++);
}

void FluidPool::restart(int resources) {
  count_ = static_cast<std::size_t>(resources);
  for (Resource& one : resources_) one.wanted = 0;
  limits_.assign(count_, unlimited);
  paths_.clear();
  uses_.clear();
  flows_.clear();
  ends_.clear();
  free_.clear();
  peak_load_ = 0;
  plans_ = 0;
}

PathId FluidPool::add_path(const Uses& uses) {
  const std::size_t first = uses_.size();
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  paths_.push_back({first, uses_.size()});
  return static_cast<PathId>(paths_.size()) - 1;
}

double FluidPool::served(int resource) const {
  double units = 0;
  for (const Path& path : paths_)
    for (std::size_t i = path.first_use; i < path.last_use; ++i)
      if (uses_[i].resource == resource) units += path.served * uses_[i].per_unit;
  return units;
}

double FluidPool::load(int resource) const {
  double load = 0;
  for (const FlowId id : resources_[resource].flows)
    for (const Use& use : uses(flows_[id]))
      if (use.resource == resource) load += flows_[id].rate * use.per_unit;
  return load;
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

FlowId FluidPool::start(double work, double cap, PathId path, Waiter done) {
  const bool is_renewal = ending_ != none && renewed_ == none && is_equal(flows_[ending_], cap, path);
  if (!is_renewal) part();
  const FlowId id = free_slot();
  flows_[id] = {
      .path = path, .runs = true, .cap = cap, .work = work, .left = work, .updated = engine_.now(), .done = done};
  is_renewal ? void(renewed_ = id) : join(id);
  return id;
}

/// What starting them one by one comes to: each takes the rate of the one before, and the slot that is free then.
std::int64_t FluidPool::start_and_end(double work, double cap, PathId path, std::int64_t most) {
  if (!is_lone_end_ || !renewals_.empty() || ending_ == none || !is_equal(flows_[ending_], cap, path)) return 0;
  const double rate = flows_[ending_].rate;
  if (!(rate > 0)) return 0;
  const Picoseconds quiet_until = engine_.quiet_until();
  const double lasts_ps = work / rate * picoseconds_per_us;
  Picoseconds now = engine_.now();
  std::int64_t ended = 0;
  for (; ended < most; ++ended) {
    const Picoseconds end = std::max(end_after(lasts_ps, now), now);
    if (!(end < quiet_until)) break;
    now = end;
    paths_[path].served += work;
  }
  if (ended == 0) return 0;
  engine_.pass_ends(static_cast<std::uint64_t>(ended), now);
  if (ended % 2 != 0) {
    const FlowId id = free_slot();
    flows_[id] = flows_[ending_];
    change_places(ending_, id);
    ending_ = id;
    ends_.replace_first(id, {now, 0});
  }
  flows_[ending_].updated = now;
  return ended;
}

void FluidPool::set_cap(FlowId id, double cap) {
  part();
  Flow& flow = flows_[id];
  want(flow, cap - flow.cap);
  flow.cap = cap;
  touch(flow);
  unrated_.push_back(id);
  request_settle();
}

void FluidPool::join(FlowId id) {
  const Flow& flow = flows_[id];
  for (const Use& use : uses(flow)) {
    Resource& resource = resources_[use.resource];
    resource.flows.push_back(id);
    resource.wanted += flow.cap * use.per_unit;
  }
  started_.push_back(id);
  request_settle();
}

void FluidPool::leave(FlowId id) {
  Flow& flow = flows_[id];
  flow.runs = false;
  paths_[flow.path].served += flow.work;
  for (const Use& use : uses(flow)) {
    Resource& resource = resources_[use.resource];
    resource.wanted -= flow.cap * use.per_unit;
    *std::find(resource.flows.begin(), resource.flows.end(), id) = resource.flows.back();
    resource.flows.pop_back();
  }
  ended_.push_back(id);
  request_settle();
}

/// Counts a flow of this cap, or the change of its cap, among what its resources have to give.
void FluidPool::want(const Flow& flow, double cap) {
  for (const Use& use : uses(flow)) resources_[use.resource].wanted += cap * use.per_unit;
}

void FluidPool::request_settle() {
  if (std::exchange(settling_, true)) return;
  engine_.at(engine_.now(), waiter_for<&FluidPool::settle>(this), Phase::settle);
}

void FluidPool::touch(const Flow& flow) {
  for (const Use& use : uses(flow))
    if (!std::exchange(resources_[use.resource].is_touched, true)) touched_.push_back(use.resource);
}

void FluidPool::settle() {
  settling_ = false;
  if (started_.empty() && ended_.empty() && unrated_.empty()) return renew_all();
  part();
  to_plan_.clear();
  if (unrated_.empty() && started_.size() + ended_.size() == 1) {
    note_lone_change();
  } else {
    take_over_rates();
    update_limits();
  }
  ++searches_;
  new_rates_.clear();
  for (const int r : to_plan_)
    if (resources_[r].seen != searches_) plan_group(r);
  for (const FlowId id : unrated_)  // nothing holds the others back
    if (flows_[id].runs && std::exchange(flows_[id].seen, searches_) != searches_)
      new_rates_.push_back({id, flows_[id].cap});
  unrated_.clear();
  set_rates();
}

/// Whether the resource can hold flows back, or could until now.
inline void FluidPool::update_limit(int r) {
  Resource& resource = resources_[r];
  if (resource.flows.empty()) {  // nobody is held back, and what rounding left is forgotten
    resource.wanted = 0;
    limits_[r] = unlimited;
    return;
  }
  const bool is_enough = resource.wanted < surely_enough * resource.capacity;
  const double before = std::exchange(limits_[r], is_enough ? unlimited : resource.capacity);
  if (std::min(before, limits_[r]) < unlimited) to_plan_.push_back(r);
}

/// What is most common: one flow has started or ended, which can have no twin. The same as for several comes of it.
void FluidPool::note_lone_change() {
  const bool has_started = !started_.empty();
  std::vector<FlowId>& changed = has_started ? started_ : ended_;
  lone_change_ = changed.front();
  for (const Use& use : uses(flows_[lone_change_])) update_limit(use.resource);
  (has_started ? unrated_ : free_).push_back(lone_change_);
  changed.clear();
}

/// Pairs each start with an equal end of this instant: the sum over each resource is then what it was.
void FluidPool::take_over_rates() {
  for (const FlowId id : started_) {
    Flow& flow = flows_[id];
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
  started_.clear();
  ended_.clear();
}

/// Does `gone`, which has ended, leave a rate that is right for `flow`?
bool FluidPool::is_equal(const Flow& gone, double cap, PathId path) const {
  return gone.has_rate && gone.cap == cap && gone.path == path;
}

bool FluidPool::is_twin(const Flow& gone, const Flow& flow) const {
  return gone.has_rate && gone.cap == flow.cap &&
         (gone.path == flow.path || std::ranges::equal(uses(gone), uses(flow)));
}

/// Finds which of the touched resources can hold flows back, or could until now.
void FluidPool::update_limits() {
  lone_change_ = none;
  settled_.swap(touched_);
  touched_.clear();
  for (const int r : settled_) {
    resources_[r].is_touched = false;
    update_limit(r);
  }
}

/// All running flows of `resource`, and those that share resources that count with them, directly or through others, in
/// any order. Flows of one path share all resources: they are in one group.
template <class Counts>
void FluidPool::find_group(int resource, const Counts& counts) {
  group_.clear();
  group_paths_.clear();
  open_.assign(1, resource);
  resources_[resource].seen = searches_;
  while (!open_.empty()) {
    const int r = open_.back();
    open_.pop_back();
    for (const FlowId id : resources_[r].flows) {
      if (std::exchange(flows_[id].seen, searches_) == searches_) continue;
      group_.push_back(id);
      Path& path = paths_[flows_[id].path];
      if (std::exchange(path.seen, searches_) == searches_) continue;
      path.place = static_cast<int>(group_paths_.size());
      for (const Use& use : group_paths_.emplace_back(uses(path))) {
        if (!counts(use.resource) || std::exchange(resources_[use.resource].seen, searches_) == searches_) continue;
        open_.push_back(use.resource);
      }
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

void FluidPool::plan_group(int resource) {
  const auto& flows = resources_[resource].flows;
  if (flows.size() == 1 && !with_peak_load_ && meets_nobody(flows.front())) return plan_lone(flows.front());
  find_group(resource, [&](int r) { return limits_[r] < unlimited; });
  if (group_.empty()) return;
  ++plans_;
  sort_group();  // sums are rounded in this order
  demands_.clear();
  for (const FlowId id : group_) demands_.push_back({flows_[id].cap, paths_[flows_[id].path].place});
  const std::vector<double>& rates = max_min_.rates(limits_, group_paths_, demands_);
  if (with_peak_load_) note_peak_load(rates);
  for (std::size_t i = 0; i < group_.size(); ++i) new_rates_.push_back({group_[i], rates[i]});
}

/// On the resources that count.
bool FluidPool::meets_nobody(FlowId id) const {
  return std::ranges::all_of(uses(flows_[id]), [&](const Use& use) {
    return limits_[use.resource] == unlimited || resources_[use.resource].flows.size() == 1;
  });
}

/// What the plan of a group of one comes to.
void FluidPool::plan_lone(FlowId id) {
  if (std::exchange(flows_[id].seen, searches_) == searches_) return;
  ++plans_;
  new_rates_.push_back({id, MaxMin::rate_of_one(limits_, uses(flows_[id]), flows_[id].cap)});
}

void FluidPool::note_peak_load(const std::vector<double>& rates) {
  for (const PathUses& path : group_paths_)
    for (const Use& use : path) resources_[use.resource].load = 0;
  for (std::size_t i = 0; i < demands_.size(); ++i)
    for (const Use& use : group_paths_[demands_[i].path]) {
      Resource& resource = resources_[use.resource];
      resource.load += rates[i] * use.per_unit;
      if (resource.load > peak_load_ * resource.capacity) peak_load_ = resource.load / resource.capacity;
    }
}

/// Ends at one time leave in the order in which they are planned here.
void FluidPool::set_rates() {
  if (new_rates_.empty()) return;
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
  if (new_rates_.size() > 1) order_ties();
  for (const NewRate& change : new_rates_) plan_end(change.flow, change.end);
}

/// Ends at one time come by the first touched resource that a flow shares with them, directly or through others; then
/// by slot. Of ends at different times the order says nothing.
void FluidPool::order_ties() {
  std::sort(new_rates_.begin(), new_rates_.end(),
            [](const NewRate& a, const NewRate& b) { return std::pair(a.end, a.flow) < std::pair(b.end, b.flow); });
  const auto is_open = [&](const NewRate& a, const NewRate& b) {
    return a.end == b.end && flows_[a.flow].path != flows_[b.flow].path;
  };
  if (std::ranges::adjacent_find(new_rates_, is_open) == new_rates_.end()) return;
  find_parts();
  for (NewRate& change : new_rates_) change.part = part_of_[change.flow];
  std::sort(new_rates_.begin(), new_rates_.end(), [](const NewRate& a, const NewRate& b) {
    return std::tuple(a.end, a.part, a.flow) < std::tuple(b.end, b.part, b.flow);
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

void FluidPool::advance(Flow& flow) {
  const double elapsed_us = to_us(engine_.now() - flow.updated);
  flow.updated = engine_.now();
  if (flow.has_rate) flow.left = std::max(0.0, flow.left - flow.rate * elapsed_us);
}

Picoseconds FluidPool::end_of(const Flow& flow) const {
  if (flow.rate <= 0 && flow.left > 0) return never;  // stands still until the next plan
  const double left_ps = flow.left > 0 ? flow.left / flow.rate * picoseconds_per_us : 0.0;
  return std::max(end_after(left_ps, flow.updated), engine_.now());
}

void FluidPool::plan_end(FlowId id, Picoseconds time) {
  if (time == never) return ends_.forget(id);
  ends_.plan(id, {time, engine_.take_place()});
}

void FluidPool::on_end() {
  while (follows_on_first_end())
    if (!engine_.goes_on_with_first_end()) return;
}

/// Tells of the first end. Has an equal flow followed at once, and nothing else has happened?
bool FluidPool::follows_on_first_end() {
  ending_ = ends_.first().flow;
  is_lone_end_ = !ends_.is_first_tied();
  if (!is_lone_end_) ends_.forget(ending_);
  const Waiter done = flows_[ending_].done;
  done.call(done.context);
  if (is_lone_end_ && is_lone_renewal()) {
    const FlowId follows = renew({std::exchange(ending_, none), std::exchange(renewed_, none)});
    ends_.replace_first(follows, {end_of(flows_[follows]), engine_.take_place()});
    return true;
  }
  if (is_lone_end_) ends_.forget(ends_.first().flow);
  if (renewed_ == none) part();
  if (ending_ != none) renewals_.push_back({std::exchange(ending_, none), std::exchange(renewed_, none)});
  request_settle();
  return false;
}

/// Is all that happens in this instant that one flow follows on an equal one?
bool FluidPool::is_lone_renewal() const { return renewed_ != none && renewals_.empty() && engine_.is_instant_over(); }

/// Flows that have ended in this instant leave, and the equal ones that follow on them join as any others do.
void FluidPool::part() {
  for (const Renewal& one : renewals_) {
    leave(one.gone);
    join(one.follows);
  }
  renewals_.clear();
  if (ending_ == none) return;
  leave(std::exchange(ending_, none));
  if (renewed_ != none) join(std::exchange(renewed_, none));
}

/// Where all that came of the ends of an instant are equal flows, each takes the place and the rate of the one before.
void FluidPool::renew_all() {
  for (const Renewal& one : renewals_) {
    const FlowId id = renew(one);
    plan_end(id, end_of(flows_[id]));
  }
  renewals_.clear();
}

FlowId FluidPool::renew(const Renewal& renewal) {
  const auto [gone, id] = renewal;
  Flow &before = flows_[gone], &flow = flows_[id];
  paths_[flow.path].served += before.work;
  flow.rate = before.rate;
  flow.has_rate = true;
  change_places(gone, id);
  return id;
}

/// `id` runs on the resources of `gone`, whose slot is free.
void FluidPool::change_places(FlowId gone, FlowId id) {
  flows_[gone].runs = false;
  for (const Use& use : uses(flows_[id])) *std::ranges::find(resources_[use.resource].flows, gone) = id;
  free_.push_back(gone);
}

}  // namespace weft::sim
