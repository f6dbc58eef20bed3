#include "models/machine/gemm_networks.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace weft {

std::string to_text(const NetworkWeights& weights) {
  std::string text;
  std::array<char, 32> digits{};
  for (const float weight : weights) {
    char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), weight).ptr;
    text.append(text.empty() ? "" : " ").append(digits.data(), end);
  }
  return text;
}

std::optional<NetworkWeights> weights_from_text(std::string_view text) {
  NetworkWeights weights;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {  // past the space
    double weight = 0;
    const auto [behind, error] = std::from_chars(at, end, weight);
    if (error != std::errc() || !(std::abs(weight) <= most_weight)) return std::nullopt;
    weights.push_back(static_cast<float>(weight));
    if (behind == end) return weights;
    if (*behind != ' ') return std::nullopt;
    at = behind;
  }
}

}  // namespace weft
