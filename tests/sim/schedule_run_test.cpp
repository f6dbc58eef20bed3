// Streams, points, counters and barriers of hand-made schedules.
#include "sim/schedule_run.hpp"

#include <gmock/gmock.h>

#include "models/check/schedule_file.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim {
namespace schedule_run_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Schedule schedule_of(int gpus, std::vector<Stream> streams, std::vector<Counter> counters,
                     std::vector<Operation> operations) {
  Schedule schedule;
  schedule.name = "by hand";
  schedule.gpus = gpus;
  schedule.streams = std::move(streams);
  schedule.counters = std::move(counters);
  schedule.operations = std::move(operations);
  return schedule;
}

Trace run(const Schedule& schedule) { return SimulatedExecutor().run(schedule, test_machine()); }

const Span& span(const Trace& trace, const std::string& operation, int gpu = 0) {
  for (const Span& one : trace.spans)
    if (one.operation == operation && one.gpu == gpu) return one;
  throw std::out_of_range(operation);
}

// Latencies of the test machine: kernel gap 1, fork gap 2, graph gap 3, barrier 3, signal 1 us.

TEST(Activity, TheLastOneEndsItsIteration) {
  Engine engine;
  Iteration iteration{.begin = {}, .end = {}, .operations_left = 2};
  Activity first, second;
  first.part_of = second.part_of = &iteration;
  second.finish(engine);
  EXPECT_TRUE(second.end.has_happened());
  EXPECT_FALSE(iteration.end.has_happened());
  first.finish(engine);
  EXPECT_TRUE(iteration.end.has_happened());
}

TEST(ScheduleRun, StreamRunsItsOperationsInOrderWithGaps) {
  const Trace trace = run(schedule_of(1, {{"s"}}, {}, {{"a", 0, {}, Delay{10}}, {"b", 0, {}, Delay{20}}}));
  EXPECT_DOUBLE_EQ(span(trace, "b").start_us, 10 + 1);
  EXPECT_DOUBLE_EQ(trace.time_us, 10 + 1 + 20 + 3);
}

TEST(ScheduleRun, StreamsRunSideBySide) {
  const Trace trace = run(schedule_of(1, {{"s"}, {"t"}}, {}, {{"a", 0, {}, Delay{10}}, {"b", 1, {}, Delay{20}}}));
  EXPECT_DOUBLE_EQ(span(trace, "b").start_us, 1);
  EXPECT_DOUBLE_EQ(trace.time_us, 1 + 20 + 3);
}

TEST(ScheduleRun, AWaitThatResetsItsCounterLeavesNothingForTheNext) {
  const Trace trace = run(schedule_of(1, {{"s"}, {"t"}}, {{"c", true}},
                                      {{"first", 0, {}, Wait{0, 1, {}}},
                                       {"second", 0, {}, Wait{0, 1, {}}},
                                       {"after", 0, {}, Delay{1}},
                                       {"signal", 1, {}, Signal{0, 0, 1, {}}},
                                       {"late", 1, {}, Delay{100}},
                                       {"signal again", 1, {}, Signal{0, 0, 1, {}}}}));
  EXPECT_LT(span(trace, "first").end_us, 20);
  EXPECT_GT(span(trace, "after").start_us, 100);
}

constexpr double picosecond_us = 1e-6;

TEST(ScheduleRun, OfKernelsThatFollowOneTheFirstCreatedIsThereJustBefore) {
  const Trace trace = run(
      schedule_of(1, {{"s"}, {"t"}}, {}, {{"a", 0, {}, Delay{10}}, {"b", 0, {}, Delay{1}}, {"c", 1, {{0}}, Delay{1}}}));
  EXPECT_DOUBLE_EQ(span(trace, "b").start_us, 10 + 1);
  EXPECT_DOUBLE_EQ(span(trace, "c").start_us, 10 + 1 + picosecond_us);
}

TEST(ScheduleRun, AKernelOnAMoreUrgentStreamIsThereWithTheOneThatContinuesTheChain) {
  const Trace trace = run(schedule_of(1, {{"s"}, {"t", -1}}, {},
                                      {{"a", 0, {}, Delay{10}}, {"b", 0, {}, Delay{1}}, {"c", 1, {{0}}, Delay{1}}}));
  EXPECT_DOUBLE_EQ(span(trace, "c").start_us, 10 + 1);
}

