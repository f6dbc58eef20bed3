#include "scenarios/study/composed_layer.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/pair_schedule.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace composed_layer_test {

struct Gain {
  Family family;
  double gain;
  bool runnable = true;
};

/// Serial takes 100 us.
Answer pair_of(const std::vector<Gain>& gains) {
  Answer answer;
  for (const Gain& gain : gains) {
    Explored& one = answer.fastest_first.emplace_back();
    one.candidate.request.schedule.family = one.as_run.family = gain.family;
    one.candidate.estimate.time_us = 100 * (1 - gain.gain);
    one.candidate.speedup = 1 / (1 - gain.gain);
    one.candidate.odds.gain = gain.gain;
    one.runnable = gain.runnable;
  }
  answer.fastest_first.emplace_back().candidate.estimate.time_us = 100;
  for (const Explored& one : answer.fastest_first) answer.ranking.fastest_first.push_back(one.candidate);
  answer.ranking.serial = gains.size();
  return answer;
}

std::optional<Pairs> composed(const std::vector<Answer>& pairs, bool sequence_parallel, bool only_runnable = false) {
  std::vector<const Answer*> found;
  for (const Answer& pair : pairs) found.push_back(&pair);
  LayerWorkload layer;
  layer.sequence_parallel = sequence_parallel;
  return composed_layer(found, layer, [&](const Explored& one) { return one.runnable || !only_runnable; });
}

const Hybrid pushes{.mover = HybridMover::push, .pieces = HybridPieces::shards, .count = 1};

TEST(ComposedLayer, HasTheBestOfEachPair) {
  const std::vector<Answer> pairs{pair_of({{pushes, 0.2, false}, {Decomposition{2}, 0.1}}),
                                  pair_of({{Decomposition{4}, 0.1}})};
  EXPECT_EQ(composed(pairs, false), (Pairs{.o = PairSchedule{pushes}, .down = PairSchedule{Decomposition{4}}}));
  EXPECT_EQ(composed(pairs, false, true),
            (Pairs{.o = PairSchedule{Decomposition{2}}, .down = PairSchedule{Decomposition{4}}}));
}

TEST(ComposedLayer, ThePairsOfABlockOrderRowsAlike) {
  const Answer gather = pair_of({{AsyncTp{}, 0.2}, {Decomposition{2}, 0.15}});
  const Answer scatter = pair_of({{Decomposition{2}, 0.3}, {pushes, 0.1}});
  const Answer other = pair_of({{pushes, 0.1}});
  EXPECT_EQ(composed({gather, scatter, gather, other}, true), (Pairs{.qkv = PairSchedule{Decomposition{2}},
                                                                     .o = PairSchedule{Decomposition{2}},
                                                                     .gate_up = PairSchedule{AsyncTp{}},
                                                                     .down = PairSchedule{pushes}}));
  EXPECT_EQ(composed({pair_of({{Decomposition{4}, 0.3}}), other}, true), (Pairs{.o = PairSchedule{pushes}}));
}

TEST(ComposedLayer, LeavesOutWhatDoesNotRunInside) {
  EXPECT_EQ(composed({pair_of({{Ficco{}, 0.3}}), pair_of({{Signaling{{1, 2}}, 0.2}})}, true), std::nullopt);
  EXPECT_EQ(composed({pair_of({{Signaling{{1, 2}}, 0.2}})}, false), (Pairs{.o = PairSchedule{Signaling{{1, 2}}}}));
  EXPECT_EQ(composed({pair_of({{pushes, -0.1}})}, false), std::nullopt);
}

TEST(ComposedLayer, IsExploredInAModelsLayers) {
  Scenario scenario;
  scenario.gpus = 4;
  scenario.model =
      ModelConfig{.hidden = 8192, .intermediate = 28672, .heads = 64, .kv_heads = 8, .head_dim = 128, .layers = 80};
  scenario.forms = {LayerForm::sequence_parallel};
  scenario.sizes = {4096};
  const Exploration found =
      explore(scenario, read_machine(machine_path("h200x8-nvswitch")), tests::simulator(), {.least_schedules = 0});
  const Answer& layer = found.answers.back();
  ASSERT_EQ(layer.pair, "whole layer");
  const auto is_composed = [](const Explored& one) {
    return std::holds_alternative<Pairs>(one.candidate.request.schedule.family);
  };
  const auto composed = std::find_if(layer.fastest_first.begin(), layer.fastest_first.end(), is_composed);
  ASSERT_NE(composed, layer.fastest_first.end());
  EXPECT_DOUBLE_EQ(found.layers.front().saved_us,
                   found.layers.front().serial_us - composed->candidate.estimate.time_us);
  EXPECT_GT(found.layers.front().saved_us, 0);
  EXPECT_GE(composed->candidate.estimate.time_us, composed->bound_us);
}

TEST(ComposedLayer, IsExploredInALayerThatIsAskedAboutByItself) {
  Scenario scenario;
  scenario.gpus = 4;
  scenario.sizes = {4096};
  scenario.plain = {LayerWorkload{
      .tokens = 4096, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .intermediate = 28672}};
  const Exploration found =
      explore(scenario, read_machine(machine_path("h200x8-nvswitch")), tests::simulator(), {.least_schedules = 0});
  ASSERT_EQ(found.answers.size(), 1);  // the pairs are nobody's question
  EXPECT_TRUE(found.layers.empty());
  EXPECT_TRUE(std::ranges::any_of(found.answers.front().fastest_first, [](const Explored& one) {
    return std::holds_alternative<Pairs>(one.candidate.request.schedule.family);
  }));
}

}  // namespace composed_layer_test
}  // namespace weft::scenarios::study
