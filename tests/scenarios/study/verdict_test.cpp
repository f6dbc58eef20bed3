#include "scenarios/study/verdict.hpp"

#include <gmock/gmock.h>

#include <set>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/crossovers.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace verdict_test {

using testing::ElementsAre;

constexpr double serial_us = 100;

Explored explored(const std::string& id, const Workload& workload, const Family& family, double time_us, double gain,
                  bool runnable) {
  Explored one;
  one.candidate.request = {.id = id, .gpus = 2, .workload = workload, .schedule = {family}, .measured = {}};
  one.candidate.estimate = {time_us, time_us, time_us};
  one.candidate.speedup = 1 / (1 - gain);
  one.candidate.odds = {.faster = 0.5 + gain, .gain = gain, .worst_gain = gain - 0.1};
  one.as_run = one.candidate.request.schedule;
  one.runnable = runnable;
  return one;
}

/// Serial takes 100 us; pushes that nothing runs `best_us`, two chunks 95.
Answer answer(const std::string& pair, LayerForm form, std::int64_t size, double best_us) {
  const Workload workload = PairWorkload{.m = size, .n = 64, .k = 64};
  Answer answer{.pair = pair, .form = form, .size = size, .ranking = {}, .fastest_first = {}};
  const double gain = 1 - best_us / serial_us;
  answer.fastest_first = {explored("pushes", workload, Hybrid{}, best_us, gain, false),
                          explored("chunks", workload, Decomposition{2}, 95, 0.05, true),
                          explored("serial", workload, Serial{}, serial_us, 0, true)};
  for (const Explored& one : answer.fastest_first) answer.ranking.fastest_first.push_back(one.candidate);
  answer.ranking.serial = 2;
  answer.ranking.advised = gain > 0 ? 0 : 2;
  return answer;
}

Scenario scenario() {
  Scenario scenario;
  scenario.gpus = 2;
  scenario.model =
      ModelConfig{.hidden = 64, .intermediate = 256, .heads = 8, .kv_heads = 8, .head_dim = 8, .layers = 10};
  scenario.forms = {LayerForm::all_reduce, LayerForm::sequence_parallel};
  scenario.sizes = {512, 1024};
  return scenario;
}

/// Serial, and pairs that are overlapped inside; those of two chunks run.
Answer layer_answer(LayerForm form, std::int64_t size, double layer_us,
                    const std::vector<std::pair<Pairs, double>>& faster) {
  const Workload workload = LayerWorkload{.tokens = size};
  Answer answer{.pair = "whole layer", .form = form, .size = size, .ranking = {}, .fastest_first = {}};
  for (const auto& [pairs, time_us] : faster) {
    const bool runs = pairs.o && std::holds_alternative<Decomposition>(pairs.o->family);
    answer.fastest_first.push_back(explored("inside", workload, pairs, time_us, 1 - time_us / layer_us, runs));
  }
  answer.fastest_first.push_back(explored("serial", workload, Serial{}, layer_us, 0, true));
  for (const Explored& one : answer.fastest_first) answer.ranking.fastest_first.push_back(one.candidate);
  answer.ranking.serial = faster.size();
  return answer;
}

/// Sequence parallel, the layer is slower in serial, and its pair gains more.
Exploration exploration_of_pairs() {
  Exploration found;
  for (const std::int64_t size : {512, 1024}) {
    found.answers.push_back(answer("a", LayerForm::all_reduce, size, size == 512 ? 120 : 90));
    found.answers.push_back(answer("b", LayerForm::sequence_parallel, size, size == 512 ? 110 : 60));
    found.layers.push_back({size, LayerForm::all_reduce, 400, 0});
    found.layers.push_back({size, LayerForm::sequence_parallel, 410, 0});
  }
  return found;
}

/// Inside of layers pairs gain less than alone.
Exploration exploration() {
  Exploration found = exploration_of_pairs();
  found.answers.push_back(
      layer_answer(LayerForm::all_reduce, 1024, 400,
                   {{{.o = PairSchedule{Hybrid{}}}, 392}, {{.o = PairSchedule{Decomposition{2}}}, 396}}));
  found.answers.push_back(
      layer_answer(LayerForm::sequence_parallel, 1024, 410, {{{.qkv = PairSchedule{Hybrid{}}}, 380}}));
  return found;
}

