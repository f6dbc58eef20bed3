#include "sim/engine.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace weft::sim {
namespace {

/// A bucket of at most so many events is searched for its earliest ones, a fuller one is spread over those below.
constexpr std::size_t few_events = 12;

}  // namespace

void Engine::at_place(Picoseconds time, std::uint64_t place, Waiter waiter) {
  const Event event{place, waiter};
  if (time > now_) return wait_for(time, event);
  early_.insert(std::upper_bound(early_.begin(), early_.end(), event, is_later), event);
}

bool Engine::step() {
  if (Line& happening = lines_.front(); early_.empty() && !happening.is_empty()) {  // most events
    const Waiter waiter = happening.first().waiter;
    happening.leave();
    waiter.call(waiter.context);
    return true;
  }
  Line* line = first_line();
  if (line == nullptr && early_.empty()) {
    if (filled_ == 0) return false;
    begin_next_instant();
  }
  Waiter waiter;
  if (early_.empty() || (line != nullptr && line->first().order < early_.back().order)) {
    waiter = line->first().waiter;
    line->leave();
  } else {
    waiter = early_.back().waiter;
    early_.pop_back();
  }
  waiter.call(waiter.context);
  return true;
}

void Engine::restart() {
  assert(filled_ == 0 && early_.empty() && first_line() == nullptr);
  now_ = base_ = {};
  sequence_ = 0;
}

Engine::Line* Engine::first_line() {
  for (Line& line : lines_)
    if (!line.is_empty()) return &line;
  return nullptr;
}

void Engine::wait_for(Picoseconds time, const Event& event) {
  assert(time >= now_);
  const int bit = std::bit_width(static_cast<std::uint64_t>(time.count ^ base_.count));
  buckets_[bit].push_back({time, event});
  filled_ |= std::uint64_t{1} << bit;
}

/// Sets the clock to the earliest time and lines its events up.
void Engine::begin_next_instant() {
  std::vector<TimedEvent>* bucket = &buckets_[std::countr_zero(filled_)];
  if (bucket->size() == 1) {
    now_ = bucket->front().time;
    early_.push_back(bucket->front().event);
    bucket->clear();
    filled_ &= filled_ - 1;
    return;
  }
  Picoseconds earliest = bucket->front().time;
  for (const TimedEvent& one : *bucket) earliest = std::min(earliest, one.time);
  now_ = earliest;
  if (bucket->size() > few_events) bucket = &spread(*bucket);
  for (std::size_t i = 0; i < bucket->size();) {
    TimedEvent& one = (*bucket)[i];
    if (one.time == earliest) {
      early_.push_back(one.event);
      one = bucket->back();
      bucket->pop_back();
    } else {
      ++i;
    }
  }
  if (bucket->empty()) filled_ &= filled_ - 1;
  if (early_.size() > 1) std::sort(early_.begin(), early_.end(), is_later);
}

/// Puts the events of the lowest bucket into those below, about the present time, which differs from theirs in lower
/// bits only; the lowest of them is the result.
std::vector<Engine::TimedEvent>& Engine::spread(std::vector<TimedEvent>& bucket) {
  base_ = now_;
  filled_ &= filled_ - 1;
  for (const TimedEvent& one : bucket) wait_for(one.time, one.event);
  bucket.clear();
  return buckets_[0];
}

}  // namespace weft::sim
