// No schedule that the simulator can produce on the shipped profile is faster than the bound.
#include <gtest/gtest.h>

#include <random>

#include "models/machine/machine_json.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/search.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios::study {
namespace bound_against_simulation_test {

const Machine& shipped_machine() {
  static const Machine machine =
      read_machine(std::filesystem::path(tests::source_folder()) / "calibration/machines/h200x8-nvswitch.json");
  return machine;
}

void expect_all_above_bound(const Workload& workload, int gpus) {
  const Machine& machine = shipped_machine();
  const double bound = bound_us(workload, gpus, machine);
  // A power limit could only make it slower.
  sim::SimulatedExecutor executor(sim::SimulationOptions{.spans = false, .mechanisms = {.power = false}});
  for (const Case& request : candidates(workload, gpus, {.chunks = {2, 8}, .max_ctas = {8}, .fused_norm_ctas = {8}}))
    EXPECT_GT(executor.run(built_by_model(request, machine), machine).time_us, bound)
        << describe(workload) << " on " << gpus << " GPUs, " << request.id;
}

TEST(BoundAgainstSimulation, HoldsForPairs) {
  for (const int gpus : {2, 4, 8})
    for (const auto& [op, name] : NamesOf<PairOp>::names)
      for (const auto& [m, n, k] :
           {MatrixSize{64, 256, 8192}, MatrixSize{1024, 8192, 128}, MatrixSize{4096, 8192, 3584},
            MatrixSize{16384, 1024, 8192}, MatrixSize{16384, 8192, 28672}})
        expect_all_above_bound(PairWorkload{op, m, n, k}, gpus);
}

TEST(BoundAgainstSimulation, HoldsForRandomPairsOnAnyNumberOfGpus) {
  std::mt19937 random(5);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const auto& [op, name] : NamesOf<PairOp>::names) {
      PairWorkload pair{op, 128 * gpus * draw(1, 12), 128 * draw(1, 40), 64 * gpus * draw(1, 20)};
      if (collective_of(op) == CollectiveKind::all_to_all) pair.imbalance = 1 + 0.1 * draw(0, 10);
      expect_all_above_bound(pair, gpus);
    }
}

TEST(BoundAgainstSimulation, HoldsForGemmsThatFitTheL2) {
  for (const auto& [m, n, k] : {MatrixSize{1, 4096, 4096}, MatrixSize{16, 8192, 8192}, MatrixSize{256, 2048, 2048},
                                MatrixSize{1, 16384, 16384}, MatrixSize{8192, 8192, 8192}})
    expect_all_above_bound(GemmWorkload{m, n, k}, 4);
}

TEST(BoundAgainstSimulation, HoldsForTransfers) {
  for (const int gpus : {2, 4, 8})
    for (const Bytes bytes : {Bytes{1} << 10, Bytes{1} << 20, Bytes{1} << 30}) {
      for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
        expect_all_above_bound(CollectiveWorkload{kind, bytes}, gpus);
      for (const auto& [pattern, name] : NamesOf<CopyPattern>::names)
        expect_all_above_bound(CopyWorkload{bytes, pattern}, gpus);
      expect_all_above_bound(ConcurrentPair{4096, 4096, 4096, bytes}, gpus);
    }
}

TEST(BoundAgainstSimulation, HoldsForLayersWithExperts) {
  for (const std::int64_t tokens : {16, 4096})
    for (const double imbalance : {1.0, 2.0}) {
      LayerWorkload layer;
      layer.tokens = tokens;
      layer.hidden = 6144;
      layer.heads = 48;
      layer.kv_heads = 8;
      layer.head_dim = 128;
      layer.intermediate = 16384;
      layer.experts = 8;
      layer.experts_per_token = 2;
      layer.expert_imbalance = imbalance;
      expect_all_above_bound(layer, 8);
    }
}

TEST(BoundAgainstSimulation, HoldsForSharedExpertsAndFp8) {
  for (const std::int64_t tokens : {16, 4096})
    for (const bool sequence_parallel : {false, true}) {
      // Qwen2-57B-A14B: huggingface.co/Qwen/Qwen2-57B-A14B/blob/main/config.json
      LayerWorkload layer{.tokens = tokens,
                          .hidden = 3584,
                          .heads = 28,
                          .kv_heads = 4,
                          .head_dim = 128,
                          .intermediate = 2560,
                          .dtype = DataType::fp8,
                          .sequence_parallel = sequence_parallel,
                          .experts = 64,
                          .experts_per_token = 8,
                          .shared_intermediate = 20480};
      expect_all_above_bound(layer, 4);
      layer.dtype = DataType::bf16;
      expect_all_above_bound(layer, 4);
    }
}

TEST(BoundAgainstSimulation, HoldsForLayers) {
  for (const std::int64_t tokens : {8, 512, 8192})
    for (const bool sequence_parallel : {false, true})
      expect_all_above_bound(LayerWorkload{.tokens = tokens,
                                           .hidden = 8192,
                                           .heads = 64,
                                           .kv_heads = 8,
                                           .head_dim = 128,
                                           .intermediate = 28672,
                                           .dtype = DataType::bf16,
                                           .sequence_parallel = sequence_parallel},
                             8);
}

}  // namespace bound_against_simulation_test
}  // namespace weft::scenarios::study
