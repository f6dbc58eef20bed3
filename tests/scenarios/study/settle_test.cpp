#include "scenarios/study/settle.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "models/check/hardware_support.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/search.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::study {
namespace settle_test {

/// Gives schedules the times that the test wants, and counts how often each was run.
class CountingExecutor : public Executor {
 public:
  explicit CountingExecutor(std::function<double(const Schedule&)> time_us) : time_us_(std::move(time_us)) {}
  Trace run(const Schedule& schedule, const Machine&) override {
    schedules_.push_back(schedule);
    Trace trace;
    trace.time_us = time_us_(schedule);
    return trace;
  }
  const std::vector<Schedule>& schedules() const { return schedules_; }

 private:
  std::function<double(const Schedule&)> time_us_;
  std::vector<Schedule> schedules_;
};

const Case open_split = make_case(
    LayerWorkload{.tokens = 4096, .hidden = 64, .heads = 4, .kv_heads = 4, .head_dim = 16, .intermediate = 128}, 2,
    TokenSplit{});

TEST(Settle, RunsEveryChoiceOnceAndTakesTheFastest) {
  const std::vector<ScheduleChoice> choices = families::closed_choices(open_split, round_machine());
  ASSERT_GT(choices.size(), 2u);
  for (const ScheduleChoice& wanted : choices) {
    Case request = open_split;
    request.schedule = wanted;
    const Schedule fastest = families::build(request, round_machine());
    CountingExecutor executor([&](const Schedule& schedule) { return schedule == fastest ? 1 : 2; });
    const Settled settled = settle(open_split, round_machine(), executor);
    EXPECT_EQ(settled.request.schedule, wanted);
    EXPECT_EQ(settled.schedule, fastest);
    EXPECT_EQ(settled.trace.time_us, 1);
    EXPECT_EQ(executor.schedules().size(), choices.size());
  }
}

TEST(Settle, OfEquallyFastOnesTakesTheFirst) {
  CountingExecutor executor([](const Schedule&) { return 1; });
  EXPECT_EQ(settle(open_split, round_machine(), executor).request.schedule,
            families::closed_choices(open_split, round_machine()).front());
}

TEST(Settle, TheBestIsSoughtAmongTheFamiliesThatAreNamed) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 512, 256, 128};
  CountingExecutor serial_first([](const Schedule& schedule) { return schedule.streams.size(); });
  EXPECT_EQ(family_of(settle(make_case(pair, 2, Best{}), round_machine(), serial_first).request.schedule), "serial");
  const Best among{.among = {"decomposition", "async_tp"}};
  CountingExecutor executor([](const Schedule& schedule) { return schedule.family == "async_tp" ? 1 : 2; });
  EXPECT_EQ(family_of(settle(make_case(pair, 2, among), round_machine(), executor).request.schedule), "async_tp");
  for (const Schedule& schedule : executor.schedules()) EXPECT_NE(schedule.family, "serial");
  EXPECT_EQ(error_of([&] { settle(make_case(pair, 2, Best{.among = {"token_split"}}), round_machine(), executor); }),
            "schedule.among: expected a family that the op has, got token_split");
}

TEST(Settle, TheBestIsAsItWasAskedForInAllButTheFamily) {
  Case asked = make_case(PairWorkload{PairOp::gemm_reduce_scatter, 512, 256, 128}, 2, Best{});
  asked.schedule.urgent = false;
  asked.condition.timing.added_us = 7;
  CountingExecutor executor([](const Schedule& schedule) { return schedule.family == "decomposition" ? 1 : 2; });
  Case expected = asked;
  const Settled settled = settle(asked, round_machine(), executor);
  expected.schedule.family = settled.request.schedule.family;
  EXPECT_TRUE(std::holds_alternative<Decomposition>(settled.request.schedule.family));
  EXPECT_EQ(settled.request, expected);
  for (const Stream& stream : settled.schedule.streams) EXPECT_EQ(stream.priority, 0);
}

