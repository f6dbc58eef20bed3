#include "sim/copy_chains.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "models/schedule/amounts.hpp"
#include "sim/copy_order.hpp"

namespace weft::sim {
namespace {

constexpr Picoseconds never{std::numeric_limits<std::int64_t>::max()};
constexpr double wide = 0.9;  // far enough below what is surely enough, whatever rounding does

/// Of the one before, and of nothing else.
bool follows_the_one_before(const StreamOrder& order, OperationId id) {
  const StreamOrder::Edges& edges = order.edges(id);
  if (id == 0) return edges.empty();
  return edges.size() == 1 && edges.front().operation == id - 1 && edges.front().point == Point::end &&
         edges.front().spread == Picoseconds{};
}

/// Null where it is none.
const Copy* copy_of(const Work& work) {
  return match(
      work, [](const Copy& copy) { return &copy; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) -> const Copy* { return nullptr; });
}

/// From or to a peer; a rank without rows has none.
bool is_copy_of_all_ranks(const Work& work, const Schedule& schedule) {
  const Copy* const copy = copy_of(work);
  if (copy == nullptr || !is_peer_copy(work)) return false;
  for (int rank = 0; rank < schedule.gpus; ++rank)
    if (bytes_on_rank(copy->source, rank, schedule) == 0) return false;
  return true;
}

}  // namespace

bool CopyChains::are_all(const StreamOrder& order, const std::vector<OperationCost>& costs) {
  const Schedule& schedule = order.schedule();
  if (schedule.streams.size() != 1 || order.operations() == 0) return false;
  for (OperationId id = 0; id < order.operations(); ++id)
    if (costs[id].given_us >= 0 || !follows_the_one_before(order, id) ||
        !is_copy_of_all_ranks(schedule.operations[id].work, schedule))
      return false;
  return true;
}

CopyChains::CopyChains(const StreamOrder& order, SimulatedMachine& machine, int ranks)
    : order_(order), machine_(machine), ranks_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank)
    for (OperationId id = 0; id < order.operations(); ++id) {
      const CopyRoute route = machine.copy_route(rank, *copy_of(order.schedule().operations[id].work));
      const Uses uses = machine.copy_uses(route, rank, id);
      links_.push_back({route, {uses.begin(), uses.end()}, {}});
    }
  for (int resource = 0; resource < machine.pool().resources(); ++resource)
    resources_.push_back({machine.pool().capacity(resource), 0, {}, 0});
  forget_wide_resources();
  set_own_resources_apart();
}

/// Those that could not hold anybody back if each rank took the most that any of its copies takes: memory, as a rule.
void CopyChains::forget_wide_resources() {
  std::vector<double> most(resources_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::vector<double> of_rank(resources_.size());
    for (OperationId id = 0; id < order_.operations(); ++id) {
      const Link& link = links_[rank * order_.operations() + id];
      std::vector<double> of_copy(resources_.size());
      for (const Use& use : link.uses)
        of_copy[use.resource] += bytes_per_us(machine_.most_copy_GBps(link.route)) * use.per_unit;
      std::ranges::transform(of_rank, of_copy, of_rank.begin(), std::ranges::max);
    }
    std::ranges::transform(most, of_rank, most.begin(), std::plus());
  }
  const auto is_wide = [&](const Use& use) { return most[use.resource] < wide * resources_[use.resource].capacity; };
  for (Link& link : links_) std::erase_if(link.uses, is_wide);
}

/// Those that copies of one rank alone use, each once: a rank's own port, as a rule.
void CopyChains::set_own_resources_apart() {
  constexpr int nobody = -1, several = -2;
  std::vector<int> users(resources_.size(), nobody);
  const auto uses_it_once = [&](const Link& link, int resource) {
    return std::ranges::count(link.uses, resource, &Use::resource) == 1;
  };
  for (std::size_t i = 0; i < links_.size(); ++i)
    for (const Use& use : links_[i].uses) {
      const int rank = static_cast<int>(i) / order_.operations();
      int& user = users[use.resource];
      user = (user == nobody || user == rank) && uses_it_once(links_[i], use.resource) ? rank : several;
    }
  const auto is_shared = [&](const Use& use) { return users[use.resource] == several; };
  for (Link& link : links_) {
    const auto own = std::stable_partition(link.uses.begin(), link.uses.end(), is_shared);
    link.own.assign(own, link.uses.end());
    link.uses.erase(own, link.uses.end());
  }
}

