#include "calibration/fitting/small_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace weft::calibration::fitting {
namespace small_network_test {

constexpr std::array<std::size_t, 4> neurons{2, 8, 4, 1};

/// Of three rows the one is chosen whose numbers are nearest to each other, which no sum of weights tells.
std::vector<Choice> choices_of_the_most_alike(int count) {
  std::mt19937 random(3);
  std::vector<Choice> choices;
  for (int i = 0; i < count; ++i) {
    Choice choice{.features = {}, .rows = 3, .chosen = 0};
    for (int number = 0; number < 6; ++number) choice.features.push_back(static_cast<float>(random() % 1000) / 100);
    const auto apart = [&](std::size_t row) {
      return std::abs(choice.features[2 * row] - choice.features[2 * row + 1]);
    };
    for (std::size_t row = 1; row < 3; ++row)
      if (apart(row) < apart(choice.chosen)) choice.chosen = row;
    choices.push_back(choice);
  }
  return choices;
}

double score(const NetworkWeights& numbers, std::vector<double> inputs) {
  const float* next = numbers.data();
  for (std::size_t layer = 1; layer < neurons.size(); ++layer) {
    std::vector<double> outputs(next, next + neurons[layer]);
    next += neurons[layer];
    for (const double input : inputs)
      for (double& output : outputs) output += input * *next++;
    if (layer + 1 < neurons.size())
      for (double& output : outputs) output = std::max(output, 0.1 * output);
    inputs = outputs;
  }
  return inputs.front();
}

TEST(SmallNetwork, LearnsAChoiceThatNoSumOfWeightsTells) {
  const NetworkWeights numbers = learn_choices(neurons, choices_of_the_most_alike(4000));
  ASSERT_EQ(numbers.size(), 3 * 8 + 9 * 4 + 5 * 1);
  int right = 0;
  const std::vector<Choice> others = choices_of_the_most_alike(4500);
  for (std::size_t i = 4000; i < others.size(); ++i) {
    std::array<double, 3> scores;
    for (std::size_t row = 0; row < 3; ++row)
      scores[row] = score(numbers, {others[i].features[2 * row], others[i].features[2 * row + 1]});
    right += std::ranges::max_element(scores) == scores.begin() + others[i].chosen;
  }
  EXPECT_GT(right, 450);
}

TEST(SmallNetwork, IsTheSameEveryTime) {
  EXPECT_EQ(learn_choices(neurons, choices_of_the_most_alike(100)),
            learn_choices(neurons, choices_of_the_most_alike(100)));
}

/// How far apart two numbers are, half of which the network has to explain; every tenth is an outlier.
std::vector<Amount> amounts_apart(int count, float outlier = 0) {
  std::mt19937 random(5);
  std::vector<Amount> amounts;
  for (int i = 0; i < count; ++i) {
    const auto a = static_cast<float>(random() % 1000) / 1000, b = static_cast<float>(random() % 1000) / 1000;
    amounts.push_back({{a, b}, std::abs(a - b) / 2 + (i % 10 == 0 ? outlier : 0), 0.5F});
  }
  return amounts;
}

double mean_distance(const NetworkWeights& numbers) {
  double sum = 0;
  for (const auto& [a, b] : {std::pair{0.1, 0.9}, {0.9, 0.1}, {0.5, 0.5}, {0.2, 0.4}, {0.7, 0.3}})
    sum += std::abs(score(numbers, {a, b}) - std::abs(a - b));
  return sum / 5;
}

TEST(SmallNetwork, LearnsAnAmountWhateverOutliersSay) {
  EXPECT_LT(mean_distance(learn_amounts(neurons, amounts_apart(2000), 0.02)), 0.02);
  EXPECT_LT(mean_distance(learn_amounts(neurons, amounts_apart(2000, 3), 0.02)), 0.03);
}

TEST(SmallNetwork, GoesOnFromWhatItKnew) {
  const NetworkWeights before = learn_amounts(neurons, amounts_apart(2000), 0.02);
  const NetworkWeights after = learn_amounts(neurons, amounts_apart(70), 0.02, before);
  EXPECT_LT(mean_distance(after), mean_distance(learn_amounts(neurons, amounts_apart(70), 0.02)));
  EXPECT_NE(after, before);
}

}  // namespace small_network_test
}  // namespace weft::calibration::fitting
