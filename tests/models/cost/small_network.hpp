// A network of kernel_score() that makes of a kernel what one of its features says.
#pragma once

#include <cstddef>
#include <vector>

#include "models/machine/gemm_networks.hpp"

namespace weft::tests {

inline constexpr std::size_t feature_of_slices = 21;  // the logarithm of GemmKernel::split_k

inline NetworkWeights network_that_passes_on(std::size_t feature) {
  NetworkWeights weights(weight_count(kernel_network), 0);
  std::size_t first_weight = 0;
  for (std::size_t layer = 1; layer < kernel_network.size(); ++layer) {
    const std::size_t neurons = kernel_network[layer], inputs = kernel_network[layer - 1];
    weights[first_weight + neurons + (layer == 1 ? feature * neurons : 0)] = 1;
    first_weight += neurons * (1 + inputs);
  }
  return weights;
}

}  // namespace weft::tests