TEST(ScheduleRun, ASignalByAKernelIsWrittenWhenTheKernelHasDoneSo) {
  Machine machine = test_machine();
  machine.latencies.signal_kernel_us = 5;
  for (const SignalPath path : {SignalPath::kernel, SignalPath::stream_write}) {
    const Trace trace = SimulatedExecutor().run(
        schedule_of(1, {{"s"}, {"t"}}, {{"c", true}},
                    {{"tell", 0, {}, Signal{.counter = 0, .path = path}}, {"hear", 1, {}, Wait{.counter = 0}}}),
        machine);
    EXPECT_DOUBLE_EQ(span(trace, "hear").end_us, path == SignalPath::kernel ? 5 + 1 : 1 + 1);
  }
}

TEST(ScheduleRun, AWordIsCopiedInTheTimeThatEveryCopyTakes) {
  Machine machine = test_machine();
  machine.copy_engines.setup_us = 7;
  machine.copy_engines.setup_spread_us = 0;
  const Signal tell{.counter = 0, .place = 1, .path = SignalPath::copied_word};
  const Trace trace = SimulatedExecutor().run(
      schedule_of(2, {{"s"}, {"t"}}, {{"c", true}}, {{"tell", 0, {}, tell}, {"hear", 1, {}, Wait{.counter = 0}}}),
      machine);
  EXPECT_DOUBLE_EQ(span(trace, "hear").end_us, 7 + 1);
}

TEST(ScheduleRun, AnEngineTurnsMoreSlowlyToTheCopyOfAnotherStream) {
  Machine machine = test_machine();
  machine.copy_engines.per_gpu = 1;
  const auto tell = [](CounterId counter) {
    return Signal{.counter = counter, .place = 1, .path = SignalPath::copied_word};
  };
  const auto last_end_us = [&](double stream_turnaround_us) {
    machine.copy_engines.stream_turnaround_us = stream_turnaround_us;
    return SimulatedExecutor()
        .run(schedule_of(2, {{"s"}, {"t"}, {"u"}}, {{"c", true}, {"d", true}},
                         {{"c", 0, {}, tell(0)},
                          {"d", 1, {}, tell(1)},
                          {"hear c", 2, {}, Wait{.counter = 0}},
                          {"hear d", 2, {}, Wait{.counter = 1}}}),
             machine)
        .time_us;
  };
  EXPECT_DOUBLE_EQ(last_end_us(3) - last_end_us(0), 3);
}

TEST(ScheduleRun, AKernelThatWaitsLooksWhenItHasBegunTo) {
  Machine machine = test_machine();
  machine.latencies.wait_kernel_us = 3;
  for (const WaitPath path : {WaitPath::spinning_kernel, WaitPath::stream_memory_operation}) {
    const Trace trace = SimulatedExecutor().run(
        schedule_of(1, {{"s"}}, {{"c", true}},
                    {{"tell", 0, {}, Signal{.counter = 0}}, {"hear", 0, {}, Wait{.counter = 0, .path = path}}}),
        machine);
    EXPECT_DOUBLE_EQ(span(trace, "hear").end_us - span(trace, "hear").start_us,
                     path == WaitPath::spinning_kernel ? 3 + 1 : 1);
  }
}

TEST(ScheduleRun, ACollectiveOfTheLibraryThatLeavesTheChainStartsLater) {
  Machine machine = test_machine();
  machine.direct_collectives = DirectCollectives{
      .one_shot = {}, .two_shot = DirectCollective{.ctas = 4, .cta_GBps = 10, .port_GBps = 100}, .multimem = {}};
  const Slice whole{.buffer = 0, .rows = RowRange{0, 64}, .columns = 64};
  for (const Transport transport : {Transport::nccl, Transport::peer_kernel}) {
    const Collective collective{
        .kind = CollectiveKind::all_reduce, .input = whole, .output = whole, .transport = transport};
    Schedule schedule = schedule_of(2, {{"s"}, {"t"}}, {},
                                    {{"a", 0, {}, Delay{10}}, {"b", 0, {}, Delay{1}}, {"c", 1, {{0}}, collective}});
    schedule.buffers = {{"x", 64, 64, DataType::bf16, Memory::symmetric, {}}};
    const Trace trace = SimulatedExecutor().run(schedule, machine);
    EXPECT_DOUBLE_EQ(span(trace, "c").start_us, transport == Transport::nccl ? 10 + 2 : 10 + 1 + picosecond_us);
  }
}

// Two words pass between two ranks: the last one is 1 + 1/2 times as late as one alone.
TEST(ScheduleRun, ABarrierIsPassedLaterBesideCopiesBetweenGpus) {
  Machine machine = test_machine();
  machine.latencies.barrier_beside_copies_us = 2;
  const auto meeting_us = [&](int place) {
    const Slice from{.buffer = 0, .place = place, .rows = RowRange{0, 4096}, .columns = 4096};
    Slice to = from;
    to.buffer = 1, to.place = 0;
    Schedule schedule =
        schedule_of(2, {{"s"}, {"t"}}, {},
                    {{"copy", 0, {}, Copy{from, to}}, {"later", 1, {}, Delay{20}}, {"meet", 1, {}, Barrier{}}});
    schedule.buffers = {{"x", 4096, 4096, DataType::bf16, Memory::symmetric, {}}, {"y", 4096, 4096}};
    const Trace trace = SimulatedExecutor().run(schedule, machine);
    return span(trace, "meet").end_us - span(trace, "meet").start_us;
  };
  EXPECT_NEAR(meeting_us(1) - meeting_us(0), 2 * 1.5, 0.1);
}