bool CopyChains::tell(ScheduleRun& run, int iterations) {
  run_ = &run;
  iterations_ = iterations;
  at_work_ = static_cast<int>(ranks_.size());
  free_slots_.clear();
  slots_ = 0;
  limits_.assign(resources_.size(), unlimited);
  for (Resource& resource : resources_) resource.wanted = 0, resource.flowing.clear();
  next_.resize(ranks_.size());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    ranks_[rank] = {};
    ranks_[rank].number = rank;
    begin_iteration(ranks_[rank], run.begin_of_first(rank));
  }
  for (now_ = Picoseconds{-1}; at_work_ > 0;) {
    const First first = first_rank();
    if (first.is_tied || first.time <= now_ || first.time >= end_of_time) return false;
    now_ = first.time;
    Rank& one = ranks_[first.rank];
    one.flows ? end_flow(one) : begin_flow(one);
  }
  return true;
}

/// Without branches, since nobody can predict who is first.
inline CopyChains::First CopyChains::first_rank() const {
  std::int64_t first = next_.front().count, others = never.count;
  int rank_of_first = 0;
  for (int rank = 1; rank < static_cast<int>(next_.size()); ++rank) {
    const std::int64_t next = next_[rank].count, later = next < first ? first : next;
    rank_of_first = next < first ? rank : rank_of_first;
    first = next < first ? next : first;
    others = later < others ? later : others;
  }
  return {rank_of_first, {first}, first == others};
}

void CopyChains::begin_iteration(Rank& one, Picoseconds time) {
  if (one.iteration == iterations_) {
    next(one) = never;
    --at_work_;
    return;
  }
  run_->note_begin(one.number, one.iteration, time);
  wait_for_copy(one, time + order_.root_offset(0, one.iteration, iterations_));
}

/// Of one that may begin at `begin`, when the host has launched it.
void CopyChains::wait_for_copy(Rank& one, Picoseconds begin) {
  one.link = &links_[static_cast<std::size_t>(one.number) * order_.operations() + one.id];
  begin = std::max(begin, order_.timing().host_launch * (one.occasion + 1));
  run_->note_start(one.number, one.iteration, one.id, begin);
  next(one) = begin + from_us(machine_.copy_setup_us(one.number, one.id, one.occasion));
}

void CopyChains::begin_flow(Rank& one) {
  one.flows = true;
  one.has_rate = false;
  one.wanted = one.cap = bytes_per_us(machine_.copy_GBps(one.link->route, one.number, one.occasion));
  for (const Use& use : one.link->own)
    if (const double capacity = resources_[use.resource].capacity;
        !(one.wanted * use.per_unit < surely_enough * capacity))
      one.cap = std::min(one.cap, capacity / use.per_unit);
  one.left = one.link->route.bytes;
  one.rate = 0;
  one.updated = now_;
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  one.slot = free_slots_.back();
  free_slots_.pop_back();
  next(one) = never;
  settle(one);
}

void CopyChains::end_flow(Rank& one) {
  one.flows = false;
  settle(one);
  free_slots_.push_back(one.slot);
  run_->note_end(one.number, one.iteration, one.id, now_);
  ++one.occasion;
  if (++one.id < order_.operations()) return wait_for_copy(one, now_ + order_.edges(one.id).front().gap);
  one.id = 0;
  ++one.iteration;
  begin_iteration(one, now_ + order_.timing().iteration_gap);
}

/// Rates anew of all whom it concerns that this rank's copy has begun or ended.
void CopyChains::settle(Rank& changed) {
  const std::size_t itself = changed.flows ? 1 : 0;
  to_plan_.clear();
  bool is_alone = true;
  for (const Use& use : changed.link->uses) {
    Resource& resource = resources_[use.resource];
    count(changed, resource, changed.wanted * use.per_unit);
    if (update_limit(use.resource) && resource.flowing.size() > itself) is_alone = false;
  }
  if (is_alone) {
    if (!changed.flows) return;
    const PathUses uses = changed.link->uses;
    return set_rate(changed, to_plan_.empty() ? changed.cap : MaxMin::rate_of_one(limits_, uses, changed.cap));
  }
  ++searches_;
  for (const int resource : to_plan_)
    if (resources_[resource].seen != searches_) plan(resource);
  if (changed.flows && changed.seen != searches_) set_rate(changed, changed.cap);
}

