// Which schedules of fp8 the hardware executor runs, as the families build them: `weft explore` asks the same question.
#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "tests/scenarios/program_text.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios::families {
namespace fp8_on_gpus_test {

const Machine& hopper() {
  static const Machine machine = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  return machine;
}
std::string refusal(const Workload& workload, const Family& family) {
  const auto error = why_not_runnable(build(make_case(workload, 2, family), hopper()), hopper());
  return error ? error->what() : "";
}
Workload pair(PairOp op) { return PairWorkload{op, 1024, 512, 256, DataType::fp8}; }

/// Of 1/8 of Llama-3.3-70B's width.
LayerWorkload layer(bool sequence_parallel) {
  return {.tokens = 512,
          .hidden = 1024,
          .heads = 8,
          .kv_heads = 2,
          .head_dim = 128,
          .intermediate = 3584,
          .dtype = DataType::fp8,
          .sequence_parallel = sequence_parallel};
}

TEST(Fp8OnGpus, PairsRunByTheLibrarysGemms) {
  for (const PairOp op : {PairOp::all_gather_gemm, PairOp::gemm_reduce_scatter, PairOp::gemm_all_reduce}) {
    EXPECT_EQ(refusal(pair(op), Serial{}), "");
    EXPECT_EQ(refusal(pair(op), Decomposition{2}), "");
  }
  for (const PairOp op : {PairOp::all_gather_gemm, PairOp::gemm_reduce_scatter})
    EXPECT_EQ(refusal(pair(op), AsyncTp{}), "");
}

TEST(Fp8OnGpus, DenseLayersRun) {
  EXPECT_EQ(refusal(layer(false), Serial{}), "");
  EXPECT_EQ(refusal(layer(false), TokenSplit{.first = 256}), "");
  for (const Family& family : {Family{Serial{}}, Family{Decomposition{2}}, Family{AsyncTp{}}})
    EXPECT_EQ(refusal(layer(true), family), "");
}

TEST(Fp8OnGpus, ExpertsNeedGroupedGemmsWhichMultiplyBf16) {
  LayerWorkload experts = layer(false);
  experts.experts = 16, experts.experts_per_token = 2;
  EXPECT_NE(refusal(experts, Serial{}).find("got fp8 for a grouped GEMM, whose kernels multiply bf16"),
            std::string::npos);
}

TEST(Fp8OnGpus, SignalingNeedsAKernelThatMultipliesBf16) {
  const PairWorkload two_waves{PairOp::gemm_all_reduce, 4096, 4096, 1024, DataType::fp8};
  EXPECT_NE(refusal(two_waves, Signaling{{1, 1}}).find("got fp8 for a GEMM kernel of ours"), std::string::npos);
}

}  // namespace fp8_on_gpus_test
}  // namespace weft::scenarios::families
