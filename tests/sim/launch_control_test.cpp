// Does a late communication kernel find SMs? The files of scenarios/launch_control, on the H200 profile: one all-to-all
// beside one attention, starved and cured; and schedules that deadlock.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/check/schedule_file.hpp"
#include "models/check/validation.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/schedule_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim {
namespace launch_control_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

const std::string folder = tests::source_folder() + "/scenarios/launch_control/";

const Machine& h200() {
  static const Machine machine = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  return machine;
}

Schedule file(const std::string& name) { return read_schedule(folder + name + ".json"); }

struct Times {
  double attention_start_us = 0, attention_end_us = 0, exchange_start_us = 0, exchange_end_us = 0, total_us = 0;
  /// It starts when SMs of the attention's last wave come free.
  bool starves() const { return exchange_start_us > 0.9 * attention_end_us; }
  bool overlaps() const { return exchange_end_us < attention_end_us && attention_start_us < exchange_end_us; }
};

Times times_of(const Schedule& schedule) {
  const Trace trace = SimulatedExecutor().run(schedule, h200());
  Times times{.total_us = trace.time_us};
  for (const Span& span : trace.spans) {
    if (span.gpu != 0) continue;
    if (span.operation == "attention") times.attention_start_us = span.start_us, times.attention_end_us = span.end_us;
    if (span.operation == "all_to_all") times.exchange_start_us = span.start_us, times.exchange_end_us = span.end_us;
  }
  return times;
}
Times times_of(const std::string& name) { return times_of(file(name)); }

TEST(LaunchControl, PersistentKernelStarvesALateCollective) { EXPECT_TRUE(times_of("starved").starves()); }

TEST(LaunchControl, GridStarvesItToo) { EXPECT_TRUE(times_of("starved_grid").starves()); }

TEST(LaunchControl, MarginOfSmsLetsItRunBeside) {
  const Times starved = times_of("starved"), cured = times_of("sm_margin");
  EXPECT_TRUE(cured.overlaps());
  EXPECT_LT(cured.total_us, starved.total_us);
}

/// With 4 SMs for 16 channels.
TEST(LaunchControl, MarginBelowTheCollectivesSmsLetsItRunInTurns) {
  Schedule schedule = file("sm_margin");
  for (Operation& operation : schedule.operations)
    if (auto* attention = std::get_if<Attention>(&operation.work)) attention->max_sms = 116;
  const Times narrow = times_of("sm_margin"), whole = times_of(schedule);
  EXPECT_GT(narrow.exchange_end_us - narrow.exchange_start_us, 2 * (whole.exchange_end_us - whole.exchange_start_us));
  EXPECT_GT(whole.attention_end_us, 1.05 * narrow.attention_end_us);  // and what the wide margin costs
}

TEST(LaunchControl, PriorityHelpsAtTheNextCtaOfAGrid) {
  const Times cured = times_of("priority");
  EXPECT_TRUE(cured.overlaps());
  EXPECT_GT(cured.exchange_start_us, cured.attention_start_us);
}

TEST(LaunchControl, PriorityDoesNotHelpAgainstAPersistentKernel) {
  EXPECT_TRUE(times_of("priority_persistent").starves());
}

TEST(LaunchControl, LaunchingFirstDoesNotHelpWhatIsReadyLater) { EXPECT_TRUE(times_of("launched_first").starves()); }

TEST(LaunchControl, KernelBarrierHoldsTheComputeKernelUntilTheOtherHasStarted) {
  const Times cured = times_of("kernel_barrier");
  EXPECT_TRUE(cured.overlaps());
  EXPECT_GE(cured.attention_start_us, cured.exchange_start_us);
}

TEST(LaunchControl, OneConnectionStartsKernelsInLaunchOrder) {
  const Times cured = times_of("one_connection");
  EXPECT_TRUE(cured.overlaps());
  EXPECT_GE(cured.attention_start_us, cured.exchange_start_us);
}