// 16 SMs are held for 100 us.
TEST(ScheduleRun, ACollectiveByCopyEnginesWaitsForNoSm) {
  Machine machine = test_machine();
  machine.symmetric_collectives = {{.kind = CollectiveKind::all_gather,
                                    .gpus = 2,
                                    .points = {{1 << 10, 10, 12}, {1 << 20, 20, 22}},
                                    .transport = Transport::nccl_copy_engine}};
  const Collective gather{.kind = CollectiveKind::all_gather,
                          .input = {.buffer = 0, .rows = RowRange{0, 64}, .columns = 64},
                          .output = {.buffer = 1, .rows = RowRange{0, 128}, .columns = 64},
                          .transport = Transport::nccl_copy_engine};
  Schedule schedule = schedule_of(2, {{"s"}, {"t"}}, {}, {{"hold", 0, {}, Delay{100, 16}}, {"gather", 1, {}, gather}});
  schedule.buffers = {{"x", 64, 64, DataType::bf16, Memory::symmetric, {}},
                      {"y", 128, 64, DataType::bf16, Memory::symmetric, {}}};
  const Trace trace = SimulatedExecutor().run(schedule, machine);
  EXPECT_LT(span(trace, "gather").end_us, 30);
  EXPECT_EQ(span(trace, "gather").detail, "copy engines");
}

TEST(ScheduleRun, OperationThatFollowsTheStartOfAnotherDoesNotWaitForItsEnd) {
  const Trace trace = run(schedule_of(1, {{"s"}, {"t"}}, {},
                                      {{"a", 0, {}, Delay{50}}, {"b", 1, {{0, Point::first_cta_started}}, Delay{1}}}));
  EXPECT_DOUBLE_EQ(span(trace, "b").start_us, 0 + 1 + 1) << "a gap, and a signal";
}

TEST(ScheduleRun, WaitGoesOnASignalTimeAfterItsCounter) {
  const Trace trace = run(schedule_of(1, {{"s"}, {"t"}}, {{"ready"}},
                                      {{"work", 0, {}, Delay{30}},
                                       {"tell", 0, {}, Signal{.counter = 0}},
                                       {"listen", 1, {}, Wait{.counter = 0, .value = 1}}}));
  EXPECT_DOUBLE_EQ(span(trace, "listen").end_us, 30 + 1 + 1);
}

TEST(ScheduleRun, SignalReachesThePeerItNames) {
  const Trace trace = run(schedule_of(4, {{"s"}}, {{"ready"}},
                                      {{"work", 0, {}, Delay{30}},
                                       {"tell", 0, {}, Signal{.counter = 0, .place = 1}},
                                       {"listen", 0, {}, Wait{.counter = 0, .value = 1}}}));
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_GE(span(trace, "listen", gpu).end_us, span(trace, "tell", gpu).end_us);
}

// Both signals come before the first wait looks: each wait takes one.
TEST(ScheduleRun, WaitTakesOnlyWhatItWaitedFor) {
  const Trace trace = run(schedule_of(1, {{"s"}}, {{"ready", true}},
                                      {{"one", 0, {}, Signal{.counter = 0}},
                                       {"two", 0, {}, Signal{.counter = 0}},
                                       {"first", 0, {}, Wait{.counter = 0, .value = 1}},
                                       {"second", 0, {}, Wait{.counter = 0, .value = 1}}}));
  EXPECT_DOUBLE_EQ(span(trace, "second").end_us, 5 * 1 + 0);
}

TEST(ScheduleRun, BarrierHoldsEveryRankUntilTheLastOneIsThere) {
  const Trace trace = run(
      schedule_of(3, {{"s"}}, {}, {{"work", 0, {}, Delay{7}}, {"meet", 0, {}, Barrier{}}, {"more", 0, {}, Delay{1}}}));
  for (int gpu = 0; gpu < 3; ++gpu) EXPECT_DOUBLE_EQ(span(trace, "meet", gpu).end_us, 7 + 1 + 3);
}

