#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace serial_test {

using testing::ElementsAre;

TEST(Serial, GemmIsOneKernelOverWholeMatrices) {
  const Schedule schedule = build_case(GemmWorkload{64, 32, 16}, 4);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: gemm"));
  EXPECT_EQ(operands_of(schedule.operations[0], schedule), "a[0:64, 0:16] x b[0:32, 0:16] -> c[0:64, 0:32]");
}

TEST(Serial, Fp8IsTheTypeOfInputsOnly) {
  Machine machine = round_machine();
  machine.gpu.fp8_speedup = 2;
  const Schedule schedule = build(make_case(GemmWorkload{64, 32, 16, DataType::fp8}, 1), machine);
  EXPECT_EQ(schedule.buffers[0].dtype, DataType::fp8);
  EXPECT_EQ(schedule.buffers[1].dtype, DataType::fp8);
  EXPECT_EQ(schedule.buffers[2].dtype, DataType::bf16);
}

TEST(Serial, Fp8NeedsAMachineThatHasIt) {
  EXPECT_EQ(build_error(GemmWorkload{64, 32, 16, DataType::fp8}, 1),
            "workload.dtype: expected bf16 (round has no fp8), got fp8");
}

TEST(Serial, QueuesAreSharedUnderCudaAlone) {
  Machine machine = round_machine();
  Case request = make_case(GemmWorkload{64, 32, 16}, 1);
  request.schedule.max_connections = 2;
  EXPECT_EQ(build(request, machine).max_connections, 2);
  machine.runtime = Runtime::rocm;
  EXPECT_EQ(error_of([&] { build(request, machine); }),
            "schedule.max_connections: expected none on round, whose runtime is rocm, got 2");
}

TEST(Serial, ReductionsFollowTheGemmOnTheSameStream) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: gemm", "s0: reduce_scatter"));
  EXPECT_EQ(operands_of(schedule.operations[1], schedule), "c[0:64, 0:32] -> result[0:16, 0:32]");
}

TEST(Serial, AllReduceIsInPlaceAndCutsNothing) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_reduce, 1, 32, 16}, 4);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: gemm", "s0: all_reduce"));
  EXPECT_EQ(operands_of(schedule.operations[1], schedule), "c[0:1, 0:32] -> c[0:1, 0:32]");
}

TEST(Serial, GatherComesBeforeTheGemm) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: all_gather", "s0: gemm"));
  EXPECT_EQ(operands_of(schedule.operations[0], schedule), "shard[0:16, 0:16] -> a[0:64, 0:16]");
  EXPECT_EQ(operands_of(schedule.operations[1], schedule), "a[0:64, 0:16] x b[0:32, 0:16] -> c[0:64, 0:32]");
}

TEST(Serial, ExchangeComesBeforeOrAfterTheGemm) {
  const Schedule before = build_case(PairWorkload{PairOp::all_to_all_gemm, 64, 32, 16}, 4);
  EXPECT_THAT(program_of(before), ElementsAre("s0: all_to_all", "s0: gemm"));
  EXPECT_EQ(operands_of(before.operations[0], before), "send[0:64, 0:16] -> a[0:64, 0:16]");
  const Schedule behind = build_case(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16}, 4);
  EXPECT_THAT(program_of(behind), ElementsAre("s0: gemm", "s0: all_to_all"));
  EXPECT_EQ(operands_of(behind.operations[1], behind), "c[0:64, 0:32] -> result[0:64, 0:32]");
}

TEST(Serial, ImbalanceGivesRankZeroMoreRowsAndTheOthersTheRest) {
  // 64 x 1.3 = 83.2, rounded up to a multiple of 4; 172 are left.
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16, DataType::bf16, 1.3}, 4);
  EXPECT_EQ(schedule.meaning->m, 64);
  EXPECT_THAT(schedule.meaning->rows_of_rank, ElementsAre(84, 60, 56, 56));
}

TEST(Serial, RowsThatCannotBeCutAreAnError) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_reduce_scatter, 100, 32, 16}, 8),
            "workload.m: expected a multiple of gpus = 8, got 100");
}

