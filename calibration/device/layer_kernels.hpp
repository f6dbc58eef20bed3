// Memory-bound kernels between the GEMMs of a decoder layer. Matrices are bf16, with rows of multiples of 16 bytes that
// begin at such addresses; sums are taken in fp32. Norms have no weights: a weight is read once for all rows. What the
// next GEMM reads may be `stored` as fp8 (e4m3, scale 1): rounded once, and what is too large becomes the largest.
#pragma once

#include "calibration/device/stored_rows.hpp"

namespace weft::calibration::device {

/// normed = x / sqrt(mean of x^2 over the row + 1e-6). Rows of at most max_norm_columns. x may lie in any layout.
void rms_norm(const StoredRows& x, const Matrix& normed, DataType stored, cudaStream_t stream);
/// kept = x + residual, normed = its norm. `residual` and `kept` may be the same.
void add_rms_norm(const StoredRows& x, const Matrix& residual, const Matrix& normed, DataType stored,
                  const Matrix& kept, cudaStream_t stream);
/// activated[r, c] = gate x sigmoid(gate) x up, the gate in column c of gate_up and up in column c + its half.
void swiglu(const Matrix& gate_up, const Matrix& activated, DataType stored, cudaStream_t stream);
/// fp8 of bf16.
void quantize(const Matrix& x, const Matrix& quantized, cudaStream_t stream);
/// Pairs of neighbouring columns are turned by position x 10000^(-2i/128), i their number within 128 columns: rotary
/// embedding of heads of 128, where pairs lie together. Row 0 of x has position `first_position`.
void rotary(const Matrix& x, const Matrix& turned, std::int64_t first_position, cudaStream_t stream);

}  // namespace weft::calibration::device
