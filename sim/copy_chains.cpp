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
      links_.push_back({route, {uses.begin(), uses.end()}});
    }
  for (int resource = 0; resource < machine.pool().resources(); ++resource)
    resources_.push_back({machine.pool().capacity(resource), 0, {}, 0});
  forget_wide_resources();
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

bool CopyChains::tell(ScheduleRun& run, int iterations) {
  run_ = &run;
  iterations_ = iterations;
  at_work_ = static_cast<int>(ranks_.size());
  free_slots_.clear();
  slots_ = 0;
  limits_.assign(resources_.size(), unlimited);
  for (Resource& resource : resources_) resource.wanted = 0, resource.flowing.clear();
  const std::vector<Picoseconds>& skew = order_.timing().start_skew;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    ranks_[rank] = {};
    begin_iteration(rank, skew.empty() ? Picoseconds{} : skew[rank]);
  }
  for (now_ = Picoseconds{-1}; at_work_ > 0;) {
    const auto [first, is_tied] = first_rank();
    const Picoseconds next = ranks_[first].next;
    if (is_tied || next <= now_ || next >= end_of_time) return false;
    now_ = next;
    ranks_[first].flows ? end_flow(first) : begin_flow(first);
  }
  return true;
}

/// Whose copy begins or ends first, and does another one at the same time?
std::pair<int, bool> CopyChains::first_rank() const {
  int first = 0;
  Picoseconds others = never;
  for (int rank = 1; rank < static_cast<int>(ranks_.size()); ++rank) {
    const bool is_sooner = ranks_[rank].next < ranks_[first].next;
    others = std::min(others, ranks_[is_sooner ? first : rank].next);
    if (is_sooner) first = rank;
  }
  return {first, others == ranks_[first].next};
}

void CopyChains::begin_iteration(int rank, Picoseconds time) {
  Rank& one = ranks_[rank];
  if (one.iteration == iterations_) {
    one.next = never;
    --at_work_;
    return;
  }
  run_->note_begin(rank, one.iteration, time);
  wait_for_copy(rank, time + order_.root_offset(0, one.iteration, iterations_));
}

/// Of one that may begin at `begin`, when the host has launched it.
void CopyChains::wait_for_copy(int rank, Picoseconds begin) {
  Rank& one = ranks_[rank];
  one.link = &links_[static_cast<std::size_t>(rank) * order_.operations() + one.id];
  const int occasion = one.iteration * order_.operations() + one.id;
  begin = std::max(begin, order_.timing().host_launch * (occasion + 1));
  run_->note_start(rank, one.iteration, one.id, begin);
  one.next = begin + from_us(machine_.copy_setup_us(rank, one.id, occasion));
}

void CopyChains::begin_flow(int rank) {
  Rank& one = ranks_[rank];
  const CopyRoute& route = one.link->route;
  one.flows = true;
  one.has_rate = false;
  one.cap = bytes_per_us(machine_.copy_GBps(route, rank, one.iteration * order_.operations() + one.id));
  one.left = route.bytes;
  one.rate = 0;
  one.updated = now_;
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  one.slot = free_slots_.back();
  free_slots_.pop_back();
  one.next = never;
  settle(rank);
}

void CopyChains::end_flow(int rank) {
  Rank& one = ranks_[rank];
  one.flows = false;
  settle(rank);
  free_slots_.push_back(one.slot);
  run_->note_end(rank, one.iteration, one.id, now_);
  if (++one.id < order_.operations()) return wait_for_copy(rank, now_ + order_.edges(one.id).front().gap);
  one.id = 0;
  ++one.iteration;
  begin_iteration(rank, now_ + order_.timing().iteration_gap);
}

