// Schedules whose time on the test machine follows from a formula.
#include <gmock/gmock.h>

#include "models/cost/gemm_model.hpp"
#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace closed_forms_test {

using namespace scenarios;

constexpr double rounding_us = 0.005;  // ends fall on whole nanoseconds

Schedule schedule_of(const Workload& workload, int gpus, const ScheduleChoice& choice = {}) {
  return scenarios::families::build(
      {.id = "case", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}}, test_machine());
}

Machine unlimited_power() {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  return machine;
}

double time_us(const Workload& workload, int gpus, const ScheduleChoice& choice = {}) {
  return SimulatedExecutor().run(schedule_of(workload, gpus, choice), unlimited_power()).time_us;
}

// 4096 x 2048 in tiles of 128 x 128: 512 on 16 SMs, 32 waves. A tile takes 16 k steps of
// 2 x 128 x 128 x 64 / (4.096e6 x 0.8) = 0.64 us; the last of a wave 5 % more. Once: 3 us to reset the tile counter, 1
// us of kernel overhead, one epilogue of 128 x 128 x 1e-4 us, 3 us between graphs. Loads are so much shorter than a
// step that they add less than a thousandth (eighth powers).
TEST(ClosedForm, LoneGemmIsWavesOfTiles) {
  const double tile_us = 16 * 0.64, epilogue_us = 128 * 128 * 1e-4;
  EXPECT_NEAR(time_us(GemmWorkload{4096, 2048, 1024}, 1), 3 + 32 * tile_us + 0.05 * tile_us + 1 + epilogue_us + 3,
              1e-3 * 32 * tile_us);
}

// 64 rows: 1 MiB each of a and c beside 8192 x 8192 weights, 128 MiB of bf16 or 4.25 bits each, from a memory so slow
// that nothing else counts.
TEST(ClosedForm, PackedWeightsComeFromMemoryAsTheyAreStored) {
  Machine machine = unlimited_power();
  machine.gpu.hbm_GBps = 10;
  machine.gpu.l2_bytes = 1;
  constexpr double mebibyte = 1 << 20;
  for (const double bits : {0.0, 4.25}) {
    const GemmWorkload gemm{.m = 64, .n = 8192, .k = 8192, .weight_bits = bits};
    const double weight_bytes = 64 * mebibyte * (bits > 0 ? bits / 8 : 2);
    EXPECT_NEAR(SimulatedExecutor().run(schedule_of(gemm, 1), machine).time_us, (2 * mebibyte + weight_bytes) / 1e4,
                0.01 * weight_bytes / 1e4)
        << bits;
  }
}

double attention_us(std::int64_t tokens, int sequences, std::int64_t cached, const Machine& machine) {
  constexpr int heads = 8, kv_heads = 1, head_dim = 128;
  Schedule schedule;
  schedule.name = "attention";
  schedule.gpus = 1;
  schedule.streams = {{"s0", 0}};
  const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    schedule.buffers.push_back({.name = name, .rows = rows, .columns = columns, .layout = {}});
  };
  add("qkv", tokens, (heads + 2 * kv_heads) * head_dim);
  add("output", tokens, heads * head_dim);
  add("cached", sequences * cached, 2 * kv_heads * head_dim);
  const auto whole = [&](BufferId id) {
    const Buffer& buffer = schedule.buffers[static_cast<std::size_t>(id)];
    return Slice{
        .buffer = id, .place = 0, .rows = RowRange{0, buffer.rows}, .first_column = 0, .columns = buffer.columns};
  };
  schedule.operations = {{"attention",
                          0,
                          {},
                          Attention{.qkv = whole(0),
                                    .output = whole(1),
                                    .heads = heads,
                                    .kv_heads = kv_heads,
                                    .head_dim = head_dim,
                                    .sequences = sequences,
                                    .cached = whole(2)}}};
  return SimulatedExecutor().run(schedule, machine).time_us;
}

// A step of decoding reads what each sequence has cached once: 2 x 128 x 2 bytes a token, 256 sequences of 4096 tokens.
// On a machine whose tensor cores take no time only these bytes count, twice as many for twice as long sequences.
TEST(ClosedForm, DecodingReadsTheCachedKeysAndValuesOnce) {
  Machine machine = unlimited_power();
  machine.gpu.tensor_flops_per_clock_per_sm *= 1e3;
  const double bytes = 256.0 * 4096 * 2 * 128 * 2;
  const double more_us = attention_us(256, 256, 8192, machine) - attention_us(256, 256, 4096, machine);
  EXPECT_NEAR(more_us, bytes / (machine.gpu.hbm_GBps * 1e3), 0.02 * more_us);
}

