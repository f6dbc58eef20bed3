#include "sim/planned_ends.hpp"

#include <utility>

namespace weft::sim {

void PlannedEnds::plan(int flow, PlannedEnd end) {
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

void PlannedEnds::replace_first(int flow, PlannedEnd end) {
  place_of_[static_cast<std::size_t>(heap_.front().flow)] = nowhere;
  if (static_cast<std::size_t>(flow) >= place_of_.size()) place_of_.resize(static_cast<std::size_t>(flow) + 1, nowhere);
  move_down(0, {end, flow});
}

void PlannedEnds::forget(int flow) {
  const auto number = static_cast<std::size_t>(flow);
  if (number >= place_of_.size()) return;
  const std::size_t place = std::exchange(place_of_[number], nowhere);
  if (place == nowhere) return;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  place > 0 && last.end < heap_[(place - 1) / 2].end ? move_up(place, last) : move_down(place, last);
}

void PlannedEnds::clear() {
  heap_.clear();
  place_of_.clear();
}

void PlannedEnds::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  place_of_[static_cast<std::size_t>(entry.flow)] = place;
}

void PlannedEnds::move_up(std::size_t place, const Entry& entry) {
  for (; place > 0; place = (place - 1) / 2) {
    const Entry& parent = heap_[(place - 1) / 2];
    if (!(entry.end < parent.end)) break;
    put(place, parent);
  }
  put(place, entry);
}

void PlannedEnds::move_down(std::size_t place, const Entry& entry) {
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && heap_[child + 1].end < heap_[child].end) ++child;
    if (!(heap_[child].end < entry.end)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

}  // namespace weft::sim
