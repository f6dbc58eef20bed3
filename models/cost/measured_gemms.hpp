// What the formulas for GEMMs, the library's and our own, leave out: how one kernel's loop differs from another's,
// which loads meet in the L2, how a cluster waits for its slowest CTA, what switches in which of them. Each is a few
// percent, no rule that we could think of finds them, and they repeat from server to server. So small networks learn
// from measured GEMMs by what factor each takes longer, and draws more, than the formulas say; what is asked for is
// seldom far from something measured.
#pragma once

#include <array>
#include <vector>

#include "models/cost/gemm_model.hpp"
#include "models/machine/gemm_networks.hpp"

namespace weft {

using GemmFeatures = std::array<double, gemm_feature_count>;

/// What the networks are told of a GEMM whose tiles take what `tile` says: its sides and their alignment, the kernel,
/// how its tiles and clusters cover the matrix, in how many waves and steps, and what of the formula takes how long at
/// the maximum clock. Most are logarithms to base 2.
GemmFeatures gemm_features(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                           const TileOfWave& tile);

/// The same of bf16 by our own kernels, or by the library's for rows that do not begin at 16 bytes. And whose it is,
/// whether each tile has its CTA, the slices along k of a last wave, and what all rows begin at.
using UntabledFeatures = std::array<double, untabled_feature_count>;
UntabledFeatures untabled_features(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel,
                                   const TileOfWave& tile);

/// Whether no table of the library's answers has its kernel: one of those, or of fp8.
bool is_untabled(const MatrixSize& size, const GemmKernel& kernel, DataType dtype);

/// By machine.gemm_networks. Of `time` and `energy` two thirds hold for a GEMM that is not repeated alone, from 0.67 to
/// 1.5; the times of kernels that no table has are those of `untabled` and `fp8`, from 0.33 to 3. 1 where the machine
/// has none.
GemmFactors measured_factors(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype);

struct KnownGemm {
  GemmFactors factors;    ///< measured_factors()
  double formula_us = 0;  ///< estimated_gemm_us()
};

/// Of the GEMMs of one schedule, many of which are alike: each asked for once, as that takes a microsecond.
class KnownGemms {
 public:
  explicit KnownGemms(const Machine& machine) : machine_(machine) {}
  KnownGemm of(const MatrixSize& size, const GemmKernel& kernel, DataType dtype);

 private:
  struct Entry {
    MatrixSize size;
    GemmKernel kernel;
    DataType dtype;
    KnownGemm gemm;
  };
  const Machine& machine_;
  std::vector<Entry> entries_;
};

}  // namespace weft
