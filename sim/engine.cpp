#include "sim/engine.hpp"

#include <algorithm>
#include <cassert>

namespace weft::sim {

void Engine::at(Picoseconds time, Waiter waiter, Phase phase) {
  assert(time >= now_);
  const std::uint64_t order = (static_cast<std::uint64_t>(phase) << 62) | sequence_++;
  heap_.push_back({time, order, waiter});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

void Engine::at_place(Picoseconds time, std::uint64_t place, Waiter waiter) {
  assert(time >= now_);
  heap_.push_back({time, place, waiter});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool Engine::step() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Entry entry = heap_.back();
  heap_.pop_back();
  now_ = entry.time;
  entry.waiter.call(entry.waiter.context);
  return true;
}

}  // namespace weft::sim
