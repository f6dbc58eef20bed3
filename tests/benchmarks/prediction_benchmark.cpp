// What users feel: a case in, a time out.
#include <benchmark/benchmark.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/library/weft.hpp"
#include "scenarios/study/explanation.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/benchmarks/peak_memory.hpp"
#include "tests/simulator.hpp"

namespace weft::tools {
namespace {

using tests::simulator;

const Machine& machine() {
  static const Machine profile = read_machine(machine_path("h200x8-nvswitch"));
  return profile;
}

scenarios::study::Prediction predict_line(std::string_view line) {
  return scenarios::study::predict(scenarios::case_from_json(nlohmann::json::parse(line)), machine(), simulator());
}

void simulate_gemm_reduce_scatter_8gpu_8chunks(benchmark::State& state) {
  machine();
  for (auto _ : state)
    benchmark::DoNotOptimize(predict_line(R"({"id": "a", "gpus": 8, "workload": {"op": "gemm+reduce_scatter",
      "m": 16384, "n": 8192, "k": 3584, "dtype": "bf16"}, "schedule": {"family": "decomposition", "chunks": 8}})"));
  state.SetItemsProcessed(state.iterations());
  report_peak_memory(state);
}
BENCHMARK(simulate_gemm_reduce_scatter_8gpu_8chunks)->Unit(benchmark::kMillisecond);

constexpr std::array mixed_cases{
    R"({"id": "1", "gpus": 1, "workload": {"op": "gemm", "m": 8192, "n": 8192, "k": 3584, "dtype": "bf16"}})",
    R"({"id": "2", "gpus": 8, "workload": {"op": "all_reduce", "bytes": 67108864}})",
    R"({"id": "3", "gpus": 4, "workload": {"op": "copy", "bytes": 33554432, "pattern": "all_peers"}})",
    R"({"id": "4", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 3584, "dtype": "bf16"}})",
    R"({"id": "5", "gpus": 2, "workload": {"op": "gemm+all_reduce", "m": 16384, "n": 8192, "k": 7168, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 4}})",
    R"({"id": "6", "gpus": 8, "workload": {"op": "gemm+reduce_scatter", "m": 4096, "n": 8192, "k": 1024, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 2, "max_ctas": 8}})",
    R"({"id": "7", "gpus": 4, "workload": {"op": "all_gather+gemm", "m": 8192, "n": 7168, "k": 8192, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 8}})",
    R"({"id": "8", "gpus": 8, "workload": {"op": "gemm+all_to_all", "m": 8192, "n": 4096, "k": 4096, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 4, "max_ctas": 16}})",
    R"({"id": "9", "gpus": 4, "workload": {"op": "gemm||all_reduce", "m": 8192, "n": 8192, "k": 3584,
        "bytes": 134217728, "dtype": "bf16"}, "schedule": {"family": "concurrent", "first": "gemm"}})",
    R"({"id": "10", "gpus": 8, "workload": {"op": "transformer_layer", "tokens": 4096, "hidden": 8192, "heads": 64,
        "kv_heads": 8, "head_dim": 128, "intermediate": 28672, "dtype": "bf16"}})",
    R"({"id": "11", "gpus": 2, "workload": {"op": "gemm+reduce_scatter", "m": 32768, "n": 8192, "k": 14336, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 4, "launch": "eager"}})",
    R"({"id": "12", "gpus": 8, "workload": {"op": "gemm||all_reduce", "m": 4096, "n": 8192, "k": 8192,
        "bytes": 33554432, "dtype": "bf16"}, "schedule": {"family": "concurrent", "first": "collective", "max_ctas": 8}})"};

void predict_mixed(benchmark::State& state) {
  machine();
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(predict_line(mixed_cases[next++ % mixed_cases.size()]));
  state.SetItemsProcessed(state.iterations());
  report_peak_memory(state);
}
BENCHMARK(predict_mixed)->Unit(benchmark::kMillisecond)->MinTime(2);

/// What a program waits for that has a profile open and asks about one pair: a value in, a value out.
void library_answers_a_pair(benchmark::State& state) {
  const Profile profile("h200x8-nvswitch");
  const weft::Case pair{.id = "a",
                        .gpus = 4,
                        .workload = {{"op", "gemm+all_reduce"}, {"m", 8192}, {"n", 8192}, {"k", 3584}},
                        .schedule = {{"family", "decomposition"}, {"chunks", 4}}};
  for (auto _ : state) benchmark::DoNotOptimize(profile.predict(pair));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(library_answers_a_pair)->Unit(benchmark::kMicrosecond);

/// What weft explore says of Llama-3.3-70B's down projection with 8192 tokens on 8 GPUs, losses of the winner included.
void explore_one_shape(benchmark::State& state) {
  const scenarios::PairWorkload down_projection{scenarios::PairOp::gemm_reduce_scatter, 8192, 8192, 3584};
  scenarios::Scenario scenario;
  scenario.gpus = 8;
  machine();
  std::size_t schedules = 0;
  for (auto _ : state) {
    schedules = 0;
    scenarios::study::Answer answer =
        scenarios::study::explore_pair({"down projection", down_projection}, down_projection.m, scenario, machine(),
                                       simulator(), schedules, {.least_schedules = scenarios::study::usual_schedules});
    scenarios::study::explain({&answer}, machine(), sim::simulate);
    benchmark::DoNotOptimize(answer);
  }
  state.counters["schedules"] = static_cast<double>(schedules);
  report_peak_memory(state);
}
BENCHMARK(explore_one_shape)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::tools
