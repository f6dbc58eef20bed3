#include "models/check/hardware_support.hpp"

#include <gtest/gtest.h>

#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace hardware_support_test {

Buffer matrix(std::int64_t rows, std::int64_t columns) {
  Buffer buffer;
  buffer.name = "x";
  buffer.rows = rows, buffer.columns = columns;
  return buffer;
}
Slice whole(BufferId buffer) { return {buffer, 0, RowRange{0, 64}, 0, 64}; }

/// One operation on three matrices of 64 x 64.
Schedule schedule_of(Work work) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.buffers = {matrix(64, 64), matrix(64, 64), matrix(64, 64)};
  schedule.streams = {{"s0", 0}};
  schedule.operations = {{"only", 0, {}, std::move(work)}};
  return schedule;
}
Gemm gemm() {
  Gemm work;
  work.a = whole(0), work.b = whole(1), work.c = whole(2);
  return work;
}
Collective all_to_all(BufferId input, BufferId output) {
  Collective work;
  work.kind = CollectiveKind::all_to_all;
  work.input = whole(input), work.output = whole(output);
  return work;
}
std::string refusal(const Schedule& schedule) {
  const auto error = why_not_runnable(schedule);
  return error ? error->what() : "";
}

TEST(Support, RefusesPackedWeights) {
  Schedule schedule = schedule_of(gemm());
  schedule.buffers[1].element_bits = 4.25;
  EXPECT_EQ(refusal(schedule), "buffers[1].element_bits: expected none: weft run has no kernel that expands weights");
}

TEST(Support, RunsLibraryGemmsAndNcclCollectives) {
  EXPECT_EQ(refusal(schedule_of(gemm())), "");
  EXPECT_EQ(refusal(schedule_of(all_to_all(0, 1))), "");
}

TEST(Support, RefusesWhatOtherProgramsRun) {
  Schedule by_pytorch = schedule_of(gemm());
  by_pytorch.implementation = Implementation::pytorch;
  EXPECT_EQ(refusal(by_pytorch), "implementation: expected weft, got pytorch");
}

TEST(Support, NamesTheOperationAndTheReason) {
  Gemm own_kernel = gemm();
  own_kernel.kernel = GemmKernel{};
  EXPECT_EQ(refusal(schedule_of(own_kernel)),
            "operations[0] \"only\": expected what the hardware executor supports, got a GEMM kernel that weft does "
            "not have");
}

TEST(Support, RefusesKernelsThatItDoesNotHave) {
  AllReduceNorm fused;
  fused.partial = fused.residual = fused.normed = whole(0);
  EXPECT_EQ(refusal(schedule_of(fused)), "");
  fused.transport = Transport::multicast;
  EXPECT_NE(refusal(schedule_of(fused)).find("got transport multicast"), std::string::npos);
  const MemoryBound sum{MemoryKernel::pytorch_sum, {whole(0)}, {whole(1)}};
  EXPECT_NE(refusal(schedule_of(sum)).find("got memory kernel pytorch_sum"), std::string::npos);
}

/// Four groups of 16 rows, with weights of 16 rows each.
GroupedGemm grouped_gemm() {
  GroupedGemm work;
  work.a = whole(0), work.b = whole(1), work.c = whole(2);
  work.c.columns = 16;
  work.group_rows = {16, 0, 40, 8};
  return work;
}

TEST(Support, RunsGroupedGemmsByKernelsOfItsOwn) {
  GroupedGemm work = grouped_gemm();
  EXPECT_EQ(refusal(schedule_of(work)), "");
  work.kernel = own_kernels.front();
  EXPECT_EQ(refusal(schedule_of(work)), "") << "of any number of rows, though its clusters are of two tiles";
  work.kernel = GemmKernel{};
  EXPECT_NE(refusal(schedule_of(work)).find("a grouped GEMM's kernel that weft does not have"), std::string::npos);
  Schedule fp8 = schedule_of(grouped_gemm());
  fp8.buffers[0].dtype = fp8.buffers[1].dtype = DataType::fp8;
  EXPECT_NE(refusal(fp8).find("fp8 for a grouped GEMM, whose kernels multiply bf16"), std::string::npos);
  Machine machine;
  machine.architecture = Architecture::ampere;
  EXPECT_FALSE(is_runnable(schedule_of(grouped_gemm()), machine));
  machine.architecture = Architecture::hopper;
  EXPECT_TRUE(is_runnable(schedule_of(grouped_gemm()), machine));
}

TEST(Support, GroupedGemmsNeedRowsOf16Bytes) {
  GroupedGemm work = grouped_gemm();
  work.c.first_column = 4;
  EXPECT_NE(refusal(schedule_of(work)).find("not aligned to 16 bytes"), std::string::npos);
}

