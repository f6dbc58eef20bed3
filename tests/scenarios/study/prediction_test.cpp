#include "scenarios/study/prediction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_relations.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/prediction_json.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace prediction_test {

using tests::simulator;

using namespace scenarios;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

TEST(Predict, BestIsTheFastestOfTheFamiliesThatTheOpHas) {
  const PairWorkload pair{PairOp::all_gather_gemm, 8192, 4096, 4096};
  const Prediction best =
      predict({.id = "a", .gpus = 4, .workload = pair, .schedule = {Best{}}, .measured = {}}, h200(), simulator());
  EXPECT_FALSE(std::holds_alternative<Best>(best.choice.family));
  double fastest_us = best.serial_us;
  for (const Case& one : candidates(pair, 4, {.max_ctas = {}}))
    fastest_us = std::min(fastest_us, predict(one, h200(), simulator()).time_us);
  EXPECT_EQ(best.time_us, fastest_us);
}

TEST(Predict, WhatCannotRunSaysWhy) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 4096, 4096, 4096};
  Case request{.id = "a", .gpus = 2, .workload = pair, .schedule = {}, .measured = {}};
  const Prediction runs = predict(request, h200(), simulator());
  EXPECT_TRUE(runs.runnable);
  EXPECT_EQ(runs.not_runnable, "");
  EXPECT_FALSE(to_json("a", runs).contains("not_runnable"));
  request.schedule.collectives = Collectives::one_shot;
  const Prediction does_not = predict(request, h200(), simulator());
  EXPECT_FALSE(does_not.runnable);
  EXPECT_NE(does_not.not_runnable.find("one_shot"), std::string::npos) << does_not.not_runnable;
  EXPECT_EQ(to_json("a", does_not).at("not_runnable"), does_not.not_runnable);
}

// Two GEMMs side by side are both blamed for what they draw together, and still have no lower clock than one for all.
TEST(Predict, ClocksOfPhasesTakeNoLongerThanAHeldClockWithinTheLimit) {
  Machine governed = read_machine(machine_path("mi300x8-mesh"));
  Machine held = governed;
  held.condition.fixed_clock_MHz = 900;
  const Case async_tp{.id = "a",
                      .gpus = 2,
                      .workload = PairWorkload{PairOp::gemm_reduce_scatter, 13312, 4096, 8192},
                      .schedule = {AsyncTp{}},
                      .measured = {}};
  const Prediction at_900 = predict(async_tp, held, simulator());
  EXPECT_LT(at_900.trace.power_W, governed.power.limit_W);
  EXPECT_LE(predict(async_tp, governed, simulator()).time_us, at_900.time_us);
}

TEST(Predict, EachStratumIsOneThatAProfileMayHaveBandsOf) {
  std::vector<std::string> strata;
  for (const Workload& workload : workload_of_each_op())
    strata.push_back(stratum_of({.id = "a", .gpus = 2, .workload = workload, .schedule = {}, .measured = {}}));
  for (const FamilyRules* rules : all_families()) strata.emplace_back(rules->name);
  for (const std::string& stratum : strata) EXPECT_EQ(std::ranges::count(known_strata(), stratum), 1) << stratum;
}

TEST(Predict, TheIntervalIsThatOfTheTimesClass) {
  Machine machine = h200();
  const Case gemm{.id = "a", .gpus = 1, .workload = GemmWorkload{4096, 4096, 4096}, .schedule = {}, .measured = {}};
  const double time_us = predict(gemm, machine, simulator()).time_us;
  machine.errors = {
      {.bands = {{"gemm", 0, -0.5, 0.5}, {"gemm", time_us / 2, -0.25, 0.75}, {"gemm", 2 * time_us, -0.1, 0.1}}}};
  const Prediction prediction = predict(gemm, machine, simulator());
  EXPECT_DOUBLE_EQ(prediction.low_us, 0.75 * time_us);
  EXPECT_DOUBLE_EQ(prediction.high_us, 1.75 * time_us);
}

