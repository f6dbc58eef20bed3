// Sums of bf16 matrices in fp32, rounded once: what is received from several GPUs becomes one result.
#pragma once

#include <cuda_runtime_api.h>

#include "calibration/device/kernels.hpp"
#include "models/check/hardware_support.hpp"

namespace weft::calibration::device {

/// destination = sum of the sources, each of its size, in their order. No source: zeros.
struct Sources {
  Matrix matrix[max_summands];
  int count = 0;
};
void add(const Sources& sources, const Matrix& destination, cudaStream_t stream);
/// destination = sum of the row blocks of source.
void partial_sum(const Matrix& source, const Matrix& destination, cudaStream_t stream);
void fill_zero(const Matrix& destination, cudaStream_t stream);

}  // namespace weft::calibration::device
