// The bare event queue: what an event costs while many are pending.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "sim/engine.hpp"
#include "tests/benchmarks/peak_memory.hpp"

namespace weft::sim {
namespace {

/// Schedules itself again after a time drawn from a table, so that the number of pending events stays.
struct Repeater {
  Engine* engine = nullptr;
  const std::vector<std::int64_t>* delays = nullptr;
  std::size_t next = 0;
  static void call(void* context) {
    auto* self = static_cast<Repeater*>(context);
    self->next = (self->next + 1) % self->delays->size();
    self->engine->after({(*self->delays)[self->next]}, {call, self});
  }
};

void engine_events(benchmark::State& state) {
  constexpr std::size_t table_size = 4096;
  std::mt19937 random(1);
  std::vector<std::int64_t> delays(table_size);
  for (std::int64_t& delay : delays) delay = std::uniform_int_distribution<std::int64_t>(1, 1000000)(random);
  Engine engine;
  std::vector<Repeater> repeaters(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < repeaters.size(); ++i) {
    repeaters[i] = {&engine, &delays, i * 17 % table_size};
    engine.at({delays[i % table_size]}, {Repeater::call, &repeaters[i]});
  }
  for (auto _ : state) engine.step();
  state.SetItemsProcessed(state.iterations());
  report_peak_memory(state);
}
BENCHMARK(engine_events)->ArgName("pending")->Arg(10000);

}  // namespace
}  // namespace weft::sim
