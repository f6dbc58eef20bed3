#include "models/schedule/counters.hpp"

namespace weft {

std::int64_t CounterUse::total() const {
  std::int64_t total = 0;
  for (const CounterSignal& signal : signals) total += signal.add;
  return total;
}

std::vector<CounterUse> counter_uses(const Schedule& schedule) {
  std::vector<CounterUse> uses(schedule.counters.size());
  const auto use = [&](CounterId id) -> CounterUse& { return uses[static_cast<std::size_t>(id)]; };
  for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
    const Work& work = schedule.operations[static_cast<std::size_t>(id)].work;
    if (const auto* signal = std::get_if<Signal>(&work)) {
      use(signal->counter).signals.push_back({id, -1, signal->place, signal->add});
    } else if (const auto* wait = std::get_if<Wait>(&work)) {
      use(wait->counter).waits.push_back({id, -1, wait->value});
    } else if (const auto* gemm = std::get_if<Gemm>(&work)) {
      for (const TileSignal& tile : gemm->signals)
        use(tile.counter).signals.push_back({id, tile.tile_group, tile.place, 1});
      for (const TileWait& tile : gemm->waits) use(tile.counter).waits.push_back({id, tile.tile_group, tile.value});
    }
  }
  return uses;
}

}  // namespace weft
