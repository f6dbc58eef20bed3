#include "scenarios/bound.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace bound_test {

// round_machine(): an SM does 1e6 flops/us, a GPU 1e8; HBM moves 1e6 bytes/us, a port 1e5 bytes/us.
constexpr double sm_rate = 1e6, gpu_rate = 1e8, hbm_rate = 1e6, port_rate = 1e5;

double bound(const Workload& workload, int gpus) { return bound_us(workload, gpus, round_machine()); }

TEST(Bound, LargeGemmIsBoundByTheTensorCoresAtTheMaximumClock) {
  EXPECT_DOUBLE_EQ(bound(GemmWorkload{4096, 4096, 4096}, 8), 2.0 * 4096 * 4096 * 4096 / gpu_rate);
}

TEST(Bound, ThinGemmIsBoundByItsOperandsThroughHbm) {
  const double bytes = 2.0 * (1.0 * 4096 + 4096.0 * 4096 + 1.0 * 4096);
  EXPECT_DOUBLE_EQ(bound(GemmWorkload{1, 4096, 4096}, 8), bytes / hbm_rate);
}

TEST(Bound, WhatTheL2HoldsNeedNotComeFromHbm) {
  Machine machine = round_machine();
  machine.gpu.l2_bytes = 10'000'000;
  const double bytes = 2.0 * (1.0 * 4096 + 4096.0 * 4096 + 1.0 * 4096) - 10e6;
  EXPECT_DOUBLE_EQ(bound_us(GemmWorkload{1, 4096, 4096}, 8, machine), bytes / hbm_rate);
}

TEST(Bound, Fp8RunsFasterByTheMachinesFactor) {
  Machine machine = round_machine();
  machine.gpu.fp8_speedup = 2;
  EXPECT_DOUBLE_EQ(bound_us(GemmWorkload{4096, 4096, 4096, DataType::fp8}, 8, machine),
                   2.0 * 4096 * 4096 * 4096 / (2 * gpu_rate));
}

TEST(Bound, CollectivesMoveTheirBytesThroughOnePort) {
  const double bytes = 8e6;
  EXPECT_DOUBLE_EQ(bound(CollectiveWorkload{CollectiveKind::all_reduce, 8'000'000}, 4),
                   2 * 3.0 / 4 * bytes / port_rate);
  EXPECT_DOUBLE_EQ(bound(CollectiveWorkload{CollectiveKind::all_gather, 8'000'000}, 4), 3.0 / 4 * bytes / port_rate);
  EXPECT_DOUBLE_EQ(bound(CollectiveWorkload{CollectiveKind::reduce_scatter, 8'000'000}, 8),
                   7.0 / 8 * bytes / port_rate);
  EXPECT_DOUBLE_EQ(bound(CollectiveWorkload{CollectiveKind::all_to_all, 8'000'000}, 2), 1.0 / 2 * bytes / port_rate);
}

TEST(Bound, PullsMoveTheirBytesOnceForEachPeer) {
  EXPECT_DOUBLE_EQ(bound(CopyWorkload{8'000'000, CopyPattern::one_peer}, 4), 8e6 / port_rate);
  EXPECT_DOUBLE_EQ(bound(CopyWorkload{8'000'000, CopyPattern::all_peers}, 4), 3 * 8e6 / port_rate);
}

TEST(Bound, PairThatTransfersLongerAddsTheFirstWave) {
  const double transfer = 2.0 * 3 / 4 * (2.0 * 4096 * 4096) / port_rate;
  const double compute = 2.0 * 4096 * 4096 * 1024 / gpu_rate;
  const double wave = 2.0 * 64 * 64 * 1024 / sm_rate;
  ASSERT_GT(transfer, compute);
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, 1024}, 4), wave + transfer);
}

TEST(Bound, PairThatComputesLongerAddsTheTransferOfTheLastWave) {
  const double transfer = 3.0 / 4 * (2.0 * 4096 * 4096) / port_rate;
  const double compute = 2.0 * 4096 * 4096 * 65536 / gpu_rate;
  const double last_wave = 100 * 64.0 * 64 / (4096.0 * 4096);
  ASSERT_GT(compute, transfer);
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::gemm_reduce_scatter, 4096, 4096, 65536}, 4),
                   compute + last_wave * transfer);
}

TEST(Bound, GatherThatTransfersLongerAddsTheLastWave) {
  const double transfer = 3.0 / 4 * (2.0 * 4096 * 4096) / port_rate;
  const double wave = 2.0 * 64 * 64 * 4096 / sm_rate;
  ASSERT_GT(transfer, 2.0 * 4096 * 64 * 4096 / gpu_rate);
  ASSERT_GT(2.0 * 4096 * 256 * 4096 / gpu_rate, wave);
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::all_gather_gemm, 4096, 256, 4096}, 4), transfer + wave);
}

TEST(Bound, GatherThatComputesLongerIsHiddenByTheOwnShard) {
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::all_gather_gemm, 4096, 65536, 4096}, 4),
                   2.0 * 4096 * 65536 * 4096 / gpu_rate);
}

