// Small networks (models/machine/gemm_networks.hpp) that learn from many examples, each described by rows of numbers:
// which of several things is chosen, or how much something is.
//
// Learning is Adam (Kingma and Ba, 2014) on batches of examples in an order drawn from a fixed seed, with a rate that
// falls along a cosine. It finds the same numbers on every run, whatever the number of threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/machine/gemm_networks.hpp"

namespace weft::calibration::fitting {

/// What may be chosen, and which of it was.
struct Choice {
  std::vector<float> features;  ///< row by row
  std::size_t rows = 0, chosen = 0;
};

/// The numbers of a network of `neurons` (features first, a score last), in the order of models/machine/
/// gemm_networks.hpp, that makes the choices likeliest: a row is chosen with the probability of exp(score) over the sum
/// of all rows'. At least one choice.
NetworkWeights learn_choices(std::span<const std::size_t> neurons, std::vector<Choice> choices);

/// What was found, and how much of it is the network's to explain.
struct Amount {
  std::vector<float> features;
  float found = 0;
  float share = 1;  ///< what `found` grows by for each 1 that the network says
};

/// Likewise the numbers that bring share x score nearest to what was found: by the square where it is within
/// `usual_distance`, by the distance itself beyond, so that outliers do not count for more. It goes on from the numbers
/// `before`, slowly and not for long, so that few amounts change them only where they have to; with none it begins
/// anew. At least one amount.
NetworkWeights learn_amounts(std::span<const std::size_t> neurons, std::vector<Amount> amounts, double usual_distance,
                             const NetworkWeights& before = {});

}  // namespace weft::calibration::fitting
