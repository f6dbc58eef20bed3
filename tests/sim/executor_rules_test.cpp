// The simulator keeps the rules of every executor.
#include "models/execution/executor_rules.hpp"

#include <gmock/gmock.h>

#include "models/check/check.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::sim {
namespace {

using testing::Contains;
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

}  // namespace
}  // namespace weft::sim
