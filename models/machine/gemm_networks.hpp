// The sizes of the networks that learn from GEMMs: which kernel the library takes (models/cost/kernel_ranking.hpp), and
// how long a kernel takes and what it draws (models/cost/measured_gemms.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Neurons of each layer: what a network is told, then two layers, then what it says.
using NetworkSize = std::array<std::size_t, 4>;

inline constexpr NetworkSize kernel_network{35, 64, 32, 1};
inline constexpr NetworkSize time_network{36, 64, 32, 1};
inline constexpr NetworkSize energy_network{36, 24, 12, 1};
inline constexpr NetworkSize untabled_network{40, 32, 16, 1};
inline constexpr NetworkSize fp8_network{36, 32, 16, 1};

/// A neuron passes on what is above 0, and so much of what is below; the last one passes on all.
inline constexpr float passed_below_zero = 0.1F;

inline constexpr std::size_t kernel_feature_count = kernel_network.front();
inline constexpr std::size_t gemm_feature_count = time_network.front();
static_assert(energy_network.front() == gemm_feature_count && fp8_network.front() == gemm_feature_count);
inline constexpr std::size_t untabled_feature_count = untabled_network.front();

/// Numbers of a network: layer by layer a bias for each neuron, then for each of its inputs a weight for each neuron.
using NetworkWeights = std::vector<float>;

/// Of a logarithm in a sum of such.
inline constexpr double most_weight = 1e4;

/// As a profile holds them: decimal numbers with a space between two. A list of as many JSON numbers would be half of
/// what a cold start reads.
std::string to_text(const NetworkWeights& weights);
/// None where a text is anything else, or a number is beyond `most_weight`.
std::optional<NetworkWeights> weights_from_text(std::string_view text);

/// How many there are of them.
constexpr std::size_t weight_count(const NetworkSize& network) {
  std::size_t count = 0;
  for (std::size_t layer = 1; layer < network.size(); ++layer) count += (network[layer - 1] + 1) * network[layer];
  return count;
}

/// What was learned of measured GEMMs (models/cost/measured_gemms.hpp); empty ones say what the formulas do.
struct MeasuredGemmNetworks {
  NetworkWeights time, energy, untabled, fp8;
};

/// `visit(key in a profile's gemm.kernels, weights, size)` for each of them.
void for_each_network(auto& networks, const auto& visit) {
  visit("time_weights", networks.time, time_network);
  visit("energy_weights", networks.energy, energy_network);
  visit("untabled_weights", networks.untabled, untabled_network);
  visit("fp8_weights", networks.fp8, fp8_network);
}

}  // namespace weft