TEST(Predict, IntervalsWidenWithEachDoublingOfTheGpusBeyondTwo) {
  Machine machine = h200();
  machine.errors = {{.growth = 1.5, .bands = {{"serial", 0, -0.2, 0.1}}}};
  const auto ends = [&](int gpus) {
    const Prediction prediction = predict({.id = "a",
                                           .gpus = gpus,
                                           .workload = PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, 4096},
                                           .schedule = {},
                                           .measured = {}},
                                          machine, simulator());
    return std::pair(prediction.low_us / prediction.time_us - 1, prediction.high_us / prediction.time_us - 1);
  };
  for (const auto [gpus, low, high] : {std::tuple{2, -0.2, 0.1}, {4, -0.3, 0.15}, {8, -0.45, 0.225}}) {
    EXPECT_NEAR(ends(gpus).first, low, 1e-9);
    EXPECT_NEAR(ends(gpus).second, high, 1e-9);
  }
  machine.errors.front().growth = 4;
  EXPECT_EQ(ends(8).first, -1);  // no time is below zero
}

TEST(Predict, ManyChunksHaveBandsOfTheirOwnWhereTheProfileDoes) {
  Machine machine = h200();
  const ErrorBand few{"decomposition", 0, -0.1, 0.1}, many{"fine_decomposition", 0, -0.3, 0.3};
  const auto width = [&](int chunks, std::vector<ErrorBand> bands) {
    machine.errors = {{.bands = std::move(bands)}};
    const Prediction prediction = predict({.id = "a",
                                           .gpus = 2,
                                           .workload = PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, 4096},
                                           .schedule = {Decomposition{chunks}},
                                           .measured = {}},
                                          machine, simulator());
    return prediction.high_us / prediction.time_us - 1;
  };
  EXPECT_NEAR(width(4, {few, many}), 0.1, 1e-9);
  EXPECT_NEAR(width(8, {few, many}), 0.3, 1e-9);
  EXPECT_NEAR(width(8, {few}), 0.1, 1e-9);
}

TEST(Predict, GemmsByKernelsThatNoTableHasHaveBandsOfTheirOwnWhereTheProfileDoes) {
  Machine machine = h200();
  const ErrorBand tabled{"gemm", 0, -0.1, 0.1}, untabled{"untabled_gemm", 0, -0.3, 0.3};
  const auto width = [&](std::int64_t k, GemmSource kernel, std::vector<ErrorBand> bands) {
    machine.errors = {{.bands = std::move(bands)}};
    const Case gemm{.id = "a",
                    .gpus = 1,
                    .workload = GemmWorkload{4096, 4096, k},
                    .schedule = {Serial{.gemm = kernel}},
                    .measured = {}};
    const Prediction prediction = predict(gemm, machine, simulator());
    return prediction.high_us / prediction.time_us - 1;
  };
  EXPECT_NEAR(width(4096, GemmSource::library, {tabled, untabled}), 0.1, 1e-9);
  EXPECT_NEAR(width(4096, GemmSource::own_256, {tabled, untabled}), 0.3, 1e-9);
  EXPECT_NEAR(width(4100, GemmSource::library, {tabled, untabled}), 0.3, 1e-9);
  EXPECT_NEAR(width(4100, GemmSource::library, {tabled}), 0.1, 1e-9);
}

TEST(Predict, SearchedValuesAreFilledIn) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 3584};
  const Prediction found =
      predict({.id = "a", .gpus = 8, .workload = pair, .schedule = {Signaling{}}, .measured = {}}, h200(), simulator());
  EXPECT_FALSE(std::get<Signaling>(found.choice.family).groups.empty());
}

// Among them the choice of the paper's own search.
TEST(Predict, SearchedGroupsAreTheFastestOfTheGroupingsWorthSimulating) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 4096, 4096};
  Case request{.id = "a", .gpus = 4, .workload = pair, .schedule = {Signaling{}}, .measured = {}};
  const double searched_us = predict(request, h200(), simulator()).time_us;
  const std::vector<Signaling> candidates = families::best_signalings(request, h200());
  ASSERT_GT(candidates.size(), 1u);
  double fastest_us = std::numeric_limits<double>::infinity();
  for (const Signaling& candidate : candidates) {
    request.schedule.family = candidate;
    fastest_us = std::min(fastest_us, predict(request, h200(), simulator()).time_us);
  }
  EXPECT_EQ(searched_us, fastest_us);
}

double small_chunks_us(const Machine& machine, Host host) {
  const PairWorkload tiny{PairOp::gemm_all_reduce, 512, 512, 512};
  ScheduleChoice choice{Decomposition{4}, 0, Launch::eager};
  choice.host = host;
  return predict({.id = "a", .gpus = 2, .workload = tiny, .schedule = choice, .measured = {}}, machine, simulator())
      .time_us;
}

