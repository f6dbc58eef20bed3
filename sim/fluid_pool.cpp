#include "sim/fluid_pool.hpp"

#include <algorithm>
#include <utility>

namespace weft::sim {

FluidPool::FluidPool(Engine& engine) : engine_(engine) {
  engine.serve(ends_, waiter_for<&FluidPool::on_end>(this));
  engine.settle_by(waiter_for<&FluidPool::settle>(this));
  resources_.reserve(usual_resources);
  limits_.reserve(usual_resources);
  flows_.reserve(usual_flows);
  paths_.reserve(usual_flows);
  uses_.reserve(4 * usual_flows);
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

void FluidPool::join(FlowId id) {
  changed_.push_back(id);
  engine_.request_settling();
}

void FluidPool::leave(FlowId id) {
  Flow& flow = flows_[id];
  flow.runs = false;
  paths_[flow.path].served += flow.work;
  changed_.push_back(id);
  engine_.request_settling();
}

/// Does `gone`, which has ended, leave a rate that is right for `flow`?
bool FluidPool::is_equal(const Flow& gone, double cap, PathId path) const {
  return gone.has_rate && gone.cap == cap && gone.path == path;
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
  engine_.request_settling();
  return false;
}

/// Is all that happens in this instant that one flow follows on an equal one?
bool FluidPool::is_lone_renewal() const { return renewed_ != none && renewals_.empty() && engine_.is_instant_over(); }

/// Flows that have ended in this instant leave, and the equal ones that follow on them join as any others do.
void FluidPool::part_now() {
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
  for (const Use& use : uses(flows_[id])) resources_[use.resource].place_of(gone) = id;
  free_.push_back(gone);
}

}  // namespace weft::sim