TEST(LaunchControl, ConnectionsOnlyMatterWhereStreamsShareOne) {
  Schedule schedule = file("one_connection");
  schedule.max_connections = 2;
  EXPECT_TRUE(times_of(schedule).starves());
  EXPECT_EQ(times_of(schedule).total_us, times_of("launched_first").total_us);
}

TEST(LaunchControl, ClusterNeedsItsSmsInOneGpc) {
  EXPECT_TRUE(times_of("large_clusters").starves());
  EXPECT_FALSE(times_of("small_clusters").starves());
}

TEST(LaunchControl, ClusterThatNoGpcHoldsIsRefused) {
  Schedule schedule = file("large_clusters");
  for (Operation& operation : schedule.operations)
    if (auto* collective = std::get_if<Collective>(&operation.work)) collective->cluster = 20;
  EXPECT_THAT(error_of([&] { times_of(schedule); }), HasSubstr("all_to_all.cluster: expected room for"));
}

TEST(LaunchControl, BranchesOfAGraphShareAQueueOrHaveTheirOwn) {
  Schedule schedule = file("one_connection");
  schedule.launch = Launch::graph;
  EXPECT_EQ(error_of([&] { validate(schedule); }), "");
  schedule.counters = {{"ready"}};
  EXPECT_THAT(error_of([&] { validate(schedule); }),
              StartsWith("max_connections: expected 2 for a graph with counters"));
  schedule.max_connections = 4;
  EXPECT_THAT(error_of([&] { validate(schedule); }), StartsWith("max_connections: expected 1 or 2 for a graph"));
  schedule.launch = Launch::eager;
  schedule.max_connections = 33;
  EXPECT_THAT(error_of([&] { validate(schedule); }), StartsWith("max_connections: expected 1 to 32 queues, got 33"));
}

// --- Deadlocks ----------------------------------------------------------------------------------------------------

TEST(Deadlock, WaitInFrontOfItsOwnSignalIsRefused) {
  EXPECT_THAT(error_of([] { file("deadlock_stream_order"); }),
              HasSubstr("operations[0]: expected no deadlock, but \"wait\" on stream \"compute\" waits for counter "
                        "\"ready\" to reach 1, it stays at 0 until \"ready\" adds to it; \"ready\" comes after "
                        "\"wait\" on its stream"));
}

TEST(Deadlock, RanksThatWaitForOneAnotherAreRefused) {
  EXPECT_THAT(error_of([] { file("deadlock_cross_rank"); }),
              HasSubstr("until \"send\" of rank - 1 adds to it; \"send\" comes after \"wait\" on its stream"));
}

TEST(Deadlock, QueueThatHoldsBackTheSignalIsRefused) {
  EXPECT_THAT(
      error_of([] { file("deadlock_one_connection"); }),
      HasSubstr("until \"ready\" adds to it; \"ready\" on stream \"communication\" stands behind \"consume\" in "
                "one of the 1 hardware queues; \"consume\" comes after \"wait\" on its stream"));
}

TEST(Deadlock, SecondQueueFreesIt) {
  Schedule schedule = schedule_from_json(read_json_file(folder + "deadlock_one_connection.json"));
  schedule.max_connections = 2;
  EXPECT_EQ(error_of([&] { validate(schedule); }), "");
  EXPECT_GT(SimulatedExecutor().run(schedule, h200()).time_us, 0);
}

TEST(Deadlock, MachineWithOneQueueIsFoundWhileSimulating) {
  Schedule schedule = schedule_from_json(read_json_file(folder + "deadlock_one_connection.json"));
  schedule.max_connections = 0;
  Machine machine = h200();
  machine.gpu.hardware_queues = 1;
  EXPECT_THAT([&] { SimulatedExecutor().run(schedule, machine); },
              ThrowsMessage<ExecutionError>(
                  "a deadlock: \"wait\" waits for counter \"ready\" to reach 1, it stays at 0 until \"ready\" adds to "
                  "it; \"ready\" stands in one of the 1 hardware queues behind \"consume\"; \"consume\" follows "
                  "\"wait\""));
}

