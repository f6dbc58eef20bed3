// When each flow of a pool will end, as far as is known: the first end is always at hand.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"

namespace weft::sim {

/// In the order in which ends leave the engine.
struct PlannedEnd {
  Picoseconds time;
  std::uint64_t place = 0;  ///< of Engine::take_place()
  bool operator==(const PlannedEnd&) const = default;
  bool operator<(const PlannedEnd& other) const {
    return time.count < other.time.count || (time.count == other.time.count && place < other.place);
  }
};

/// A binary heap that knows where each flow stands in it.
class PlannedEnds {
 public:
  struct Entry {
    PlannedEnd end;
    int flow = 0;
  };

  bool is_empty() const { return heap_.empty(); }
  const Entry& first() const { return heap_.front(); }
  /// Do several flows end when the first does?
  bool is_first_tied() const {
    const Picoseconds time = heap_.front().end.time;
    return (heap_.size() > 1 && heap_[1].end.time == time) || (heap_.size() > 2 && heap_[2].end.time == time);
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

  std::vector<Entry> heap_;
  std::vector<std::size_t> place_of_;  // by flow
};

}  // namespace weft::sim