TEST(Bound, GemmOfLessThanAWaveIsWhollyExposed) {
  // One tile on 100 SMs: no schedule can send before the GEMM is done, nor can it be done before all SMs' time.
  const double transfer = 2.0 * 1 / 2 * (2.0 * 64 * 64) / port_rate;
  const double compute = 2.0 * 64 * 64 * 65536 / gpu_rate;
  const double hbm = 2.0 * (64.0 * 65536 + 64.0 * 65536 + 64.0 * 64) / hbm_rate;
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::gemm_all_reduce, 64, 64, 65536}, 2), std::max(compute, hbm) + transfer);
}

TEST(Bound, ImbalanceCountsTheBusiestGpu) {
  EXPECT_DOUBLE_EQ(bound(PairWorkload{PairOp::gemm_all_to_all, 4096, 4096, 1024, DataType::bf16, 2}, 4),
                   bound(PairWorkload{PairOp::gemm_all_to_all, 8192, 4096, 1024}, 4));
}

TEST(Bound, IndependentPairTakesTheLongerOfTheTwo) {
  const double compute = 2.0 * 4096 * 4096 * 4096 / gpu_rate;
  EXPECT_DOUBLE_EQ(bound(ConcurrentPair{4096, 4096, 4096, 2}, 4), compute);
  EXPECT_DOUBLE_EQ(bound(ConcurrentPair{64, 64, 64, 80'000'000}, 4), 2 * 3.0 / 4 * 80e6 / port_rate);
}

TEST(Bound, LayerSumsTensorWorkOverItsKernels) {
  const LayerWorkload layer{
      .tokens = 4096, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .intermediate = 28672};
  const double projections = 2.0 * 4096 * 8192 * (8192.0 + 2 * 1024 + 8192 + 3 * 28672);
  const double attention = 2.0 * 4096 * 4096 * 8192;  // half of 4 x tokens^2 x heads x head_dim
  EXPECT_DOUBLE_EQ(bound(layer, 4), (projections + attention) / 4 / gpu_rate);
}

TEST(Bound, PartsThatWereMeasuredFasterCountAsMeasured) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  const double known = bound(pair, 8);
  EXPECT_EQ(bound_us(pair, 8, round_machine(), {.gemm_us = 1e6, .collective_us = 1e6}), known);
  EXPECT_LE(bound_us(pair, 8, round_machine(), {.gemm_us = 10, .collective_us = 10}), 20);
}

TEST(Bound, CollectivesThatAreLeftOutTakeNoTime) {
  const Measured left_out{.gemm_us = {}, .collective_us = 0};
  const auto without = [&](const Workload& workload) { return bound_us(workload, 4, round_machine(), left_out); };
  EXPECT_EQ(without(CollectiveWorkload{CollectiveKind::all_reduce, 8'000'000}), 0);
  const LayerWorkload layer{
      .tokens = 256, .hidden = 8192, .heads = 16, .kv_heads = 8, .head_dim = 128, .intermediate = 1024};
  const double projections = 2.0 * 256 * 8192 * (2 * 2048 + 2 * 1024 + 3 * 1024), attention = 2.0 * 256 * 256 * 2048;
  EXPECT_DOUBLE_EQ(bound(layer, 4), 2 * 2 * 3.0 / 4 * (2.0 * 256 * 8192) / port_rate);
  EXPECT_DOUBLE_EQ(without(layer), (projections + attention) / 4 / gpu_rate);
  EXPECT_DOUBLE_EQ(without(AttentionWorkload{400, 16, 2, 16}), 4 * (400.0 * 401 / 2) * 16 * 16 / 4 / gpu_rate);
}

// 100 SMs of 1000 flops a clock at 1 GHz: 1e8 flops a us. 4 ranks with 100 rows of 2 chunks each: rank 0 needs the keys
// of 300 rows, of 2 x 2 heads x 16 elements x 2 bytes, at 100 GB/s; the results over them would be more.
TEST(Bound, AttentionTakesItsTensorWorkOrTheKeysIntoTheFirstRank) {
  const Machine machine = round_machine();
  EXPECT_DOUBLE_EQ(bound_us(AttentionWorkload{400, 16, 2, 16}, 4, machine), 300.0 * 2 * 2 * 16 * 2 / 1e5);
  EXPECT_DOUBLE_EQ(bound_us(AttentionWorkload{400000, 16, 2, 16}, 4, machine),
                   4 * (400000.0 * 400001 / 2) * 16 * 16 / 4 / 1e8);
}

TEST(Bound, LayerOfFewTokensIsBoundByItsWeights) {
  const LayerWorkload layer{
      .tokens = 1, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .intermediate = 28672};
  EXPECT_DOUBLE_EQ(bound(layer, 4), 2.0 * 8192 * (8192.0 + 2 * 1024 + 8192 + 3 * 28672) / 4 / hbm_rate);
}

}  // namespace bound_test
}  // namespace weft::scenarios