TEST(Deadlock, SpinningKernelThatLeavesItsProducerNoSmIsFoundWhileSimulating) {
  const Schedule schedule = file("deadlock_spinning");
  EXPECT_THAT([&] { SimulatedExecutor().run(schedule, h200()); },
              ThrowsMessage<ExecutionError>(
                  "a deadlock: \"wait\" waits for counter \"ready\" to reach 1, it stays at 0 until \"ready\" adds to "
                  "it; \"ready\" follows \"produce\"; \"produce\" needs SMs for 528 CTAs, held by \"wait\""));
}

TEST(Deadlock, SpinningKernelThatLeavesAnSmEnds) {
  Schedule schedule = file("deadlock_spinning");
  std::get<Wait>(schedule.operations[0].work).held_sms = 131;
  EXPECT_GT(SimulatedExecutor().run(schedule, h200()).time_us, 0);
}

TEST(Deadlock, TilesThatHoldEverySmWhileTheyWaitAreFoundWhileSimulating) {
  Schedule schedule;
  schedule.name = "GEMM that waits for a kernel";
  schedule.buffers = {{"a", 16384, 64, DataType::bf16, {}, {}},
                      {"b", 16384, 64, DataType::bf16, {}, {}},
                      {"c", 16384, 16384, DataType::bf16, {}, {}}};
  schedule.streams = {{"compute"}, {"communication"}};
  schedule.counters = {{"ready"}};
  const auto whole = [&](BufferId id) {
    const Buffer& buffer = schedule.buffers[static_cast<std::size_t>(id)];
    return Slice{id, 0, RowRange{0, buffer.rows}, 0, buffer.columns};
  };
  Gemm gemm;
  gemm.a = whole(0), gemm.b = whole(1), gemm.c = whole(2);
  gemm.kernel = GemmKernel{.scheduler = TileScheduler::static_persistent};
  gemm.waits = {{0, 0, 1}};
  schedule.operations = {{"gemm", 0, {}, gemm},
                         {"produce", 1, {}, MemoryBound{MemoryKernel::rms_norm, {whole(1)}, {whole(0)}}},
                         {"ready", 1, {}, Signal{.counter = 0}}};
  validate(schedule);
  EXPECT_THAT([&] { SimulatedExecutor().run(schedule, h200()); },
              ThrowsMessage<ExecutionError>(HasSubstr("\"produce\" needs SMs for")));
  std::get<Gemm>(schedule.operations[0].work).max_sms = 120;
  EXPECT_GT(SimulatedExecutor().run(schedule, h200()).time_us, 0);
  std::get<Gemm>(schedule.operations[0].work).max_sms = 0;
  schedule.operations[1].work = MemoryBound{MemoryKernel::partial_sum, {whole(1)}, {whole(0)}};
  EXPECT_GT(SimulatedExecutor().run(schedule, h200()).time_us, 0) << "CTAs of sums fit beside those of our GEMM";
}

TEST(Deadlock, WaitsThatHoldSmsOnlyLookAtTheirCounter) {
  Schedule schedule = file("deadlock_spinning");
  schedule.counters[0].reset_by_wait = true;
  EXPECT_EQ(error_of([&] { validate(schedule); }),
            "operations[0].wait.held_sms: expected 0, since the wait resets counter \"ready\"");
  schedule.counters[0].reset_by_wait = false;
  std::get<Wait>(schedule.operations[0].work).path = WaitPath::stream_memory_operation;
  EXPECT_EQ(error_of([&] { validate(schedule); }),
            "operations[0].wait.held_sms: expected 0: only a spinning kernel holds SMs");
}

}  // namespace launch_control_test
}  // namespace weft::sim