TEST(Verdict, IsThePlanOfTheHighestExpectedGain) {
  const Exploration found = exploration();
  const Verdict verdict = verdict_of(found, scenario());
  EXPECT_EQ(verdict.layers, 10);
  EXPECT_EQ(verdict.pays_from, 1024);
  const SizePlans& largest = verdict.largest();
  EXPECT_EQ(largest.baseline.name, "all-reduce, serial");
  EXPECT_EQ(largest.baseline.time_us, 400);
  EXPECT_EQ(largest.best.name, "sequence parallel, pairs overlapped");
  EXPECT_EQ(largest.best.time_us, 380);
  EXPECT_DOUBLE_EQ(largest.best.odds.gain, 1 - 380. / 400);
  // The worst of twenty is 0.1 of the other form's serial time below the mean: 1.645 deviations.
  EXPECT_NEAR(largest.best.odds.worst_gain, largest.best.odds.gain - 410. / 400 * 0.1, 1e-9);
  EXPECT_NEAR(largest.best.odds.faster, std::erfc(-0.05 / (410. / 400 * 0.1 / 1.645) / std::sqrt(2)) / 2, 1e-9);
  ASSERT_EQ(largest.best.schedules.size(), 1u);
  EXPECT_EQ(largest.best.schedules.front().second->candidate.request.id, "pushes");
}

TEST(Verdict, CarefulAdvisesNothingThatLosesToTheBaselineInTheWorstOfTwenty) {
  Exploration found = exploration();
  found.rule = Rule::careful;
  EXPECT_FALSE(verdict_of(found, scenario()).largest().pays());
  for (Answer& one : found.answers)
    for (Explored& schedule : one.fastest_first) schedule.candidate.odds.worst_gain = schedule.candidate.odds.gain;
  EXPECT_EQ(verdict_of(found, scenario()).largest().best.name, "sequence parallel, pairs overlapped");
}

TEST(Verdict, NamesThePlanThatRunsToday) {
  const Exploration found = exploration();
  const SizePlans largest = verdict_of(found, scenario()).largest();
  ASSERT_TRUE(largest.runnable);
  EXPECT_EQ(largest.runnable->name, "all-reduce, pairs overlapped");
  EXPECT_EQ(largest.runnable->time_us, 396);
  EXPECT_EQ(largest.runnable->schedules.front().second->candidate.request.id, "chunks");
}

TEST(Verdict, NamesThePlanOfOtherSoftwareWhereNeitherOfTheOthersIs) {
  Exploration found = exploration();
  EXPECT_FALSE(verdict_of(found, scenario()).largest().of_others->layer);  // none gains: serial
  for (Answer& one : found.answers)
    for (Explored& schedule : one.fastest_first)
      if (schedule.candidate.request.id == "chunks") schedule.other_software = {"PyTorch"};
  EXPECT_FALSE(verdict_of(found, scenario()).largest().of_others);  // that which runs is of PyTorch too
}

TEST(Verdict, APlanThatRunsIsNotBesideAnotherOne) {
  Exploration found = exploration();
  for (Answer& one : found.answers)
    for (Explored& schedule : one.fastest_first) schedule.runnable = true;
  EXPECT_FALSE(verdict_of(found, scenario()).largest().runnable);
}

TEST(Verdict, TheWinnerIsTheLayerThatIsAdvisedOrOfPairsTheScheduleThatSavesMost) {
  Exploration found = exploration();
  const Winner layer = winner_of(verdict_of(found, scenario()), found);
  EXPECT_EQ(layer.answer->pair, "whole layer");
  EXPECT_TRUE(std::holds_alternative<Pairs>(layer.schedule->candidate.request.schedule.family));
  found.layers.clear();
  const Verdict of_pairs = verdict_of(found, scenario());
  const Winner pair = winner_of(of_pairs, found);
  EXPECT_EQ(pair.schedule, of_pairs.largest().best.schedules.front().second);
  EXPECT_EQ(pair.answer, &found.answers[leading_answer(of_pairs, found)]);
}

TEST(Verdict, WithoutAGainTheBaselineIsBest) {
  const Exploration found = exploration();
  const SizePlans smallest = verdict_of(found, scenario()).sizes.front();
  EXPECT_FALSE(smallest.pays());
  EXPECT_EQ(smallest.best.name, smallest.baseline.name);
}

// A gain of a quarter of a percent at 512 tokens, of five percent at 1024.
TEST(Verdict, OverlapPaysFromWhereItGainsMoreThanLittle) {
  Exploration found = exploration();
  found.answers.push_back(layer_answer(LayerForm::all_reduce, 512, 400, {{{.o = PairSchedule{Hybrid{}}}, 399}}));
  const Verdict verdict = verdict_of(found, scenario());
  EXPECT_TRUE(verdict.sizes.front().pays());
  EXPECT_EQ(verdict.pays_from, 1024);
  found.answers.back() = layer_answer(LayerForm::all_reduce, 512, 400, {{{.o = PairSchedule{Hybrid{}}}, 390}});
  EXPECT_EQ(verdict_of(found, scenario()).pays_from, 512);
}

