// Every rank by itself: async tensor parallelism on 8 GPUs, where each pulls the shards of all others.
#include <benchmark/benchmark.h>

#include "models/check/validation.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/benchmarks/peak_memory.hpp"

namespace weft::sim {
namespace {

/// a_shard[m / gpus, k] of each rank, pulled shard by shard on two streams, each followed by the GEMM of its rows.
Schedule async_tp(int gpus, std::int64_t m, std::int64_t n, std::int64_t k) {
  enum : BufferId { shard, gathered, weights, result };
  Schedule schedule;
  schedule.name = "async tensor parallelism";
  schedule.gpus = gpus;
  schedule.buffers = {{"shard", m / gpus, k, DataType::bf16, Memory::symmetric, {}},
                      {"gathered", m, k, DataType::bf16, Memory::local, {}},
                      {"weights", n, k, DataType::bf16, Memory::local, {}},
                      {"result", m, n, DataType::bf16, Memory::local, {}}};
  schedule.streams = {{"s0"}, {"s1"}};
  schedule.operations = {{"enter", 0, {}, Barrier{}}};
  for (int step = 0; step < gpus; ++step) {
    const std::string name = std::to_string(step);
    const Slice own{shard, step, RowRange{0, m / gpus}, 0, k};
    const Slice rows{gathered, 0, ShardRows{.rank_offset = step, .of_rows = m}, 0, k};
    const Slice output{result, 0, ShardRows{.rank_offset = step, .of_rows = m}, 0, n};
    schedule.operations.push_back({"pull " + name, step % 2, {{0}}, Copy{own, rows}});
    Gemm gemm;
    gemm.a = rows;
    gemm.b = {weights, 0, RowRange{0, n}, 0, k};
    gemm.c = output;
    schedule.operations.push_back({"gemm " + name, step % 2, {}, gemm});
  }
  const auto last = static_cast<OperationId>(schedule.operations.size()) - 1;
  schedule.operations.push_back({"leave", 0, {{last}}, Barrier{}});
  validate(schedule);
  return schedule;
}

void simulate_async_tp_8gpu_ranks_apart(benchmark::State& state) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  const Schedule schedule = async_tp(8, 16384, 8192, 8192);
  SimulationStatistics statistics;
  for (auto _ : state)
    benchmark::DoNotOptimize(SimulatedExecutor({.spans = false, .mechanisms = {}}).run(schedule, machine, &statistics));
  state.counters["iterations_simulated"] = statistics.iterations;
  state.counters["events"] = static_cast<double>(statistics.events);
  state.counters["plans"] = static_cast<double>(statistics.plans);
  report_peak_memory(state);
}
BENCHMARK(simulate_async_tp_8gpu_ranks_apart)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::sim