inline void CopyChains::count(Rank& changed, Resource& resource, double wanted) {
  auto& flowing = resource.flowing;
  if (changed.flows) {
    resource.wanted += wanted;
    flowing.push_back(&changed);
    for (auto place = flowing.end() - 1; place != flowing.begin() && (*(place - 1))->slot > changed.slot; --place)
      std::iter_swap(place, place - 1);
  } else {
    resource.wanted -= wanted;
    flowing.erase(std::ranges::find(flowing, &changed));
  }
}

/// Can it hold anybody back, or could it until now?
inline bool CopyChains::update_limit(int resource) {
  Resource& one = resources_[resource];
  if (one.flowing.empty()) {
    one.wanted = 0;
    limits_[resource] = unlimited;
    return false;
  }
  const bool is_enough = one.wanted < surely_enough * one.capacity;
  const double before = std::exchange(limits_[resource], is_enough ? unlimited : one.capacity);
  if (std::min(before, limits_[resource]) == unlimited) return false;
  to_plan_.push_back(resource);
  return true;
}

inline void CopyChains::plan(int resource) {
  const auto& flowing = resources_[resource].flowing;
  if (flowing.size() == 1 && meets_nobody(*flowing.front())) {
    Rank& one = *flowing.front();
    if (std::exchange(one.seen, searches_) == searches_) return;
    return set_rate(one, MaxMin::rate_of_one(limits_, one.link->uses, one.cap));
  }
  if (share_evenly(resource)) return;
  find_group(resource);
  if (group_.empty()) return;
  std::ranges::sort(group_, {}, &Rank::slot);  // sums are rounded in this order
  demands_.clear();
  for (const Rank* one : group_) demands_.push_back({one->cap, one->link->uses});
  const std::vector<double>& rates = max_min_.rates(limits_, demands_);
  for (std::size_t i = 0; i < group_.size(); ++i) set_rate(*group_[i], rates[i]);
}

/// What is most common: the flows of a resource meet nowhere else, and it is full before anything else stops one of
/// them. Then all get the level at which it is, as in the first and only round of MaxMin.
inline bool CopyChains::share_evenly(int resource) {
  const auto& flowing = resources_[resource].flowing;
  double weight = 0, next = unlimited;  // the latter: where something else would stop one of them
  const Rank* before = nullptr;
  for (const Rank* one : flowing) {
    if (one == std::exchange(before, one)) return false;  // it is on one path twice
    next = std::min(next, one->cap);
    for (const Use& use : one->link->uses) {
      if (use.resource == resource) {
        weight += use.per_unit;
      } else if (limits_[use.resource] < unlimited) {
        if (resources_[use.resource].flowing.size() > 1) return false;
        next = std::min(next, std::max(limits_[use.resource], 0.0) / use.per_unit);
      }
    }
  }
  const double level = std::max(limits_[resource], 0.0) / weight;
  if (next < level) return false;
  for (Rank* one : flowing) {
    one->seen = searches_;
    set_rate(*one, level);
  }
  return true;
}

/// On the resources that can hold somebody back.
bool CopyChains::meets_nobody(const Rank& one) const {
  return std::ranges::all_of(one.link->uses, [&](const Use& use) {
    return limits_[use.resource] == unlimited || resources_[use.resource].flowing.size() == 1;
  });
}

/// All who share such resources with those of `resource`, directly or through others.
void CopyChains::find_group(int resource) {
  group_.clear();
  open_.assign(1, resource);
  resources_[resource].seen = searches_;
  while (!open_.empty()) {
    const int r = open_.back();
    open_.pop_back();
    for (Rank* one : resources_[r].flowing) {
      if (std::exchange(one->seen, searches_) == searches_) continue;
      group_.push_back(one);
      for (const Use& use : one->link->uses)
        if (limits_[use.resource] < unlimited && std::exchange(resources_[use.resource].seen, searches_) != searches_)
          open_.push_back(use.resource);
    }
  }
}

inline void CopyChains::set_rate(Rank& one, double rate) {
  if (one.has_rate && one.rate == rate) return;
  const double elapsed_us = to_us(now_ - one.updated);
  one.updated = now_;
  if (one.has_rate) one.left = std::max(0.0, one.left - one.rate * elapsed_us);
  one.rate = rate;
  one.has_rate = true;
  next(one) = end_of(one);
}

inline Picoseconds CopyChains::end_of(const Rank& one) const {
  if (one.rate <= 0 && one.left > 0) return never;
  const double left_ps = one.left > 0 ? one.left / one.rate * picoseconds_per_us : 0.0;
  return std::max(end_after(left_ps, one.updated), now_);
}

}  // namespace weft::sim
