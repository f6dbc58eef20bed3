// What a small network says (models/machine/gemm_networks.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/machine/gemm_networks.hpp"

namespace weft {

namespace network_layers {

/// Sums that a processor keeps in its registers while it goes through the inputs.
inline constexpr std::size_t most_at_once = 32;

/// What `neurons` of them pass on, who pass `below` of what is below 0. Takes their numbers from `next`.
template <std::size_t inputs, std::size_t neurons>
std::array<float, neurons> output(const float*& next, const std::array<float, inputs>& told, float below) {
  constexpr std::size_t at_once = std::min(neurons, most_at_once);
  static_assert(neurons % at_once == 0);
  std::array<float, neurons> passed;
  for (std::size_t first = 0; first < neurons; first += at_once) {
    std::array<float, at_once> sums;
    std::copy_n(next + first, at_once, sums.begin());
    const float* weights = next + neurons + first;
    for (std::size_t input = 0; input < inputs; ++input, weights += neurons)
      for (std::size_t i = 0; i < at_once; ++i) sums[i] += told[input] * weights[i];
    for (std::size_t i = 0; i < at_once; ++i) passed[first + i] = std::max(sums[i], below * sums[i]);
  }
  next += (inputs + 1) * neurons;
  return passed;
}

}  // namespace network_layers

/// Of a network with these numbers, weight_count(network) of them, which is told `features`; 0 of one without numbers.
template <const NetworkSize& network>
double network_output(const NetworkWeights& weights, const std::array<double, network.front()>& features) {
  if (weights.empty()) return 0;
  std::array<float, network.front()> told;
  std::ranges::transform(features, told.begin(), [](double feature) { return static_cast<float>(feature); });
  const float* next = weights.data();
  const auto first = network_layers::output<network[0], network[1]>(next, told, passed_below_zero);
  const auto second = network_layers::output<network[1], network[2]>(next, first, passed_below_zero);
  return network_layers::output<network[2], network[3]>(next, second, 1).front();
}

}  // namespace weft
