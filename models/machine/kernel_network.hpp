// The size of the network that weighs kernels of the GEMM library against each other (models/cost/kernel_ranking.hpp).
#pragma once

#include <array>
#include <cstddef>

namespace weft {

/// What may speak for a kernel, then the neurons of two layers, then the score.
inline constexpr std::array<std::size_t, 4> kernel_network{35, 64, 32, 1};

/// A neuron passes on what is above 0, and so much of what is below; the score is passed on as it is.
inline constexpr double passed_below_zero = 0.1;

inline constexpr std::size_t kernel_feature_count = kernel_network.front();

/// Numbers of a network: layer by layer a bias for each neuron, then for each of its inputs a weight for each neuron.
inline constexpr std::size_t kernel_weight_count = [] {
  std::size_t count = 0;
  for (std::size_t layer = 1; layer < kernel_network.size(); ++layer)
    count += (kernel_network[layer - 1] + 1) * kernel_network[layer];
  return count;
}();

}  // namespace weft
