#include "sim/engine.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace weft::sim {
namespace {

/// A bucket of at most so many events is searched for its earliest ones, a fuller one is spread over those below.
constexpr std::size_t few_events = 12;

constexpr std::uint64_t most_events = std::uint64_t{1} << 31;  // minutes of work, so that every simulation ends

[[noreturn]] void fail_as_endless() {
  throw InputError("", "expected a schedule of at most 27 days and 2^31 events of simulation, got a longer one");
}

}  // namespace

const PlannedEnds Engine::no_ends;

inline void Engine::call_first(Line& line) {
  const Waiter waiter = line.first().waiter;
  line.leave();
  waiter.call(waiter.context);
}

/// Ends that are due come before what was scheduled in the present instant: their times were set before, or when
/// nothing was left of it.
inline void Engine::call_first_due() {
  if (early_.empty() || (is_end_due() && ends_->first().end.place < early_.back().order))
    return on_end_.call(on_end_.context);
  if (Line* line = first_line(); line != nullptr && line->first().order < early_.back().order) return call_first(*line);
  const Waiter waiter = early_.back().waiter;
  early_.pop_back();
  waiter.call(waiter.context);
}

/// Nothing is left of the present instant. False when nothing is left at all.
inline bool Engine::begins_next_instant() {
  if (onlooker_.call != nullptr) onlooker_.call(onlooker_.context);
  if (filled_ == 0 && ends_->is_empty()) return false;
  begin_next_instant();
  if (now_ >= end_of_time || sequence_ > most_events) fail_as_endless();
  return true;
}

bool Engine::step() {
  if (!is_anything_due()) {
    if (Line* line = first_line(); line != nullptr) {
      call_first(*line);
      return true;
    }
    if (std::exchange(is_settling_requested_, false)) {
      settler_.call(settler_.context);
      return true;
    }
    if (!begins_next_instant()) return false;
  }
  call_first_due();
  return true;
}

/// As step() does, phase by phase: ends move only where one is told and where an instant is settled, so that none
/// becomes due while a line is called.
void Engine::run() {
  do {
    while (is_anything_due()) call_first_due();
    while (Line* line = first_line()) call_first(*line);
    if (std::exchange(is_settling_requested_, false)) settler_.call(settler_.context);
  } while (is_anything_due() || !is_instant_over() || begins_next_instant());
}

void Engine::restart() {
  assert(filled_ == 0 && is_instant_over());
  assert(ends_->is_empty());
  now_ = base_ = {};
  sequence_ = 0;
}

void Engine::wait_for(Picoseconds time, const Event& event) {
  assert(time >= now_);
  const int bit = std::bit_width(static_cast<std::uint64_t>(time.count ^ base_.count));
  buckets_[bit].push_back({time, event});
  earliest_ = std::min(earliest_, time);  // stays unknown
  filled_ |= std::uint64_t{1} << bit;
}

Picoseconds Engine::earliest_waiting() {
  if (earliest_ == unknown) {
    earliest_ = never;
    for (const TimedEvent& one : buckets_[std::countr_zero(filled_)]) earliest_ = std::min(earliest_, one.time);
  }
  return earliest_;
}

Picoseconds Engine::quiet_until() {
  if (!is_instant_over() || onlooker_.call != nullptr || sequence_ > most_events) return now_;
  const Picoseconds next_end = std::min(ends_->second_time(), end_of_time);
  return filled_ == 0 ? next_end : std::min(next_end, earliest_waiting());
}

bool Engine::goes_on_with_first_end() {
  const Picoseconds first = ends_->first().end.time;
  if (!(first < quiet_until())) return false;
  now_ = first;
  return true;
}

/// Sets the clock to the earliest time and lines its events up.
void Engine::begin_next_instant() {
  const Picoseconds earliest = earliest_waiting();
  if (!ends_->is_empty() && ends_->first().end.time < earliest) {
    now_ = ends_->first().end.time;
    return;
  }
  now_ = earliest;
  Bucket* bucket = &buckets_[std::countr_zero(filled_)];
  if (bucket->size() > few_events) bucket = &spread(*bucket);
  Picoseconds next = never;
  for (std::size_t i = 0; i < bucket->size();) {
    TimedEvent& one = (*bucket)[i];
    if (one.time == earliest) {
      early_.push_back(one.event);
      one = bucket->back();
      bucket->pop_back();
    } else {
      next = std::min(next, one.time);
      ++i;
    }
  }
  if (bucket->empty()) {
    filled_ &= filled_ - 1;
    next = filled_ == 0 ? never : unknown;
  }
  earliest_ = next;
  if (early_.size() > 1) std::sort(early_.begin(), early_.end(), is_later);
}

/// Puts the events of the lowest bucket into those below, about the present time, which differs from theirs in lower
/// bits only; the lowest of them is the result.
Engine::Bucket& Engine::spread(Bucket& bucket) {
  base_ = now_;
  filled_ &= filled_ - 1;
  for (const TimedEvent& one : bucket) wait_for(one.time, one.event);
  bucket.clear();
  return buckets_[0];
}

}  // namespace weft::sim