TEST(Settle, TheBestLeavesOutWhatCannotBeBuiltAsAsked) {
  Case asked = make_case(PairWorkload{PairOp::gemm_reduce_scatter, 512, 256, 128}, 2, Best{});
  asked.schedule.implementation = Implementation::pytorch;  // whose sums do not go round
  CountingExecutor executor([](const Schedule&) { return 1; });
  EXPECT_EQ(error_of([&] { settle(asked, round_machine(), executor); }), "");
  std::get<PairWorkload>(asked.workload).m = 511;
  EXPECT_EQ(error_of([&] { settle(asked, round_machine(), executor); }),
            "workload.m: expected a multiple of gpus = 2, got 511");
}

TEST(Settle, TheBestThatRunsLeavesOutWhatDoesNot) {
  const PairWorkload pair{PairOp::all_gather_gemm, 512, 256, 128};
  CountingExecutor executor([](const Schedule&) { return 1; });
  settle(make_case(pair, 2, Best{.runnable = true}), round_machine(), executor);
  const std::size_t that_run = executor.schedules().size();
  for (const Schedule& schedule : executor.schedules()) EXPECT_TRUE(is_runnable(schedule, round_machine()));
  settle(make_case(pair, 2, Best{}), round_machine(), executor);
  EXPECT_GE(executor.schedules().size(), 2 * that_run);
}

TEST(Settle, TheBestIsWithinReachWhereSomethingIs) {
  Machine without_peers = round_machine();
  without_peers.fabric.peer_access = false;
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 512, 256, 128};
  CountingExecutor executor([](const Schedule& schedule) { return schedule.family == "async_tp" ? 1 : 2; });
  const auto best_among = [&](std::vector<std::string> among) {
    const Case asked = make_case(pair, 2, Best{.among = std::move(among)});
    return family_of(settle(asked, without_peers, executor).request.schedule);
  };
  EXPECT_EQ(best_among({"async_tp", "decomposition"}), "decomposition");
  EXPECT_EQ(best_among({"decomposition", "async_tp"}), "decomposition");
  EXPECT_EQ(best_among({"async_tp"}), "async_tp");
}

TEST(Settle, RunsAClosedCaseOnce) {
  CountingExecutor executor([](const Schedule&) { return 1; });
  const Case closed = make_case(PairWorkload{PairOp::gemm_all_reduce, 1024, 1024, 64}, 4, Decomposition{4});
  EXPECT_EQ(settle(closed, round_machine(), executor).request, closed);
  EXPECT_EQ(executor.schedules().size(), 1u);
}

TEST(Settle, OfBestTakesTheFastestFamilyAndKeepsTheCase) {
  Case request = make_case(PairWorkload{PairOp::gemm_all_reduce, 1024, 1024, 64}, 4, Best{});
  request.measured.gemm_us = 5;
  CountingExecutor executor([](const Schedule& schedule) {
    return schedule.family == "decomposition" && schedule.operations.size() > 8 ? 1 : 2;
  });
  const Settled settled = settle(request, round_machine(), executor);
  EXPECT_EQ(settled.request.id, request.id);
  EXPECT_EQ(settled.request.measured, request.measured);
  EXPECT_EQ(settled.request.schedule, (ScheduleChoice{Decomposition{8}}));
  EXPECT_GE(executor.schedules().size(), candidates(request.workload, 4, {.max_ctas = {}}).size());
}

TEST(Build, RefusesOpenChoices) {
  for (const Family& open : {Family(TokenSplit{}), Family(Best{})}) {
    Case request = open_split;
    request.schedule.family = open;
    EXPECT_EQ(error_of([&] { families::build(request, round_machine()); }).substr(0, 44),
              "schedule: expected one without open choices,");
  }
}

}  // namespace settle_test
}  // namespace weft::scenarios::study