// Where memory is as fast as one likes, a block of 64 rows multiplies every cached key: 4 x 64 x 128 flops each, on 16
// SMs. The eight heads that share keys are one block, so that eight sequences of 4096 tokens leave 16 splits.
TEST(ClosedForm, DecodingMultipliesBlocksOfTheHeadsThatShareKeys) {
  Machine machine = unlimited_power();
  machine.gpu.hbm_GBps = machine.gpu.l2_GBps = machine.gpu.l2_unique_GBps = 1e9;
  const double flops = 16.0 * 4096 * 4 * 64 * 128;
  const double flops_per_us = 16 * machine.gpu.flops_per_us_of_sm() * machine.other_kernels.attention_efficiency;
  const double more_us = attention_us(16, 16, 8192, machine) - attention_us(16, 16, 4096, machine);
  EXPECT_NEAR(more_us, flops / flops_per_us, 0.02 * more_us);
}

/// The GEMM of a serial schedule beside a delay that holds SMs and was there first, both from the start.
double time_beside_held_us(const GemmWorkload& workload, int held_sms, double held_us) {
  Schedule schedule = schedule_of(workload, 1);
  schedule.meaning.reset();
  schedule.streams.push_back({"holder", -1});
  schedule.operations.insert(schedule.operations.begin(),
                             {"hold", 1, {}, Delay{.time_us = held_us, .held_sms = held_sms}});
  return SimulatedExecutor().run(schedule, unlimited_power()).time_us;
}

// 16 SMs and 32 tiles, two to each CTA by position: eight held SMs keep eight CTAs back, who then have both to do; on
// the SMs of those that are done, where these come free earlier.
TEST(ClosedForm, StaticCtasThatComeLateHaveTheirWholeShareToDo) {
  const GemmWorkload two_waves{1024, 512, 4096};
  const double alone_us = time_us(two_waves, 1);
  const double two_tiles_us = 2 * 64 * 0.64;
  EXPECT_NEAR(time_beside_held_us(two_waves, 8, 10), alone_us + 10, 3);
  EXPECT_NEAR(time_beside_held_us(two_waves, 8, 1.5 * two_tiles_us), alone_us + two_tiles_us, 3);
}

// 512 tiles handed out by a counter: SMs that are held for a while cost their share of it, and at most a tile more.
TEST(ClosedForm, DynamicCtasShareWhatLateOnesLeave) {
  const GemmWorkload many_waves{4096, 2048, 1024};
  const double alone_us = time_us(many_waves, 1), tile_us = 16 * 0.64;
  const double held_us = 5 * tile_us, beside_us = time_beside_held_us(many_waves, 8, held_us);
  EXPECT_GT(beside_us, alone_us + held_us / 2 - tile_us);
  EXPECT_LT(beside_us, alone_us + held_us / 2 + 2 * tile_us);
}

/// The GEMM of a serial schedule on two GPUs, each of which pulls from the other all the while, or pushes to it.
double time_beside_copy_us(const GemmWorkload& workload, const Machine& machine, bool is_push = false) {
  Schedule schedule = schedule_of(workload, 2);
  const Schedule pulls = schedule_of(CopyWorkload{8'000'000, CopyPattern::one_peer}, 2);
  Copy pull = std::get<Copy>(pulls.operations.at(0).work);
  for (Slice* slice : {&pull.source, &pull.destination})
    slice->buffer += static_cast<BufferId>(schedule.buffers.size());
  if (is_push) std::swap(pull.source.place, pull.destination.place);
  schedule.buffers.insert(schedule.buffers.end(), pulls.buffers.begin(), pulls.buffers.end());
  schedule.meaning.reset();
  schedule.streams.push_back({"copies", -1});
  schedule.operations.insert(schedule.operations.begin(), {{"pull", 1, {}, pull}, {"meanwhile", 0, {}, Delay{10}}});
  for (Buffer& buffer : schedule.buffers) buffer.memory = Memory::symmetric;
  for (const Span& span : SimulatedExecutor().run(schedule, machine).spans)
    if (span.operation == "gemm") return span.end_us - span.start_us;
  return 0;
}

