#include "calibration/fitting/choice_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace weft::calibration::fitting {
namespace choice_network_test {

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

double score(const std::vector<double>& numbers, std::vector<double> inputs) {
  const double* next = numbers.data();
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

TEST(ChoiceNetwork, LearnsWhatNoSumOfWeightsTells) {
  const std::vector<double> numbers = train_network(neurons, choices_of_the_most_alike(4000));
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

TEST(ChoiceNetwork, IsTheSameEveryTime) {
  EXPECT_EQ(train_network(neurons, choices_of_the_most_alike(100)),
            train_network(neurons, choices_of_the_most_alike(100)));
}

}  // namespace choice_network_test
}  // namespace weft::calibration::fitting
