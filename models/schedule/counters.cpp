#include "models/schedule/counters.hpp"

namespace weft {

std::int64_t CounterUse::total() const {
  std::int64_t total = 0;
  for (const CounterSignal& signal : signals) total += signal.add;
  return total;
}

std::vector<std::int64_t> CounterUse::totals_by_place(int gpus) const {
  std::vector<std::int64_t> totals(static_cast<std::size_t>(gpus));
  for (const CounterSignal& signal : signals)
    totals[static_cast<std::size_t>((signal.place + gpus) % gpus)] += signal.add;
  return totals;
}

std::vector<CounterUse> counter_uses(const Schedule& schedule) {
  std::vector<CounterUse> uses(schedule.counters.size());
  const auto use = [&](CounterId id) -> CounterUse& { return uses[static_cast<std::size_t>(id)]; };
  for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
    const Work& work = schedule.operations[static_cast<std::size_t>(id)].work;
    match(
        work,
        [&](const Signal& signal) {
          use(signal.counter)
              .signals.push_back({id, -1, signal.place, signal.add, signal.path == SignalPath::copied_word});
        },
        [&](const Wait& wait) {
          use(wait.counter).waits.push_back({id, -1, wait.value});
        },
        [&](const Gemm& gemm) {
          for (const TileSignal& tile : gemm.signals)
            use(tile.counter).signals.push_back({id, tile.tile_group, tile.place, 1});
          for (const TileWait& tile : gemm.waits) use(tile.counter).waits.push_back({id, tile.tile_group, tile.value});
        },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Barrier, Delay> auto&) {});
  }
  return uses;
}

}  // namespace weft
