// Exact results of schedules on the test machine. A change of the simulator that moves them rewrites the files:
//   WEFT_REWRITE_GOLDEN=1 build/release/bin/weft_sim_tests --gtest_filter='Golden*'
// and the difference is part of the review.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/check/schedule_file.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim {
namespace golden_test {

using namespace scenarios;

Schedule built(const Workload& workload, int gpus, const ScheduleChoice& choice = {}) {
  return scenarios::families::build(
      {.id = "golden", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}}, test_machine());
}

Schedule by_hand(const std::string& name) {
  return read_schedule(tests::source_folder() + "/tests/schedules/" + name + ".json");
}

const PairWorkload reduce_scatter_pair{PairOp::gemm_reduce_scatter, 4096, 4096, 2048};

/// Shortest text that reads back as the same double, so equal files mean equal bits.
nlohmann::json to_json(const Trace& trace) {
  nlohmann::json spans = nlohmann::json::array();
  for (const Span& span : trace.spans)
    if (span.gpu <= 1) spans.push_back({span.operation, span.gpu, span.start_us, span.end_us, name_of(span.limit)});
  return {{"time_us", trace.time_us}, {"limited_by", name_of(trace.limited_by)}, {"spans", spans}};
}

std::string text_of(const nlohmann::json& json) {
  std::string text = "{\n  \"limited_by\": " + json["limited_by"].dump() +
                     ",\n  \"time_us\": " + json["time_us"].dump() + ",\n  \"spans\": [";
  const char* separator = "\n    ";
  for (const nlohmann::json& span : json["spans"]) text += separator + span.dump(), separator = ",\n    ";
  return text + "\n  ]\n}\n";
}

void compare_with_golden(const std::string& name, const Schedule& schedule) {
  const std::string path = tests::source_folder() + "/tests/sim/golden/" + name + ".json";
  const nlohmann::json found = to_json(SimulatedExecutor().run(schedule, test_machine()));
  if (std::getenv("WEFT_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << text_of(found);
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(found, nlohmann::json::parse(file)) << name;
}

TEST(Golden, Gemm) { compare_with_golden("gemm", built(GemmWorkload{4096, 2048, 1024}, 1)); }
TEST(Golden, AllReduce) {
  compare_with_golden("all_reduce", built(CollectiveWorkload{CollectiveKind::all_reduce, 50000000}, 8));
}
TEST(Golden, CopiesFromAllPeers) {
  compare_with_golden("copies", built(CopyWorkload{4000000, CopyPattern::all_peers}, 4));
}
TEST(Golden, Serial) { compare_with_golden("serial", built(reduce_scatter_pair, 8)); }
TEST(Golden, Decomposition) {
  compare_with_golden("decomposition", built(reduce_scatter_pair, 8, {Decomposition{4}, 2}));
}
TEST(Golden, EagerDecomposition) {
  compare_with_golden("eager_decomposition", built(reduce_scatter_pair, 4, {Decomposition{2}, 0, Launch::eager}));
}
TEST(Golden, Concurrent) {
  compare_with_golden("concurrent",
                      built(ConcurrentPair{4096, 4096, 2048, 40000000}, 4, {Concurrent{FirstLaunched::gemm}}));
}
LayerWorkload small_layer(std::int64_t experts) {
  LayerWorkload layer;
  layer.tokens = 2000;
  layer.hidden = 1024;
  layer.heads = layer.kv_heads = 8;
  layer.head_dim = 128;
  layer.intermediate = 2048;
  layer.experts = experts;
  layer.experts_per_token = experts / 4;
  if (experts > 0) layer.expert_imbalance = 1.5;
  return layer;
}
TEST(Golden, TokenSplitWithFusedNorm) {
  compare_with_golden("token_split_fused_norm", built(small_layer(0), 4, {TokenSplit{1024, true, 4}}));
}
TEST(Golden, ExpertLayer) { compare_with_golden("expert_layer", built(small_layer(8), 4)); }
TEST(Golden, ExpertLayerInTokenSplits) {
  compare_with_golden("expert_token_split", built(small_layer(8), 4, {TokenSplit{1024, true, 2}}));
}
TEST(Golden, LayerInChunks) { compare_with_golden("layer_in_chunks", built(small_layer(0), 4, {Decomposition{2}, 4})); }
TEST(Golden, LayerWithAsyncTp) {
  LayerWorkload layer = small_layer(0);
  layer.sequence_parallel = true;
  compare_with_golden("layer_with_async_tp", built(layer, 2, {AsyncTp{}}));
}
TEST(Golden, LayerInDecode) {
  LayerWorkload layer = small_layer(0);
  layer.tokens = layer.sequences = 64, layer.prefix = 1000;
  compare_with_golden("layer_in_decode", built(layer, 4));
}
TEST(Golden, AsyncTp) { compare_with_golden("async_tp", by_hand("async_tp_all_gather_gemm")); }
TEST(Golden, StagedAttention) {
  compare_with_golden("staged_attention",
                      built(AttentionWorkload{8192, 8, 4, 64}, 4, {Staged{2, AttentionExchange::keys_values}}));
}
TEST(Golden, FlashOverlap) { compare_with_golden("flashoverlap", by_hand("flashoverlap_gemm_reduce_scatter")); }
TEST(Golden, Ficco) { compare_with_golden("ficco", by_hand("ficco_uniform_fused_2d")); }

}  // namespace golden_test
}  // namespace weft::sim