Slice part(BufferId buffer, std::int64_t rows, std::int64_t columns) {
  return {buffer, 0, RowRange{0, rows}, 0, columns};
}

TEST(Support, MovesWholeRows) {
  for (const MemoryKernel kernel : {MemoryKernel::gather, MemoryKernel::scatter}) {
    const auto refusal_of = [&](std::vector<Slice> reads, std::vector<Slice> writes) {
      return refusal(schedule_of(MemoryBound{kernel, std::move(reads), std::move(writes)}));
    };
    EXPECT_EQ(refusal_of({part(0, 16, 64), part(0, 48, 64)}, {whole(1)}), "");
    EXPECT_NE(refusal_of({part(0, 32, 32)}, {part(1, 16, 64)}).find("of rows of 32 and 64 columns"), std::string::npos);
    EXPECT_NE(refusal_of({part(0, 32, 36)}, {part(1, 32, 36)}).find("no multiples of 16 bytes"), std::string::npos);
    const std::vector<Slice> many(max_moved + 1, part(0, 1, 64));
    EXPECT_NE(refusal_of(many, {part(1, 17, 64)}).find("17 reads of"), std::string::npos);
  }
}

TEST(Support, ChoosesAmongTheColumnsThatAWarpHolds) {
  Schedule schedule = schedule_of(MemoryBound{MemoryKernel::top_k, {part(0, 64, 60)}, {part(1, 64, 3)}});
  EXPECT_EQ(refusal(schedule), "");
  schedule.buffers[0].columns = std::get<MemoryBound>(schedule.operations[0].work).reads[0].columns = 2048;
  EXPECT_NE(refusal(schedule).find("top_k of 2048 columns"), std::string::npos);
}

TEST(Support, AddsUpWeightedRows) {
  const auto refusal_of = [](std::int64_t columns) {
    return refusal(schedule_of(
        MemoryBound{MemoryKernel::weighted_sum, {part(0, 64, columns), part(1, 16, 4)}, {part(2, 16, columns)}}));
  };
  EXPECT_EQ(refusal_of(64), "");
  EXPECT_NE(refusal_of(60).find("no multiples of 16 bytes"), std::string::npos);
}

