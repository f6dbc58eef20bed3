#include "calibration/fitting/signal_times.hpp"

#include <gmock/gmock.h>

#include "calibration/evidence/calibration_plan.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/settle.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::fitting {
namespace signal_times_test {

using testing::DoubleNear, testing::ElementsAre, testing::IsEmpty, testing::Optional;

KernelRecord record(const std::string& operation, const std::string& kernel, int gpu, double start_us, double end_us) {
  KernelRecord result;
  result.operation = operation;
  result.launch.kernel = kernel;
  result.gpu = gpu;
  result.start_us = start_us;
  result.end_us = end_us;
  return result;
}

/// Each of two ranks raises the other's counter, once or by two operations, and waits for its own.
Schedule crossing(int signals) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{}, {}};
  schedule.counters = {{.name = "there"}};
  for (int i = 0; i < signals; ++i)
    schedule.operations.push_back(
        {.name = "flag " + std::to_string(i), .after = {}, .work = Signal{.counter = 0, .place = 1}});
  schedule.operations.push_back(
      {.name = "there", .stream = 1, .after = {}, .work = Wait{.counter = 0, .value = signals}});
  return schedule;
}

TEST(SignalTimes, OfASignalThatIsWaitedForAreFromItsStart) {
  SignalSamples samples;
  add_signals(samples, crossing(1),
              {record("flag 0", "signal_kernel", 0, 20, 23), record("flag 0", "signal_kernel", 1, 30, 33),
               record("there", "wait_kernel", 0, 5, 33.5), record("there", "wait_kernel", 1, 40, 42)});
  EXPECT_THAT(samples.sent_us, ElementsAre(3.5));   // rank 0 waits for rank 1
  EXPECT_THAT(samples.found_us, ElementsAre(2.0));  // rank 1 finds what rank 0 has sent
  EXPECT_THAT(samples.seen_us, IsEmpty());
}

TEST(SignalTimes, OfSeveralSignalsTheLastCounts) {
  SignalSamples samples;
  const KernelRecord first = record("flag 0", "signal_kernel", 1, 10, 13),
                     second = record("flag 1", "signal_kernel", 1, 30, 33);
  const auto add = [&](double start_us, double end_us) {
    add_signals(samples, crossing(2), {first, second, record("there", "wait_kernel", 0, start_us, end_us)});
  };
  add(20, 33.2);  // the first one is there already
  EXPECT_THAT(samples.sent_us, ElementsAre(DoubleNear(3.2, 1e-9)));
  add(31, 34);  // begins while the last one is on its way: tells neither
  EXPECT_EQ(samples.sent_us.size(), 1u);
  EXPECT_THAT(samples.found_us, IsEmpty());
  add_signals(samples, crossing(2), {first, record("there", "wait_kernel", 0, 40, 42)});  // one was not recorded
  EXPECT_THAT(samples.found_us, IsEmpty());
}

// The wait's own kernel is the last of its operation's: those before it wait for tiles.
TEST(SignalTimes, OfAWaitAreThoseOfItsLastKernel) {
  SignalSamples samples;
  add_signals(samples, crossing(1),
              {record("flag 0", "signal_kernel", 1, 30, 33), record("there", "wait_kernel", 0, 5, 20),
               record("there", "wait_kernel", 0, 21, 33)});
  EXPECT_THAT(samples.sent_us, ElementsAre(3.0));
}

TEST(SignalTimes, OfTileGroupsAreFromTheGemmsEnd) {
  SignalSamples samples;
  const KernelRecord gemm = record("gemm", "own_gemm_kernel", 0, 0, 100);
  add_tile_groups(samples,
                  {record("wait 0", "wait_kernel", 0, 0, 50), record("wait 1", "wait_kernel", 0, 50, 100.5), gemm});
  EXPECT_THAT(samples.seen_us, ElementsAre(0.5));
  add_tile_groups(samples,
                  {record("wait 0", "wait_kernel", 0, 0, 50), record("wait 1", "wait_kernel", 0, 97, 101), gemm});
  add_tile_groups(samples, {record("wait 0", "wait_kernel", 0, 0, 50)});
  add_tile_groups(samples, {record("wait 0", "wait_kernel", 0, 0, 50), gemm, gemm});
  EXPECT_EQ(samples.seen_us.size(), 1u) << "where it began late, there is no GEMM, or there are two";
}

TEST(SignalTimes, AreWhatIsLeftBesideTheSignal) {
  SignalSamples samples{.seen_us = {-0.5, 0.5, 0.7}, .sent_us = {3, 3.5, 9}, .found_us = {2, 2, 0.1}};
  SignalTimes times = signal_times(samples, 7);
  EXPECT_THAT(times.signal_us, Optional(0.5));
  EXPECT_THAT(times.signal_kernel_us, Optional(3.0));
  EXPECT_THAT(times.wait_kernel_us, Optional(1.5));
  samples.seen_us = {-0.3};
  EXPECT_THAT(signal_times(samples, 7).signal_us, Optional(0.0));
  samples.seen_us.clear();
  times = signal_times(samples, 1);
  EXPECT_EQ(times.signal_us, std::nullopt);
  EXPECT_THAT(times.signal_kernel_us, Optional(2.5));
  samples.found_us.clear();
  EXPECT_EQ(signal_times(samples, 1).wait_kernel_us, std::nullopt);
}

/// What CUPTI would say of one iteration.
std::vector<KernelRecord> recorded(const Trace& trace) {
  std::vector<KernelRecord> kernels;
  for (const Span& span : trace.spans)
    kernels.push_back(record(span.operation, span.kind == "gemm" ? "own_gemm_kernel" : span.kind + "_kernel", span.gpu,
                             span.start_us, span.end_us));
  return kernels;
}

TEST(SignalTimes, OfThePlanAreThoseOfTheMachineThatRanIt) {
  Machine machine = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  machine.latencies.start_skew_us = 0;
  machine.latencies.signal_us = 0.4, machine.latencies.signal_kernel_us = 2.7, machine.latencies.wait_kernel_us = 1.6;
  for (const evidence::PlanFile& file : evidence::calibration_plan(1, {2, 4})) {
    if (!file.name.starts_with("signals")) continue;
    SignalSamples samples;
    for (const scenarios::Case& request : file.cases) {
      sim::SimulatedExecutor executor;
      const auto [settled, schedule, trace] = scenarios::study::settle(request, machine, executor);
      const std::vector<KernelRecord> kernels = recorded(trace);
      if (std::holds_alternative<scenarios::Signaling>(request.schedule.family))
        add_tile_groups(samples, kernels);
      else
        add_signals(samples, schedule, kernels);
    }
    for (const auto* all : {&samples.seen_us, &samples.sent_us, &samples.found_us})
      EXPECT_GE(all->size(), 8u) << file.name;
    const SignalTimes times = signal_times(samples, 0);
    EXPECT_THAT(times.signal_us, Optional(DoubleNear(0.4, 0.3))) << file.name;
    EXPECT_THAT(times.signal_kernel_us, Optional(DoubleNear(3.1 - *times.signal_us, 0.1))) << file.name;
    EXPECT_THAT(times.wait_kernel_us, Optional(DoubleNear(2.0 - *times.signal_us, 0.1))) << file.name;
  }
}

}  // namespace signal_times_test
}  // namespace weft::calibration::fitting
