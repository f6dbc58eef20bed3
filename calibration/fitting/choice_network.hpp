// A small network that learns which of several things is chosen, each described by a row of numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft::calibration::fitting {

/// What may be chosen, and which of it was.
struct Choice {
  std::vector<float> features;  ///< row by row
  std::size_t rows = 0, chosen = 0;
};

/// The numbers of a network of `neurons` (features first, a score last), in the order of models/machine/
/// kernel_network.hpp, that makes the choices likeliest: a row is chosen with the probability of exp(score) over the
/// sum of all rows'. Adam (Kingma and Ba, 2014) on batches of choices in an order drawn from a fixed seed, with a rate
/// that falls along a cosine. The same numbers on every run, whatever the number of threads. At least one choice.
std::vector<double> train_network(std::span<const std::size_t> neurons, std::vector<Choice> choices);

}  // namespace weft::calibration::fitting