TEST(Serial, CollectivesCountBytesAsNcclTestsDo) {
  const auto bytes = [](CollectiveKind kind) {
    const Schedule schedule = build_case(CollectiveWorkload{kind, 98304}, 4);
    const auto collective = all_of_kind<Collective>(schedule).at(0);
    return std::pair{bytes_of(collective.input, schedule), bytes_of(collective.output, schedule)};
  };
  EXPECT_EQ(bytes(CollectiveKind::all_reduce), std::pair(Bytes{98304}, Bytes{98304}));
  EXPECT_EQ(bytes(CollectiveKind::all_gather), std::pair(Bytes{98304 / 4}, Bytes{98304}));
  EXPECT_EQ(bytes(CollectiveKind::reduce_scatter), std::pair(Bytes{98304}, Bytes{98304 / 4}));
  EXPECT_EQ(bytes(CollectiveKind::all_to_all), std::pair(Bytes{98304}, Bytes{98304}));
}

TEST(Serial, MaxCtasAndLaunchReachTheSchedule) {
  Case request = make_case(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4);
  request.schedule.max_ctas = 8;
  request.schedule.launch = Launch::eager;
  const Schedule schedule = build(request, round_machine());
  EXPECT_EQ(all_of_kind<Collective>(schedule).at(0).max_ctas, 8);
  EXPECT_EQ(schedule.launch, Launch::eager);
}

TEST(Serial, OnePullComesFromTheNextRank) {
  const Schedule schedule = build_case(CopyWorkload{4096, CopyPattern::one_peer}, 4);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: pull from rank + 1"));
  EXPECT_EQ(operands_of(schedule.operations[0], schedule), "source@1[0:2, 0:1024] -> gathered[0:2, 0:1024]");
}

TEST(Serial, PullsFromAllPeersGoRoundInTurnWithoutABarrier) {
  const Schedule schedule = build_case(CopyWorkload{4096, CopyPattern::all_peers}, 4);
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s0: pull from rank + 1", "s0: pull from rank + 2", "s0: pull from rank + 3"));
  EXPECT_EQ(operands_of(schedule.operations[2], schedule), "source@3[0:2, 0:1024] -> gathered[4:6, 0:1024]");
  EXPECT_EQ(schedule.buffers[0].memory, Memory::symmetric);
  for (const Copy& copy : all_of_kind<Copy>(schedule)) EXPECT_EQ(copy.path, CopyPath::copy_engine);
}

TEST(Serial, MeaningNamesOperandsAndResult) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4);
  ASSERT_TRUE(schedule.meaning);
  EXPECT_EQ(schedule.meaning->op, "all_gather+gemm");
  EXPECT_EQ(schedule.buffers[schedule.meaning->a].name, "shard");
  EXPECT_EQ(schedule.buffers[schedule.meaning->b].name, "b");
  EXPECT_EQ(schedule.buffers[schedule.meaning->result].name, "c");
}

TEST(Serial, MoreGpusThanTheMachineHasAreAnError) {
  EXPECT_EQ(build_error(GemmWorkload{64, 32, 16}, 16), "gpus: expected at most 8 on round, got 16");
}

TEST(Serial, BestHasNoProgramOfItsOwn) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, Best{}),
            "schedule.family: expected a family other than best, which is found by comparing the others");
}

TEST(Serial, BytesOfACollectiveAreRoundedDownAsInNcclTests) {
  const auto rows_and_columns = [](CollectiveKind kind, Bytes bytes) {
    const Schedule schedule = build_case(CollectiveWorkload{kind, bytes}, 3, Serial{});
    return schedule.buffers.back().rows * schedule.buffers.back().columns;
  };
  EXPECT_EQ(rows_and_columns(CollectiveKind::all_gather, 64), 30);
  EXPECT_EQ(rows_and_columns(CollectiveKind::all_reduce, 65), 32);
}

}  // namespace serial_test
}  // namespace weft::scenarios::families
