// When each flow of a pool will end, as far as is known: the first end is always at hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "models/base/units.hpp"
#include "sim/frame_store.hpp"

namespace weft::sim {

/// When something ends that needs `left_ps` from `since` on: at a whole nanosecond, rounded up after taking off what
/// floating point may have added. Plain rounding up would let equal flows drift apart, rounding to nearest could end a
/// flow in the instant in which it was planned, for ever.
inline Picoseconds end_after(double left_ps, Picoseconds since) {
  constexpr std::int64_t grid_ps = 1000;
  constexpr double per_ps = 1.0 / grid_ps;  // a product comes sooner than a quotient, and ends wait for each other
  const double end_ps = static_cast<double>(since.count) + left_ps;
  const double end = std::min(end_ps, static_cast<double>(end_of_time.count)) * per_ps - 1e-6;
  const auto whole = static_cast<std::int64_t>(end);  // rounded towards 0, which std::ceil() is a call for
  return {(whole + (static_cast<double>(whole) < end ? 1 : 0)) * grid_ps};
}

/// Of what stands still until its rate changes.
inline constexpr Picoseconds never{std::numeric_limits<std::int64_t>::max()};

/// When work of which `left` was to do at `updated` ends, at a rate in units a microsecond: not before `now`.
inline Picoseconds end_of_rest(double left, double rate, Picoseconds updated, Picoseconds now) {
  if (rate <= 0 && left > 0) return never;
  return std::max(end_after(left > 0 ? left / rate * picoseconds_per_us : 0.0, updated), now);
}

/// A product, by which all rates that have flowed since are counted.
inline double us_since(Picoseconds since, Picoseconds now) {
  constexpr double us_per_ps = 1 / picoseconds_per_us;
  return static_cast<double>((now - since).count) * us_per_ps;
}

/// In the order in which ends leave the engine.
struct PlannedEnd {
  Picoseconds time;
  std::uint64_t place = 0;  ///< of Engine::take_place()
  bool operator==(const PlannedEnd&) const = default;
  /// Without branches, which in a heap nobody can predict.
  bool operator<(const PlannedEnd& other) const {
    const bool is_sooner = time.count < other.time.count, is_tied = time.count == other.time.count;
    return static_cast<bool>(static_cast<int>(is_sooner) |
                             (static_cast<int>(is_tied) & static_cast<int>(place < other.place)));
  }
};

/// A binary heap that knows where each flow stands in it. All of it stands here, since a simulation moves ends several
/// times for each flow.
class PlannedEnds {
 public:
  struct Entry {
    PlannedEnd end;
    int flow = 0;
  };

  bool is_empty() const { return heap_.empty(); }
  const Entry& first() const { return heap_.front(); }
  /// Do several flows end when the first does?
  bool is_first_tied() const { return second_time() == heap_.front().end.time; }
  /// Of the end after the first; the end of time where there is none.
  Picoseconds second_time() const {
    Picoseconds time = end_of_time;
    if (heap_.size() > 1) time = std::min(time, heap_[1].end.time);
    if (heap_.size() > 2) time = std::min(time, heap_[2].end.time);
    return time;
  }
  /// For the first time, or another time than before.
  void plan(int flow, PlannedEnd end);
  /// The first end is forgotten, and that of a flow that had none is planned.
  void replace_first(int flow, PlannedEnd end);
  /// Nothing where no end was planned.
  void forget(int flow);
  void clear();

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  void put(std::size_t place, const Entry& entry);
  void move_up(std::size_t place, const Entry& entry);
  void move_down(std::size_t place, const Entry& entry);

  FrameVector<Entry> heap_;
  FrameVector<std::size_t> place_of_;  // by flow
};

inline void PlannedEnds::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  place_of_[static_cast<std::size_t>(entry.flow)] = place;
}

inline void PlannedEnds::move_up(std::size_t place, const Entry& entry) {
  for (; place > 0; place = (place - 1) / 2) {
    const Entry& parent = heap_[(place - 1) / 2];
    if (!(entry.end < parent.end)) break;
    put(place, parent);
  }
  put(place, entry);
}

/// By way of the bottom, without a look at the entry: who moves down comes late, as a rule.
inline void PlannedEnds::move_down(std::size_t place, const Entry& entry) {
  std::size_t right = 2 * place + 2;
  for (; right < heap_.size(); right = 2 * place + 2) {
    const std::size_t sooner = right - static_cast<std::size_t>(heap_[right - 1].end < heap_[right].end);
    put(place, heap_[sooner]);
    place = sooner;
  }
  if (right == heap_.size()) {
    put(place, heap_[right - 1]);
    place = right - 1;
  }
  move_up(place, entry);
}

inline void PlannedEnds::plan(int flow, PlannedEnd end) {
  const auto number = static_cast<std::size_t>(flow);
  if (number >= place_of_.size()) place_of_.resize(number + 1, nowhere);
  std::size_t place = place_of_[number];
  if (place == nowhere) {
    place = heap_.size();
    heap_.emplace_back();
    return move_up(place, {end, flow});
  }
  end < heap_[place].end ? move_up(place, {end, flow}) : move_down(place, {end, flow});
}

inline void PlannedEnds::replace_first(int flow, PlannedEnd end) {
  place_of_[static_cast<std::size_t>(heap_.front().flow)] = nowhere;
  if (static_cast<std::size_t>(flow) >= place_of_.size()) place_of_.resize(static_cast<std::size_t>(flow) + 1, nowhere);
  move_down(0, {end, flow});
}

inline void PlannedEnds::forget(int flow) {
  const auto number = static_cast<std::size_t>(flow);
  if (number >= place_of_.size()) return;
  const std::size_t place = std::exchange(place_of_[number], nowhere);
  if (place == nowhere) return;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  move_down(place, last);
}

}  // namespace weft::sim
