// Kernels that go over the rows of a matrix, eight columns a thread: a CTA's threads lie along a row, and it goes down
// the rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "calibration/device/kernels.hpp"
#include "calibration/device/octet.cuh"
#include "calibration/device/sms_of_gpu.hpp"
#include "models/base/division.hpp"

namespace weft::calibration::device {
namespace octet_rows {

inline constexpr int threads = 256, columns_of_octet = 8;
/// Enough to fill a GPU: all that an SM has threads for.
inline std::int64_t most_ctas() { return 8 * sms_of_gpu(); }

__device__ inline Octet* row_of(const Matrix& matrix, std::int64_t row) {
  return reinterpret_cast<Octet*>(static_cast<__nv_bfloat16*>(matrix.data) + row * matrix.stride);
}

/// Octet `octet` of a row of bf16 or fp8 becomes these values times `factor`.
template <DataType stored>
__device__ void store_scaled(const Matrix& matrix, std::int64_t row, std::int64_t octet, const OctetSum& values,
                             float factor) {
  if constexpr (stored == DataType::fp8) {
    auto* bytes = static_cast<std::uint8_t*>(matrix.data) + row * matrix.stride;
    reinterpret_cast<ByteOctet*>(bytes)[octet] = values.scaled_to_fp8(factor);
  } else {
    row_of(matrix, row)[octet] = values.scaled(factor);
  }
}

/// Calls work(row, octet) for every octet of `matrix`.
template <class Work>
__device__ void for_each_octet(const Matrix& matrix, const Work& work) {
  const std::int64_t octet = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (octet >= matrix.columns / columns_of_octet) return;
  for (std::int64_t row = blockIdx.y; row < matrix.rows; row += gridDim.y) work(row, octet);
}

/// For `matrices` such kernels at once, one a layer of the grid, the largest of them being `matrix`.
inline dim3 grid_over(const Matrix& matrix, int matrices = 1) {
  const std::int64_t across = divided_up(matrix.columns / columns_of_octet, std::int64_t{threads});
  const std::int64_t most_down = std::max<std::int64_t>(matrix.rows, 1);
  const std::int64_t down = std::clamp<std::int64_t>(most_ctas() / across / matrices, 1, most_down);
  return {static_cast<unsigned>(across), static_cast<unsigned>(down), static_cast<unsigned>(matrices)};
}

}  // namespace octet_rows
}  // namespace weft::calibration::device
