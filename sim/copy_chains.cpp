#include "sim/copy_chains.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "models/schedule/amounts.hpp"
#include "sim/copy_order.hpp"

namespace weft::sim {
namespace {

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
  std::vector<Uses> uses;
  for (int rank = 0; rank < ranks; ++rank)
    for (OperationId id = 0; id < order.operations(); ++id) {
      const Copy& copy = *copy_of(order.schedule().operations[id].work);
      links_.push_back({.route = machine.copy_route(rank, copy), .caps = {}});
      uses.push_back(machine.copy_uses(links_.back().route, rank, id));
    }
  for (int resource = 0; resource < machine.pool().resources(); ++resource) {
    const double capacity = machine.pool().capacity(resource);
    meetings_.push_back({.capacity = capacity, .enough = surely_enough * capacity});
  }
  forget_wide_resources(uses);
  find_meetings(uses);
}

/// Those that could not hold anybody back if each rank took the most that any of its copies takes: memory, as a rule.
void CopyChains::forget_wide_resources(std::vector<Uses>& uses) const {
  std::vector<double> most(meetings_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::vector<double> of_rank(most.size());
    for (OperationId id = 0; id < order_.operations(); ++id) {
      const std::size_t link = rank * order_.operations() + id;
      std::vector<double> of_copy(most.size());
      for (const Use& use : uses[link])
        of_copy[use.resource] += bytes_per_us(machine_.most_copy_GBps(links_[link].route)) * use.per_unit;
      std::ranges::transform(of_rank, of_copy, of_rank.begin(), std::ranges::max);
    }
    std::ranges::transform(most, of_rank, most.begin(), std::plus());
  }
  const auto is_wide = [&](const Use& use) { return most[use.resource] < wide * meetings_[use.resource].capacity; };
  for (Uses& of_link : uses) of_link.erase(std::remove_if(of_link.begin(), of_link.end(), is_wide), of_link.end());
}

/// What copies of one rank alone use, each once, caps them; they meet others at the rest.
void CopyChains::find_meetings(const std::vector<Uses>& uses) {
  constexpr int nobody = -1, several = -2;
  std::vector<int> users(meetings_.size(), nobody);
  for (std::size_t link = 0; link < links_.size(); ++link)
    for (const Use& use : uses[link]) {
      const int rank = static_cast<int>(link) / order_.operations();
      const bool is_once = std::ranges::count(uses[link], use.resource, &Use::resource) == 1;
      int& user = users[use.resource];
      user = (user == nobody || user == rank) && is_once ? rank : several;
    }
  for (std::size_t i = 0; i < links_.size(); ++i)
    for (const auto& [resource, per_unit] : uses[i]) {
      Link& link = links_[i];
      Meeting& meeting = meetings_[resource];
      if (users[resource] != several) {
        link.caps.push_back({per_unit, meeting.enough, meeting.capacity / per_unit});
        continue;
      }
      meets_once_ = meets_once_ && link.meeting == nullptr;
      link.meeting = &meeting;
      link.per_unit = per_unit;
    }
}

bool CopyChains::tell(ScheduleRun& run, int iterations) {
  if (!meets_once_ || ranks_.size() > most_ranks) return false;
  run_ = &run;
  iterations_ = iterations;
  at_work_ = static_cast<int>(ranks_.size());
  free_slots_.clear();
  slots_ = 0;
  for (Meeting& meeting : meetings_) meeting.wanted = 0, meeting.holds_back = false, meeting.flowing = 0;
  next_.resize(ranks_.size());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    ranks_[rank] = {};
    ranks_[rank].number = rank;
    ranks_[rank].next_copy = throw_for(ranks_[rank], 0, 0);
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

CopyChains::Throw CopyChains::throw_for(const Rank& one, OperationId id, int occasion) const {
  const Link& link = links_[static_cast<std::size_t>(one.number) * order_.operations() + id];
  const double wanted = bytes_per_us(machine_.copy_GBps(link.route, one.number, occasion));
  double most = wanted;
  for (const auto& [per_unit, enough, rate] : link.caps)
    if (!(wanted * per_unit < enough)) most = std::min(most, rate);
  return {&link, from_us(machine_.copy_setup_us(one.number, id, occasion)), wanted, most};
}

/// Of one that may begin at `begin`, when the host has launched it.
void CopyChains::wait_for_copy(Rank& one, Picoseconds begin) {
  one.copy = one.next_copy;
  begin = std::max(begin, order_.launched(one.id, one.iteration));
  run_->note_start(one.number, one.iteration, one.id, begin);
  next(one) = begin + one.copy.setup;
}

void CopyChains::begin_flow(Rank& one) {
  one.flows = true;
  one.left = one.copy.link->route.bytes;
  one.rate = 0;
  one.updated = now_;
  take_slot(one);
  next(one) = never;
  if (Meeting* const meeting = one.copy.link->meeting)
    join(one, *meeting);
  else
    set_rate(one, one.copy.cap);
  one.next_copy = throw_for(one, one.id + 1 < order_.operations() ? one.id + 1 : 0, one.occasion + 1);
}

inline void CopyChains::take_slot(Rank& one) {
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  one.slot = free_slots_.back();
  free_slots_.pop_back();
  by_slot_[one.slot] = &one;
}

void CopyChains::end_flow(Rank& one) {
  one.flows = false;
  if (Meeting* const meeting = one.copy.link->meeting) leave(one, *meeting);
  free_slots_.push_back(one.slot);
  run_->note_end(one.number, one.iteration, one.id, now_);
  ++one.occasion;
  if (++one.id < order_.operations()) return wait_for_copy(one, now_ + order_.edges(one.id).front().gap);
  one.id = 0;
  ++one.iteration;
  begin_iteration(one, now_ + order_.timing().iteration_gap);
}

inline void CopyChains::join(Rank& one, Meeting& meeting) {
  meeting.wanted += one.copy.wanted * one.copy.link->per_unit;
  meeting.flowing |= std::uint64_t{1} << one.slot;
  const bool held_back = std::exchange(meeting.holds_back, !(meeting.wanted < meeting.enough));
  held_back || meeting.holds_back ? share(meeting) : set_rate(one, one.copy.cap);
}

inline void CopyChains::leave(Rank& one, Meeting& meeting) {
  meeting.wanted -= one.copy.wanted * one.copy.link->per_unit;
  meeting.flowing &= ~(std::uint64_t{1} << one.slot);
  if (meeting.flowing == 0) meeting.wanted = 0;
  const bool held_back = std::exchange(meeting.holds_back, !(meeting.wanted < meeting.enough));
  if (held_back || meeting.holds_back) share(meeting);
}

/// By slot, since sums are rounded in this order.
template <class Tell>
inline void CopyChains::for_flowing(const Meeting& meeting, Tell tell) {
  for (std::uint64_t left = meeting.flowing; left != 0; left &= left - 1) tell(*by_slot_[std::countr_zero(left)]);
}

/// As a rule all get the level at which it is full, as in the first and only round of MaxMin.
void CopyChains::share(Meeting& meeting) {
  const double capacity = meeting.holds_back ? meeting.capacity : unlimited;
  double weight = 0, least = unlimited;
  for_flowing(meeting, [&](const Rank& one) {
    weight += one.copy.link->per_unit;
    least = std::min(least, one.copy.cap);
  });
  if (const double level = std::max(capacity, 0.0) / weight; level <= least) {
    for_flowing(meeting, [&](Rank& one) { set_rate(one, level); });
    return;
  }
  demanded_.clear();
  for_flowing(meeting, [&](const Rank& one) { demanded_.push_back({0, one.copy.link->per_unit}); });
  demands_.clear();
  for_flowing(meeting, [&](const Rank& one) { demands_.push_back({one.copy.cap, {&demanded_[demands_.size()], 1}}); });
  const std::vector<double>& rates = max_min_.rates({&capacity, 1}, demands_);
  std::size_t place = 0;
  for_flowing(meeting, [&](Rank& one) { set_rate(one, rates[place++]); });
}

inline void CopyChains::set_rate(Rank& one, double rate) {
  if (one.rate == rate) return;
  const double elapsed_us = us_since(one.updated, now_);
  one.updated = now_;
  one.left = std::max(0.0, one.left - one.rate * elapsed_us);
  one.rate = rate;
  next(one) = end_of(one);
}

inline Picoseconds CopyChains::end_of(const Rank& one) const {
  return end_of_rest(one.left, one.rate, one.updated, now_);
}

}  // namespace weft::sim
