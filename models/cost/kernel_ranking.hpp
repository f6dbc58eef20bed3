// Which of the kernels that its neighbours got would the GEMM library take for a shape that it was not asked about?
//
// The library goes by a model of its own, which nobody publishes: its answers look like the smallest of many estimates
// that depend on waves, on how tiles and clusters cover the matrix, on operands on their way, and on alignment. So a
// small network that learns from hundreds of thousands of answers what speaks for a kernel finds it more often than any
// rule that we could think of.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "models/machine/gemm_networks.hpp"
#include "models/machine/machine.hpp"

namespace weft {

/// A kernel that a neighbour of a shape got.
struct NearKernel {
  /// Whose answers count, each for the more the nearer it is.
  enum Voters : std::size_t {
    all,                   ///< less where m or n is otherwise aligned
    far,                   ///< also those that are far away
    aligned,               ///< where m and n are aligned like the shape's
    near_and_aligned,      ///< of these, hardly any but the nearest
    same_n,                ///< where n is the shape's, and m is aligned like its
    same_m,                ///< likewise
    same_sides,            ///< where m and n are the shape's
    same_sides_aligned_k,  ///< of these, where k is aligned like the shape's
    kinds
  };
  GemmKernel kernel;
  std::array<double, kinds> votes{};  ///< shares of all votes of a kind; 0 where nobody votes
  double time_us = 0;                 ///< estimated
};

/// Do answers for the same m and n count? They are left out to learn what to make of a shape that has none.
enum class SameSides { count, left_out };

/// Of the answers that are nearest to `size`, itself left out; the nearest first, each kernel once.
std::vector<NearKernel> near_kernels(const Machine& machine, const MatrixSize& size,
                                     SameSides same_sides = SameSides::count);

using KernelFeatures = std::array<double, kernel_feature_count>;

/// What may speak for the library's taking each of these kernels for `size`: its votes; its estimated time; how its
/// tiles and clusters cover the matrix, in how many waves and steps; and what it computes, loads and stores against the
/// kernel that does so least. Nearly all are logarithms.
std::vector<KernelFeatures> kernel_features(const Machine& machine, const MatrixSize& size,
                                            const std::vector<NearKernel>& kernels);

/// What a network with these numbers (weight_count(kernel_network) of them) makes of it: the larger, the likelier.
/// Neurons pass on what is above 0, and a tenth of what is below.
double kernel_score(const NetworkWeights& weights, const KernelFeatures& features);

}  // namespace weft
