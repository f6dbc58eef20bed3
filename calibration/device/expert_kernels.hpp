// Memory-bound kernels around the experts of a decoder layer. Matrices are bf16; but for top_k, their rows are
// multiples of 16 bytes that begin at such addresses.
#pragma once

#include <vector>

#include "calibration/device/kernels.hpp"

namespace weft::calibration::device {

/// The rows of `from`, one matrix after the other, become those of `to`: as many, of the same columns. At most
/// max_moved matrices on each side.
void move_rows(const std::vector<Matrix>& from, const std::vector<Matrix>& to, cudaStream_t stream);
/// Of each row of `scores`, at most max_top_k_columns wide, the largest elements, the largest first.
void top_k(const Matrix& scores, const Matrix& largest, cudaStream_t stream);
/// sum = the row blocks of `blocks`, each scaled by its column of `weights`, in fp32 and rounded once.
void weighted_sum(const Matrix& blocks, const Matrix& weights, const Matrix& sum, cudaStream_t stream);

}  // namespace weft::calibration::device