// Two waves of 40 us while 8 MB come in at 80 GB/s, which takes 100 us.
TEST(ClosedForm, WavesBesideACopyFromAPeerTakeLonger) {
  const GemmWorkload two_waves{1024, 512, 4096};
  Machine machine = unlimited_power();
  machine.gemm.beside_copies = 0;
  const double unharmed_us = time_beside_copy_us(two_waves, machine);
  machine.gemm.beside_copies = 0.25;
  EXPECT_NEAR(time_beside_copy_us(two_waves, machine) - unharmed_us, 0.25 * 2 * 64 * 0.64, 0.1);
}

TEST(ClosedForm, WavesBesideAPushTakeLongerByAShareOfTheirOwn) {
  const GemmWorkload two_waves{1024, 512, 4096};
  Machine machine = unlimited_power();
  machine.gemm.beside_pushes = 0;
  machine.gemm.beside_copies = 0.25;
  const double beside_pull_us = time_beside_copy_us(two_waves, machine);
  EXPECT_NEAR(time_beside_copy_us(two_waves, machine, true), beside_pull_us, 0.1);  // as a pull where nothing is said
  machine.gemm.beside_pushes = 0.4;
  EXPECT_NEAR(time_beside_copy_us(two_waves, machine), beside_pull_us, 1e-6);
  EXPECT_NEAR(time_beside_copy_us(two_waves, machine, true) - beside_pull_us, 0.15 * 2 * 64 * 0.64, 0.1);
}

// 512 x 512 with split-k 2: 32 CTAs, two waves of half of the k steps (too few for a counter), then the reduction.
TEST(ClosedForm, SplitKRunsSlicesAndThenReducesThem) {
  const double tile_us = 8192 / 2 / 64 * 0.64, epilogue_us = 128 * 128 * 1e-4;
  const double reduction_us = 1 + 512 * 512 * (4 * 2 + 2) / 1e6;
  EXPECT_NEAR(time_us(GemmWorkload{512, 512, 8192}, 1),
              2 * tile_us + 0.05 * tile_us + 1 + epilogue_us + reduction_us + 3, 1e-3 * 2 * tile_us);
}

TEST(ClosedForm, LoneCollectiveTakesItsMeasuredTime) {
  for (const CollectiveCurve& curve : test_machine().collectives)
    for (const CurvePoint& point : curve.points)
      EXPECT_NEAR(time_us(CollectiveWorkload{curve.kind, point.bytes}, curve.gpus, {Serial{}, curve.max_ctas}),
                  point.kernel_us + 3, rounding_us)
          << name_of(curve.kind) << ", " << curve.gpus << " GPUs, " << point.bytes << " bytes";
}

// Between 1 MiB and 16 MiB: linear in bytes.
TEST(ClosedForm, GraphShorterThanItsLaunchTakesItsLaunch) {
  Machine machine = test_machine();
  for (CollectiveCurve& curve : machine.collectives)
    for (CurvePoint& point : curve.points) point.alone_us = 5000;
  const scenarios::Case request{.id = "",
                                .gpus = 2,
                                .workload = scenarios::CollectiveWorkload{CollectiveKind::all_reduce, 1 << 16},
                                .schedule = {},
                                .measured = {}};
  const Trace trace = SimulatedExecutor().run(scenarios::families::build(request, machine), machine);
  EXPECT_EQ(trace.time_us, 5000);
  EXPECT_EQ(trace.limited_by, Limit::launch);
}

TEST(ClosedForm, UnderLoadMoreThanTwoRanksLaunchGraphsNoFasterThanTheirHostsCan) {
  Machine machine = test_machine();
  machine.latencies.many_ranks_graph_us = 5000;
  const auto trace_of = [&](int gpus, Condition condition) {
    machine.condition.condition = condition;
    return SimulatedExecutor().run(
        scenarios::families::build({.id = "",
                                    .gpus = gpus,
                                    .workload = scenarios::PairWorkload{PairOp::gemm_all_reduce, 512, 512, 512},
                                    .schedule = {},
                                    .measured = {}},
                                   machine),
        machine);
  };
  const Trace of_many = trace_of(4, Condition::sustained);
  EXPECT_EQ(of_many.time_us, 5000);
  EXPECT_EQ(of_many.limited_by, Limit::launch);
  EXPECT_LT(trace_of(4, Condition::after_pause).time_us, 5000);
  EXPECT_LT(trace_of(2, Condition::sustained).time_us, 5000);
}

