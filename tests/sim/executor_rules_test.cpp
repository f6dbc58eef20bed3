// The simulator keeps the rules of every executor.
#include "models/execution/executor_rules.hpp"

#include <gmock/gmock.h>

#include "models/check/check.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::sim {
namespace executor_rules_test {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Schedule built(scenarios::PairOp op, scenarios::Family family) {
  return scenarios::families::build({.id = "rules",
                                     .gpus = 4,
                                     .workload = scenarios::PairWorkload{.op = op, .m = 8192, .n = 4096, .k = 2048},
                                     .schedule = {std::move(family)},
                                     .measured = {}},
                                    h200());
}

TEST(SimulatedExecutor, KeepsTheRulesOfExecutors) {
  SimulatedExecutor executor;
  check(schedule_for_rules());
  EXPECT_THAT(broken_rules(executor, h200()), IsEmpty());
}

TEST(SimulatedExecutor, KeepsTheRulesOfExecutorsForFamilies) {
  SimulatedExecutor executor;
  using enum scenarios::PairOp;
  for (const Schedule& schedule :
       {built(gemm_all_reduce, scenarios::Serial{}), built(gemm_reduce_scatter, scenarios::Decomposition{2}),
        built(all_gather_gemm, scenarios::AsyncTp{}), built(all_gather_gemm, scenarios::Ficco{})})
    EXPECT_THAT(broken_rules(schedule, executor.run(schedule, h200())), IsEmpty());
}

/// The rules see what they are there for.
TEST(ExecutorRules, AreBrokenByAWrongTrace) {
  const Schedule schedule = schedule_for_rules();
  const Trace right = SimulatedExecutor().run(schedule, h200());
  const auto complaint_of = [&](const auto& change) {
    Trace wrong = right;
    change(wrong);
    return broken_rules(schedule, wrong);
  };
  EXPECT_THAT(complaint_of([](Trace& trace) { trace.time_us = 0; }), Contains(HasSubstr("an iteration takes 0")));
  EXPECT_THAT(complaint_of([](Trace& trace) { trace.time_us /= 2; }), Contains(HasSubstr("in an iteration of")));
  EXPECT_THAT(complaint_of([](Trace& trace) { trace.spans.front().operation = "other"; }),
              Contains(HasSubstr("a span of unknown operation other")));
  EXPECT_THAT(complaint_of([](Trace& trace) { trace.spans.push_back(trace.spans.front()); }),
              Contains(HasSubstr("has 2 spans")));
  EXPECT_THAT(complaint_of([](Trace& trace) { trace.spans.front().stream = "other"; }),
              Contains(HasSubstr("stands on stream other")));
}

/// The all-reduce of two GPUs, of which one starts it so much earlier: as recorded, under an iteration time of 30 us.
Trace recorded_all_reduce(double early_us, double longer_us = 0) {
  Trace trace{.source = "measured", .machine = {}, .time_us = 30, .spans = {}};
  const auto span = [&](int gpu, double start_us) {
    return Span{"all_reduce", "collective", "s", gpu, start_us, early_us + 28 + longer_us, {}, {}};
  };
  trace.spans = {span(0, early_us), span(1, 0)};
  return trace;
}

Schedule all_reduce_alone() {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"s"}};
  schedule.buffers = {{.name = "x", .rows = 64, .columns = 64, .layout = {}}};
  const Slice x{0, 0, RowRange{0, 64}, 0, 64};
  schedule.operations = {{"all_reduce", 0, {}, Collective{.input = x, .output = x}}};
  return schedule;
}

TEST(ExecutorRules, LetAGpuThatStartsARecordedIterationEarlyWaitForTheOthers) {
  EXPECT_THAT(broken_rules(all_reduce_alone(), recorded_all_reduce(0)), IsEmpty());
  EXPECT_THAT(broken_rules(all_reduce_alone(), recorded_all_reduce(44)), IsEmpty());
}

TEST(ExecutorRules, MissNoSpanOfWhatHasNothingToDo) {
  Schedule schedule = all_reduce_alone();
  const Trace nothing{.source = "measured", .machine = {}, .time_us = 30, .spans = {}};
  EXPECT_THAT(broken_rules(schedule, nothing), ElementsAre(HasSubstr("has 0 spans on GPU 0")));
  schedule.gpus = 1;
  EXPECT_THAT(broken_rules(schedule, nothing), IsEmpty());
  std::get<Collective>(schedule.operations[0].work).kind = CollectiveKind::all_gather;
  EXPECT_THAT(broken_rules(schedule, nothing), ElementsAre(HasSubstr("has 0 spans on GPU 0")));
}

TEST(ExecutorRules, LetTheProfilerDelayEachSpan) {
  Trace trace = recorded_all_reduce(0);
  trace.time_us = 20;
  EXPECT_THAT(broken_rules(all_reduce_alone(), trace), IsEmpty());
  trace.time_us = 19;
  EXPECT_THAT(broken_rules(all_reduce_alone(), trace),
              ElementsAre(HasSubstr("spans over 28"), HasSubstr("spans over 28")));
}

TEST(ExecutorRules, FindSpansOfTwoIterationsWhoeverStartsEarly) {
  for (const double early_us : {0., 44.})
    EXPECT_THAT(broken_rules(all_reduce_alone(), recorded_all_reduce(early_us, 30)),
                ElementsAre(HasSubstr("spans over 58"), HasSubstr("spans over 58")));
}

TEST(ExecutorRules, LetNobodyWaitWhereRanksDoNotMeet) {
  Schedule schedule = all_reduce_alone();
  schedule.operations[0].work = Delay{};
  Trace trace = recorded_all_reduce(44);
  for (Span& span : trace.spans) span.kind = "delay";
  EXPECT_THAT(broken_rules(schedule, trace), ElementsAre(HasSubstr("spans over 72")));
}

}  // namespace executor_rules_test
}  // namespace weft::sim