TEST(Verdict, FasterCollectivesOfSerialSchedulesAreNoOverlap) {
  Exploration found = exploration();
  for (Answer& answer : found.answers)
    for (Explored& one : answer.fastest_first) one.candidate.request.schedule.family = Serial{};
  const Verdict verdict = verdict_of(found, scenario());
  EXPECT_FALSE(verdict.overlaps);
  EXPECT_EQ(verdict.pays_from, 1024);
}

TEST(Verdict, PairsAloneAreComparedInOneForm) {
  Exploration found = exploration();
  found.layers.clear();
  const Verdict verdict = verdict_of(found, scenario());
  EXPECT_FALSE(verdict.is_of_layers);
  EXPECT_EQ(verdict.largest().baseline.time_us, serial_us);
  EXPECT_EQ(verdict.largest().best.name, "all-reduce, pairs overlapped");
}

TEST(Verdict, MemoryIsThatOfTheLayersOnOneGpu) {
  // A layer's weights: MLP 3 x 64 x 256, attention 64 x 8 x (2 x 8 + 2 x 8).
  const double weights = 10 * (3 * 64 * 256 + 64 * 8 * 32) * 2.0 / 2;
  const MemoryNeed need = memory_need(*scenario().model, 1024, 2);
  EXPECT_DOUBLE_EQ(need.weights_GB, weights * 1e-9);
  EXPECT_DOUBLE_EQ(need.keys_values_GB, 10 * 1024 * (2 * 4 * 8) * 2 * 1e-9);
  EXPECT_DOUBLE_EQ(memory_need(*scenario().model, 1024, 2, 3072).keys_values_GB, 4 * need.keys_values_GB);
}

TEST(Crossovers, AreThoseOfTheAdvice) {
  const Exploration found = exploration_of_pairs();
  const auto crossovers = crossovers_of(found, 2);
  ASSERT_EQ(crossovers.size(), 2u);
  EXPECT_EQ(crossovers[0].pattern, "a");
  EXPECT_EQ(crossovers[0].pays_from, 1024);
}

TEST(Crossovers, LeaveOutSizesWhoseRowsNoScheduleFits) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  Scenario asked;
  asked.gpus = 4;
  asked.sizes = {4096, 4097};
  for (const std::int64_t rows : asked.sizes)
    asked.plain.emplace_back(PairWorkload{PairOp::gemm_all_reduce, rows, 8192, 3584});
  asked.space.families = {{"decomposition"}};
  const Exploration found = explore(asked, machine, tests::simulator());
  EXPECT_EQ(verdict_of(found, asked).uncut, std::vector<std::int64_t>{4097});
  EXPECT_EQ(verdict_of(found, asked).pays_from, 4096);
  EXPECT_EQ(crossovers_of(found, 4).front().pays_from, 4096);
  asked.sizes = {4097};
  asked.plain.erase(asked.plain.begin());
  EXPECT_EQ(crossovers_of(explore(asked, machine, tests::simulator()), 4).front().reason,
            "no schedule that overlaps fits so many rows");
}

/// They look at a pattern's schedules only until one pays.
TEST(Crossovers, AreThoseOfWholeExplorations) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  Scenario asked = scenario();
  asked.model =
      ModelConfig{.hidden = 2048, .intermediate = 8192, .heads = 16, .kv_heads = 8, .head_dim = 128, .layers = 10};
  asked.sizes = {256, 512, 1024, 2048};
  asked.space.collectives = {};  // they pay at any of these sizes
  const Exploration known = explore(asked, machine, tests::simulator());
  std::vector<Crossover> whole = crossovers_of(known, 2);
  for (const int gpus : {4, 8}) {
    Scenario other = asked;
    other.gpus = gpus;
    for (Crossover& one : crossovers_of(explore(other, machine, tests::simulator()), gpus))
      whole.push_back(std::move(one));
  }
  const std::vector<Crossover> found = crossovers(asked, known, machine, tests::simulator(), Rule::least_regret);
  ASSERT_EQ(found.size(), whole.size());
  std::set<std::optional<std::int64_t>> answers;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].pays_from, whole[i].pays_from) << found[i].pattern << ", " << found[i].gpus << " GPUs";
    answers.insert(found[i].pays_from);
  }
  EXPECT_GT(answers.size(), 1u);  // there is something to get wrong
}

}  // namespace verdict_test
}  // namespace weft::scenarios::study