TEST(Support, FollowsTheStartOfAKernelInAGraph) {
  Schedule schedule = schedule_of(gemm());
  schedule.operations.push_back({"second", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_EQ(refusal(schedule), "");
  schedule.launch = Launch::eager;
  EXPECT_NE(refusal(schedule).find("following a kernel's start without a graph"), std::string::npos);
  schedule.launch = Launch::graph;
  schedule.operations[1].after[0].point = Point::first_cta_started;
  EXPECT_NE(refusal(schedule).find("following first_cta_started of a kernel that does not count its CTAs"),
            std::string::npos);
  schedule.operations[0].work = Copy{whole(0), whole(1)};
  schedule.operations[1].after[0].point = Point::all_ctas_started;
  EXPECT_NE(refusal(schedule).find("the start of what is no kernel"), std::string::npos);
}

TEST(Support, FollowsTheStartOfAKernelThatCountsItsCtasWithoutAGraph) {
  Collective gather{.kind = CollectiveKind::all_gather,
                    .input = whole(0),
                    .output = {1, 0, RowRange{0, 64}, 0, 64},
                    .transport = Transport::peer_kernel};
  gather.input.rows = RowRange{0, 32};
  Schedule schedule = schedule_of(gather);
  schedule.gpus = 2;
  schedule.buffers[0].memory = Memory::symmetric;
  schedule.launch = Launch::eager;
  for (const Point point : {Point::all_ctas_started, Point::first_cta_started}) {
    schedule.operations.resize(1);
    schedule.operations.push_back({"second", 0, {{0, point, 0}}, Delay{1}});
    EXPECT_EQ(refusal(schedule), "") << name_of(point);
  }
}

TEST(Support, FollowsTheFirstOfSeveralKernels) {
  Schedule schedule = schedule_of(all_to_all(0, 1));
  schedule.operations.push_back({"second", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_EQ(refusal(schedule), "");
}

Slice on_peer(BufferId buffer) {
  Slice slice = whole(buffer);
  slice.place = 1;
  return slice;
}

TEST(Support, CopiesFromAndToPeers) {
  for (const CopyPath path : {CopyPath::copy_engine, CopyPath::sms}) {
    EXPECT_EQ(refusal(schedule_of(Copy{on_peer(0), whole(1), path})), "");
    EXPECT_EQ(refusal(schedule_of(Copy{whole(0), on_peer(1), path})), "");
  }
}

Slice first_rows_by_rank(Slice slice, std::int64_t of_rank_0, std::int64_t of_rank_1) {
  slice.rows = RankRows{{{0, of_rank_0}, {0, of_rank_1}}};
  return slice;
}

TEST(Support, RunsWhatRanksHaveDifferentRowsOf) {
  Gemm work = gemm();
  for (const std::int64_t of_rank_1 : {16, 0}) {
    work.a = first_rows_by_rank(whole(0), 64, of_rank_1), work.c = first_rows_by_rank(whole(2), 64, of_rank_1);
    EXPECT_EQ(refusal(schedule_of(work)), "");
    const Slice source = first_rows_by_rank(on_peer(0), 64, of_rank_1);
    EXPECT_EQ(refusal(schedule_of(Copy{source, first_rows_by_rank(whole(1), 64, of_rank_1)})), "");
  }
}

TEST(Support, NobodyFollowsTheStartOfAGemmThatSomeRankHasNoRowsOf) {
  Gemm work = gemm();
  work.a = first_rows_by_rank(whole(0), 64, 0), work.c = first_rows_by_rank(whole(2), 64, 0);
  Schedule followed = schedule_of(work);
  followed.operations.push_back({"beside", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_NE(refusal(followed).find("no kernel on every rank"), std::string::npos);
}

TEST(Support, CopiesBySmsMoveBf16) {
  Schedule schedule = schedule_of(Copy{whole(0), whole(1), CopyPath::sms});
  schedule.buffers[0].dtype = schedule.buffers[1].dtype = DataType::fp32;
  EXPECT_NE(refusal(schedule).find("dtype fp32"), std::string::npos);
}

TEST(Support, RefusesKernelsOnOtherRanks) {
  Gemm far = gemm();
  far.c = on_peer(2);
  const MemoryBound sum{MemoryKernel::add, {on_peer(0), whole(1)}, {whole(2)}};
  EXPECT_NE(refusal(schedule_of(far)).find("another rank"), std::string::npos);
  EXPECT_NE(refusal(schedule_of(sum)).find("another rank"), std::string::npos);
}

TEST(Support, RefusesAllToAllInPlace) {
  EXPECT_NE(refusal(schedule_of(all_to_all(0, 0))).find("in place"), std::string::npos);
}

TEST(Support, RefusesOtherTransports) {
  Collective pulls = all_to_all(0, 1);
  pulls.transport = Transport::pull;
  EXPECT_NE(refusal(schedule_of(pulls)).find("transport pull"), std::string::npos);
}

/// On symmetric matrices.
Schedule by_window(const Collective& collective) {
  Schedule schedule = schedule_of(collective);
  for (Buffer& buffer : schedule.buffers) buffer.memory = Memory::symmetric;
  return schedule;
}

TEST(Support, RunsNcclOnWindowsOfSymmetricMemory) {
  Collective sum{.input = whole(0), .output = whole(0), .transport = Transport::nccl_symmetric};
  EXPECT_EQ(refusal(by_window(sum)), "");
  EXPECT_NE(refusal(schedule_of(sum)).find("a collective by nccl_symmetric on local memory"), std::string::npos);
  Collective exchange = all_to_all(0, 1);
  exchange.transport = Transport::nccl_copy_engine;
  EXPECT_EQ(refusal(by_window(exchange)), "");
  exchange.output = exchange.input;
  EXPECT_NE(refusal(by_window(exchange)).find("in place"), std::string::npos);
}

TEST(Support, RefusesAWindowThatPeersReachByAnotherWay) {
  Schedule schedule = by_window({.input = whole(0), .output = whole(0), .transport = Transport::nccl_symmetric});
  Slice far = whole(0);
  far.place = 1;
  schedule.operations.push_back({"pull", 0, {}, Copy{far, whole(1)}});
  EXPECT_EQ(refusal(schedule),
            "buffers \"x\": expected what the hardware executor supports, got a window of NCCL that operation "
            "\"pull\" reaches on a peer");
}

TEST(Support, NobodyFollowsTheStartOfCopyEngines) {
  Collective gather{.kind = CollectiveKind::all_gather,
                    .input = whole(0),
                    .output = whole(1),
                    .transport = Transport::nccl_copy_engine};
  Schedule schedule = by_window(gather);
  schedule.streams.push_back({"s1", 0});
  schedule.operations.push_back({"after", 1, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_NE(refusal(schedule).find("the start of what is no kernel"), std::string::npos);
}

TEST(Support, RunsBarriers) { EXPECT_EQ(refusal(schedule_of(Barrier{})), ""); }

/// A signal to the next rank, then a wait for the one from the rank before.
Schedule signal_and_wait() {
  Schedule schedule = schedule_of(Signal{0, 1});
  schedule.gpus = 4;
  schedule.counters = {{"arrived", false}};
  schedule.operations.push_back({"wait", 0, {}, Wait{0, 1}});
  return schedule;
}

TEST(Support, RunsSignalsAndWaitsOfKernels) { EXPECT_EQ(refusal(signal_and_wait()), ""); }

TEST(Support, RefusesOtherPathsOfSignalsAndWaits) {
  Schedule written = signal_and_wait(), polled = signal_and_wait();
  std::get<Signal>(written.operations[0].work).path = SignalPath::stream_write;
  std::get<Wait>(polled.operations[1].work).path = WaitPath::stream_memory_operation;
  EXPECT_NE(refusal(written).find("signal path stream_write"), std::string::npos);
  EXPECT_NE(refusal(polled).find("wait path stream_memory_operation"), std::string::npos);
}

TEST(Support, RefusesAWaitForAPartOfWhatSeveralRanksAdd) {
  Schedule schedule = signal_and_wait();
  schedule.operations.insert(schedule.operations.begin(), {"second", 0, {}, Signal{0, 2}});
  EXPECT_NE(refusal(schedule).find("a wait for a part of what several ranks add"), std::string::npos);
  Schedule whole = schedule;
  std::get<Wait>(whole.operations.back().work).value = 2;
  EXPECT_EQ(refusal(whole), "");
  std::get<Signal>(schedule.operations[0].work).place = 1 - schedule.gpus;
  EXPECT_EQ(refusal(schedule), "") << "rank - 3 of 4 is rank + 1";
}

TEST(Support, RefusesAnEagerWaitThatIsLaunchedBeforeItsSignal) {
  Schedule schedule = signal_and_wait();
  std::swap(schedule.operations[0], schedule.operations[1]);
  EXPECT_EQ(refusal(schedule), "") << "in a graph";
  schedule.launch = Launch::eager;
  EXPECT_NE(refusal(schedule).find("launched before a signal"), std::string::npos);
}

TEST(Support, RefusesSeveralWaitsThatResetOneCounter) {
  Schedule schedule = signal_and_wait();
  schedule.counters[0].reset_by_wait = true;
  EXPECT_EQ(refusal(schedule), "");
  schedule.operations.push_back({"second wait", 0, {}, Wait{0, 1}});
  EXPECT_NE(refusal(schedule).find("several waits that reset it"), std::string::npos);
}

/// As signal_and_wait(), by a copy engine, and the ranks meet before.
Schedule copied_word_and_wait() {
  Schedule schedule = signal_and_wait();
  std::get<Signal>(schedule.operations[0].work).path = SignalPath::copied_word;
  schedule.counters[0].reset_by_wait = true;
  schedule.operations.push_back({"meet", 0, {}, Barrier{}});
  return schedule;
}

TEST(Support, RunsACopiedWordThatOneWaitResets) { EXPECT_EQ(refusal(copied_word_and_wait()), ""); }

TEST(Support, RefusesACopiedWordThatCouldBeLost) {
  Schedule kept = copied_word_and_wait(), added = kept, unmet = kept, second = kept;
  kept.counters[0].reset_by_wait = false;
  EXPECT_NE(refusal(kept).find("a copied word that no wait in a stream resets"), std::string::npos);
  std::get<Signal>(added.operations[0].work).add = 2;
  EXPECT_NE(refusal(added).find("a copied word that is not its only signal, of 1"), std::string::npos);
  second.operations.push_back({"again", 0, {}, Signal{0, 1}});
  EXPECT_NE(refusal(second).find("a copied word that is not its only signal, of 1"), std::string::npos);
  unmet.operations.pop_back();
  EXPECT_NE(refusal(unmet).find("a copied word in an iteration without a meeting"), std::string::npos);
}

TEST(Support, RefusesAGemmThatIsNeitherBf16NorFp8) {
  Schedule schedule = schedule_of(gemm());
  schedule.buffers[0].dtype = schedule.buffers[1].dtype = DataType::fp16;
  EXPECT_NE(refusal(schedule).find("dtype fp16"), std::string::npos);
}

TEST(Support, CopiesBetweenGpusNeedPeerAccess) {
  Machine machine;
  const Schedule local = schedule_of(gemm()), remote = signal_and_wait();
  EXPECT_TRUE(is_runnable(local, machine) && is_runnable(remote, machine));
  machine.fabric.peer_access = false;
  EXPECT_TRUE(is_runnable(local, machine));
  EXPECT_FALSE(is_runnable(remote, machine));
}

TEST(Support, NothingRunsWhereThereIsNoCuda) {
  Machine machine;
  machine.runtime = Runtime::rocm;
  EXPECT_FALSE(is_runnable(schedule_of(gemm()), machine));
}

TEST(Support, RefusesAnEmptySchedule) {
  Schedule schedule = schedule_of(gemm());
  schedule.operations.clear();
  EXPECT_FALSE(is_runnable(schedule));
}

}  // namespace hardware_support_test
}  // namespace weft
