// What a small network says (models/machine/gemm_networks.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "models/machine/gemm_networks.hpp"

namespace weft {

/// Of a network with these numbers, weight_count(network) of them, which is told `features`; 0 of one without numbers.
template <const NetworkSize& network>
double network_output(const NetworkWeights& weights, const std::array<double, network.front()>& features) {
  if (weights.empty()) return 0;
  constexpr std::size_t widest = *std::ranges::max_element(network);
  std::array<float, widest> inputs{}, outputs{};
  std::ranges::transform(features, inputs.begin(), [](double feature) { return static_cast<float>(feature); });
  const float* next = weights.data();
  for (std::size_t layer = 1; layer < network.size(); ++layer) {
    const std::size_t neurons = network[layer];
    std::copy_n(next, neurons, outputs.begin());
    next += neurons;
    for (std::size_t input = 0; input < network[layer - 1]; ++input, next += neurons)
      for (std::size_t neuron = 0; neuron < neurons; ++neuron) outputs[neuron] += inputs[input] * next[neuron];
    const float below = layer + 1 < network.size() ? passed_below_zero : 1;
    for (std::size_t neuron = 0; neuron < neurons; ++neuron)
      inputs[neuron] = std::max(outputs[neuron], below * outputs[neuron]);
  }
  return inputs.front();
}

}  // namespace weft