TEST(ScheduleRun, SpinnerInFrontOfItsOwnSignalIsADeadlockThatNamesBoth) {
  const Schedule schedule =
      schedule_of(1, {{"s"}}, {{"ready"}},
                  {{"spinner", 0, {}, Wait{.counter = 0, .value = 1}}, {"releaser", 0, {}, Signal{.counter = 0}}});
  EXPECT_THAT([&] { run(schedule); },
              ThrowsMessage<ExecutionError>(AllOf(HasSubstr("spinner"), HasSubstr("ready"), HasSubstr("releaser"))));
}

TEST(ScheduleRun, TwoStreamsThatWaitForEachOtherAreADeadlockThatNamesBoth) {
  const Schedule schedule = schedule_of(1, {{"s"}, {"t"}}, {{"x"}, {"y"}},
                                        {{"s_waits", 0, {}, Wait{.counter = 1, .value = 1}},
                                         {"s_tells", 0, {}, Signal{.counter = 0}},
                                         {"t_waits", 1, {}, Wait{.counter = 0, .value = 1}},
                                         {"t_tells", 1, {}, Signal{.counter = 1}}});
  EXPECT_THAT([&] { run(schedule); }, ThrowsMessage<ExecutionError>(AllOf(HasSubstr("s_waits"), HasSubstr("t_waits"))));
}

// Streams 0 and 4 share one of 4 queues: c, enqueued behind b, which waits 50 us for a, cannot start before b.
TEST(ScheduleRun, StreamsThatShareAHardwareQueueHoldEachOtherBack) {
  Schedule schedule = schedule_of(1, {{"s0"}, {"s1"}, {"s2"}, {"s3"}, {"s4"}}, {},
                                  {{"a", 1, {}, Delay{50}}, {"b", 0, {{0}}, Delay{1}}, {"c", 4, {}, Delay{1}}});
  schedule.launch = Launch::eager;
  const Trace shared = run(schedule);
  EXPECT_GE(span(shared, "c").start_us, span(shared, "a").end_us);
  schedule.operations[2].stream = 3;
  const Trace apart = run(schedule);
  EXPECT_LT(span(apart, "c").start_us, span(apart, "a").end_us);
}

TEST(ScheduleRun, EagerLaunchIsPacedByTheHost) {
  Schedule schedule = schedule_of(1, {{"s"}}, {}, {});
  schedule.launch = Launch::eager;
  for (int i = 0; i < 5; ++i) schedule.operations.push_back({"d" + std::to_string(i), 0, {}, Delay{0.5}});
  EXPECT_NEAR(run(schedule).time_us, 5 * 4, 1e-9);  // 4 us of host time for each
}

TEST(ScheduleRun, HandWrittenSchedulesSimulate) {
  for (const char* name : {"async_tp_all_gather_gemm", "flashoverlap_gemm_reduce_scatter", "ficco_uniform_fused_2d"}) {
    const Schedule schedule = read_schedule(tests::source_folder() + "/tests/schedules/" + name + ".json");
    const Trace trace = run(schedule);
    EXPECT_EQ(trace.spans.size(), schedule.operations.size() * static_cast<std::size_t>(schedule.gpus)) << name;
    for (const Span& one : trace.spans) {
      EXPECT_GE(one.end_us, one.start_us) << name << ": " << one.operation;
      EXPECT_LE(one.end_us, trace.time_us) << name << ": " << one.operation;
    }
  }
}

TEST(ScheduleRun, TimesThatNobodyWaitsForEndInAnError) {
  std::vector<Operation> delays;
  for (int id = 0; id < 2400; ++id) delays.push_back({"delay " + std::to_string(id), 0, {}, Delay{1e9}});
  EXPECT_THAT([&] { run(schedule_of(1, {{"s"}}, {}, delays)); },
              ThrowsMessage<InputError>(HasSubstr("expected a schedule of at most 27 days")));
  delays.resize(2000);
  EXPECT_NEAR(run(schedule_of(1, {{"s"}}, {}, delays)).time_us, 2e12, 1e9);
}

TEST(ScheduleRun, NobodyHoldsMoreSmsThanThereAre) {
  EXPECT_THAT(
      [&] {
        run(schedule_of(1, {{"s"}}, {}, {{"hold", 0, {}, Delay{1, 17}}}));
      },
      ThrowsMessage<InputError>("hold.held_sms: expected at most the 16 SMs of a GPU, got 17"));
  EXPECT_THAT(
      [&] {
        run(schedule_of(1, {{"s"}}, {{"ready"}},
                        {{"signal", 0, {}, Signal{0, 0, 1, SignalPath::kernel}},
                         {"wait", 0, {}, Wait{0, 1, WaitPath::spinning_kernel, 17}}}));
      },
      ThrowsMessage<InputError>(HasSubstr("wait.held_sms")));
}

}  // namespace schedule_run_test
}  // namespace weft::sim