TEST(Predict, AnEagerLaunchTakesTheHostThatIsAskedFor) {
  Machine machine = h200();
  machine.latencies.eager_launch_us = 30;
  machine.latencies.cuda_launch_us = 20;
  machine.latencies.vllm_launch_us = 40;
  const double pytorch_us = small_chunks_us(machine, Host::pytorch);
  EXPECT_LT(small_chunks_us(machine, Host::cuda), 0.8 * pytorch_us);
  EXPECT_GT(small_chunks_us(machine, Host::vllm_eager), 1.2 * pytorch_us);
  machine.latencies.vllm_launch_us = 0;
  try {
    small_chunks_us(machine, Host::vllm_eager);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "schedule.host: expected one whose launch time h200x8-nvswitch says, got vllm_eager");
  }
}

TEST(Predict, NoClockIsHeldAboveTheHighest) {
  Case request{.id = "a", .gpus = 1, .workload = GemmWorkload{512, 512, 512}, .schedule = {}, .measured = {}};
  request.condition.fixed_clock_MHz = 1980;
  predict(request, h200(), simulator());
  request.condition.fixed_clock_MHz = 9000;
  try {
    predict(request, h200(), simulator());
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "condition.clock_MHz: expected at most 1980, the highest clock of h200x8-nvswitch, got 9000");
  }
}

TEST(Predict, AnotherHostThatLaunchesAsFastDoesNotTakeLongerForTheLibrary) {
  Machine machine = h200();
  machine.latencies.eager_launch_us = machine.latencies.cuda_launch_us = 20;
  machine.latencies.eager_collective_us = 20;
  EXPECT_LT(small_chunks_us(machine, Host::cuda), 0.8 * small_chunks_us(machine, Host::pytorch));
}

/// Small all-reduces that nothing holds up but their launches, one after another for all GPUs.
TEST(Predict, AThreadThatDrivesAllGpusTakesItsLaunchForEachOfThem) {
  Machine machine = h200();
  machine.latencies.thread_launch_us = 20;
  for (const int gpus : {2, 4, 8}) {
    Case small{.id = "a",
               .gpus = gpus,
               .workload = CollectiveWorkload{CollectiveKind::all_reduce, 4096},
               .schedule = {},
               .measured = {}};
    small.schedule.launch = Launch::eager;
    small.schedule.host = Host::one_thread;
    EXPECT_NEAR(predict(small, machine, simulator()).time_us, gpus * 20, 1) << gpus;
  }
}

/// GEMMs of 8 MB of operands, which stay in an L2 of 50 MB from one iteration to the next.
TEST(Predict, HowAnIterationIsTimedDecidesWhatItFindsInTheL2) {
  Case asked{.id = "a",
             .gpus = 2,
             .workload = PairWorkload{PairOp::gemm_all_reduce, 64, 4096, 1024},
             .schedule = {Decomposition{2}, 0, Launch::graph},
             .measured = {}};
  const Prediction kept = predict(asked, h200(), simulator());
  asked.condition.timing.l2 = L2Before::flushed;
  const Prediction flushed = predict(asked, h200(), simulator());
  EXPECT_GT(flushed.time_us, kept.time_us);
  asked.condition.timing.l2 = L2Before::cold;
  const Prediction cold = predict(asked, h200(), simulator());
  EXPECT_GT(cold.time_us, flushed.time_us);  // whose second chunk finds the weights of the first
  asked.condition.timing.added_us = 30;
  const Prediction with_events = predict(asked, h200(), simulator());
  EXPECT_DOUBLE_EQ(with_events.time_us, cold.time_us + 30);
  EXPECT_DOUBLE_EQ(with_events.serial_us, cold.serial_us + 30);
}

TEST(Predict, ABaselineWithoutCollectivesIsTheGemmAlone) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 4096};
  ScheduleChoice choice;
  choice.collectives = Collectives::none;
  const Case without{.id = "a", .gpus = 4, .workload = pair, .schedule = choice, .measured = {}};
  const Case gemm{.id = "b", .gpus = 4, .workload = GemmWorkload{8192, 8192, 4096}, .schedule = {}, .measured = {}};
  const Prediction baseline = predict(without, h200(), simulator()), alone = predict(gemm, h200(), simulator());
  EXPECT_EQ(baseline.time_us, alone.time_us);
  EXPECT_EQ(baseline.bound_us, alone.bound_us);
}

}  // namespace prediction_test
}  // namespace weft::scenarios::study