/// Rates anew of all whom it concerns that this rank's copy has begun or ended.
void CopyChains::settle(int changed) {
  Rank& one = ranks_[changed];
  const PathUses uses = one.link->uses;
  to_plan_.clear();
  bool is_alone = true;
  for (const Use& use : uses) {
    Resource& resource = resources_[use.resource];
    if (one.flows) {
      resource.flowing.push_back(changed);
      resource.wanted += one.cap * use.per_unit;
    } else {
      *std::ranges::find(resource.flowing, changed) = resource.flowing.back();
      resource.flowing.pop_back();
      resource.wanted -= one.cap * use.per_unit;
    }
    if (update_limit(use.resource) && resource.flowing.size() > (one.flows ? 1 : 0)) is_alone = false;
  }
  if (is_alone) {
    if (one.flows) set_rate(changed, to_plan_.empty() ? one.cap : MaxMin::rate_of_one(limits_, uses, one.cap));
    return;
  }
  ++searches_;
  for (const int resource : to_plan_)
    if (resources_[resource].seen != searches_) plan(resource);
  if (one.flows && one.seen != searches_) set_rate(changed, one.cap);
}

/// Can it hold anybody back, or could it until now?
bool CopyChains::update_limit(int resource) {
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

void CopyChains::plan(int resource) {
  const auto& flowing = resources_[resource].flowing;
  if (flowing.size() == 1 && meets_nobody(flowing.front())) {
    Rank& one = ranks_[flowing.front()];
    if (std::exchange(one.seen, searches_) == searches_) return;
    return set_rate(flowing.front(), MaxMin::rate_of_one(limits_, one.link->uses, one.cap));
  }
  if (share_evenly(resource)) return;
  find_group(resource);
  if (group_.empty()) return;
  std::ranges::sort(group_, {}, [&](int rank) { return ranks_[rank].slot; });  // sums are rounded in this order
  demands_.clear();
  for (const int rank : group_) demands_.push_back({ranks_[rank].cap, ranks_[rank].link->uses});
  const std::vector<double>& rates = max_min_.rates(limits_, demands_);
  for (std::size_t i = 0; i < group_.size(); ++i) set_rate(group_[i], rates[i]);
}

/// What is most common: the flows of a resource meet nowhere else, and it is full before anything else stops one of
/// them. Then all get the level at which it is, as in the first and only round of MaxMin.
bool CopyChains::share_evenly(int resource) {
  const auto& flowing = resources_[resource].flowing;
  group_.assign(flowing.begin(), flowing.end());
  std::ranges::sort(group_, {}, [&](int rank) { return ranks_[rank].slot; });  // as sums are rounded
  double weight = 0, next = unlimited;  // the latter: where something else would stop one of them
  for (std::size_t i = 0; i < group_.size(); ++i) {
    if (i > 0 && group_[i] == group_[i - 1]) return false;  // it is on one path twice
    const Rank& one = ranks_[group_[i]];
    next = std::min(next, one.cap);
    for (const Use& use : one.link->uses) {
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
  for (const int rank : group_) {
    ranks_[rank].seen = searches_;
    set_rate(rank, level);
  }
  return true;
}

/// On the resources that can hold somebody back.
bool CopyChains::meets_nobody(int rank) const {
  return std::ranges::all_of(ranks_[rank].link->uses, [&](const Use& use) {
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
    for (const int rank : resources_[r].flowing) {
      if (std::exchange(ranks_[rank].seen, searches_) == searches_) continue;
      group_.push_back(rank);
      for (const Use& use : ranks_[rank].link->uses)
        if (limits_[use.resource] < unlimited && std::exchange(resources_[use.resource].seen, searches_) != searches_)
          open_.push_back(use.resource);
    }
  }
}

void CopyChains::set_rate(int rank, double rate) {
  Rank& one = ranks_[rank];
  if (one.has_rate && one.rate == rate) return;
  const double elapsed_us = to_us(now_ - one.updated);
  one.updated = now_;
  if (one.has_rate) one.left = std::max(0.0, one.left - one.rate * elapsed_us);
  one.rate = rate;
  one.has_rate = true;
  one.next = end_of(one);
}

Picoseconds CopyChains::end_of(const Rank& rank) const {
  if (rank.rate <= 0 && rank.left > 0) return never;
  const double left_ps = rank.left > 0 ? rank.left / rank.rate * picoseconds_per_us : 0.0;
  return std::max(end_after(left_ps, rank.updated), now_);
}

}  // namespace weft::sim