TEST(ClosedForm, CollectiveBetweenMeasuredSizesLiesOnTheLine) {
  const auto at = [](Bytes bytes) { return time_us(CollectiveWorkload{CollectiveKind::all_reduce, bytes}, 4); };
  const Bytes low = 1 << 20, high = 1 << 24, middle = (low + high) / 2;
  EXPECT_NEAR(at(middle), (at(low) + at(high)) / 2, rounding_us);
}

// A pull of 8 MB at 80 GB/s after 2 us of set-up.
TEST(ClosedForm, LonePullTakesSetUpAndItsBytes) {
  EXPECT_NEAR(time_us(CopyWorkload{8000000, CopyPattern::one_peer}, 4), 2 + 8000000 / 80e3 + 3, rounding_us);
}

// The same the other way round, at 90 GB/s.
TEST(ClosedForm, APushHasItsOwnRate) {
  Machine machine = unlimited_power();
  machine.copy_engines.push_GBps = 90;
  Schedule schedule = schedule_of(CopyWorkload{8'000'000, CopyPattern::one_peer}, 4);
  const double pull_us = SimulatedExecutor().run(schedule, machine).time_us;
  Copy& copy = std::get<Copy>(schedule.operations.at(0).work);
  for (Buffer& buffer : schedule.buffers) buffer.memory = Memory::symmetric;
  std::swap(copy.source.place, copy.destination.place);
  schedule.meaning.reset();
  const double push_us = SimulatedExecutor().run(schedule, machine).time_us;
  EXPECT_NEAR(pull_us, 2 + 8'000'000 / 80e3 + 3, rounding_us);
  EXPECT_NEAR(push_us, 2 + 8'000'000 / 90e3 + 3, rounding_us);
}

TEST(ClosedForm, SerialPairIsTheSumOfItsPartsAndGaps) {
  const std::int64_t m = 4096, n = 2048, k = 1024;
  for (const auto& [op, kind, bytes] : {std::tuple{PairOp::gemm_all_reduce, CollectiveKind::all_reduce, m * n * 2},
                                        {PairOp::gemm_reduce_scatter, CollectiveKind::reduce_scatter, m * n * 2},
                                        {PairOp::gemm_all_to_all, CollectiveKind::all_to_all, m * n * 2},
                                        {PairOp::all_gather_gemm, CollectiveKind::all_gather, m * k * 2}}) {
    const double graph_gap_us = 3;
    const double gap_us = collective_comes_first(op) ? 1 - (3 - 2) : 1.5;  // a GEMM in second place resets faster
    const double parts_us =
        time_us(GemmWorkload{m, n, k}, 1) - graph_gap_us + time_us(CollectiveWorkload{kind, bytes}, 4) - graph_gap_us;
    EXPECT_NEAR(time_us(PairWorkload{op, m, n, k}, 4), parts_us + gap_us + graph_gap_us, rounding_us) << name_of(op);
  }
}

// The wire is the bottleneck. The second GEMM chunk is a dependency gap ahead of the first collective and holds all SMs
// until its tail: between 0 and 1 GEMM chunk is added to the first one and the transfers.
TEST(ClosedForm, LinkBoundDecompositionIsTheFirstChunksAndTheTransfers) {
  const int chunks = 4, gpus = 4;
  const std::int64_t m = 4096, n = 2048, k = 128;
  const double graph_gap_us = 3, join_gap_us = 2.5;
  const double chunk_us =
      time_us(CollectiveWorkload{CollectiveKind::all_reduce, m / chunks * n * 2}, gpus) - graph_gap_us;
  const double gemm_us = time_us(GemmWorkload{m / chunks, n, k}, 1) - graph_gap_us;
  ASSERT_LT(gemm_us, chunk_us);
  const double hidden_us = gemm_us + chunks * chunk_us + graph_gap_us;
  const double total_us = time_us(PairWorkload{PairOp::gemm_all_reduce, m, n, k}, gpus, {Decomposition{chunks}});
  EXPECT_GE(total_us, hidden_us - rounding_us);
  EXPECT_LE(total_us, hidden_us + gemm_us + chunks * join_gap_us);
}

}  // namespace closed_forms_test
}  // namespace weft::sim
