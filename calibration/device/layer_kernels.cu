#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/layer_kernels.hpp"
#include "calibration/device/norm.cuh"
#include "calibration/device/octet_rows.cuh"
#include "calibration/device/tiled_row.cuh"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

using namespace octet_rows;

constexpr int most_octets = max_norm_columns / columns_of_octet / threads;  // of a row for each thread
constexpr int usual_octets = most_octets / 2;                               // with which more CTAs fit an SM
constexpr std::int64_t rotary_columns = 128;

template <bool by_tile>
__device__ auto stored_row(const StoredRows& x, std::int64_t row) {
  if constexpr (by_tile)
    return TiledRow(x, row);
  else
    return row_of(x.storage, row);
}

template <bool adds, bool by_tile, int most, DataType stored>
__global__ void __launch_bounds__(threads)
    norm_kernel(const __grid_constant__ StoredRows x, Matrix residual, Matrix normed, Matrix kept) {
  const std::int64_t octets = normed.columns / columns_of_octet;
  for (std::int64_t row = blockIdx.x; row < normed.rows; row += gridDim.x) {
    OctetSum sums[most];
    float squares = 0;
    const auto x_row = stored_row<by_tile>(x, row);
#pragma unroll
    for (int i = 0; i < most; ++i) {
      const std::int64_t column = i * threads + static_cast<std::int64_t>(threadIdx.x);
      if (column >= octets) break;
      sums[i].add(x_row[column]);
      if constexpr (adds) {
        sums[i].add(row_of(residual, row)[column]);
        row_of(kept, row)[column] = sums[i].scaled(1);
      }
      squares += sums[i].sum_of_squares();
    }
    const float factor = factor_of_norm<threads, threads>(squares, normed.columns);
#pragma unroll
    for (int i = 0; i < most; ++i) {
      const std::int64_t column = i * threads + static_cast<std::int64_t>(threadIdx.x);
      if (column >= octets) break;
      store_scaled<stored>(normed, row, column, sums[i], factor);
    }
  }
}

template <DataType stored>
__global__ void __launch_bounds__(threads) swiglu_kernel(Matrix gate_up, Matrix activated) {
  const std::int64_t half = activated.columns / columns_of_octet;
  for_each_octet(activated, [&](std::int64_t row, std::int64_t octet) {
    OctetSum gate, up;
    gate.add(row_of(gate_up, row)[octet]);
    up.add(row_of(gate_up, row)[octet + half]);
#pragma unroll
    for (int i = 0; i < columns_of_octet; ++i) gate.value[i] *= __fdividef(up.value[i], 1 + __expf(-gate.value[i]));
    store_scaled<stored>(activated, row, octet, gate, 1);
  });
}

__global__ void __launch_bounds__(threads) quantize_kernel(Matrix x, Matrix quantized) {
  for_each_octet(x, [&](std::int64_t row, std::int64_t octet) {
    OctetSum values;
    values.add(row_of(x, row)[octet]);
    store_scaled<DataType::fp8>(quantized, row, octet, values, 1);
  });
}

__global__ void __launch_bounds__(threads) rotary_kernel(Matrix x, Matrix turned) {
  for_each_octet(x, [&](std::int64_t row, std::int64_t octet) {
    OctetSum values;
    values.add(row_of(x, row)[octet]);
#pragma unroll
    for (int i = 0; i < columns_of_octet; i += 2) {
      constexpr float exponent_of_column = -13.287712F / rotary_columns;  // log2(10000)
      const auto column = static_cast<float>((octet * columns_of_octet + i) % rotary_columns);
      float sine = 0, cosine = 0;
      __sincosf(static_cast<float>(row) * exp2f(exponent_of_column * column), &sine, &cosine);
      const float first = values.value[i], second = values.value[i + 1];
      values.value[i] = first * cosine - second * sine;
      values.value[i + 1] = first * sine + second * cosine;
    }
    row_of(turned, row)[octet] = values.scaled(1);
  });
}

template <bool adds, bool by_tile, DataType stored>
void norm_to(const StoredRows& x, const Matrix& residual, const Matrix& normed, const Matrix& kept,
             cudaStream_t stream) {
  const bool is_usual = normed.columns <= std::int64_t{usual_octets} * threads * columns_of_octet;
  const auto kernel =
      is_usual ? norm_kernel<adds, by_tile, usual_octets, stored> : norm_kernel<adds, by_tile, most_octets, stored>;
  const auto ctas = static_cast<unsigned>(std::clamp<std::int64_t>(normed.rows, 1, most_ctas));
  kernel<<<ctas, threads, 0, stream>>>(x, residual, normed, kept);
  WEFT_CHECK(cudaGetLastError());
}

template <bool adds>
void norm(const StoredRows& x, const Matrix& residual, const Matrix& normed, DataType stored, const Matrix& kept,
          cudaStream_t stream) {
  const auto to_fp8 = x.by_tile ? norm_to<adds, true, DataType::fp8> : norm_to<adds, false, DataType::fp8>;
  const auto to_bf16 = x.by_tile ? norm_to<adds, true, DataType::bf16> : norm_to<adds, false, DataType::bf16>;
  (stored == DataType::fp8 ? to_fp8 : to_bf16)(x, residual, normed, kept, stream);
}

}  // namespace

void rms_norm(const StoredRows& x, const Matrix& normed, DataType stored, cudaStream_t stream) {
  norm<false>(x, {}, normed, stored, {}, stream);
}

void add_rms_norm(const StoredRows& x, const Matrix& residual, const Matrix& normed, DataType stored,
                  const Matrix& kept, cudaStream_t stream) {
  norm<true>(x, residual, normed, stored, kept, stream);
}

void swiglu(const Matrix& gate_up, const Matrix& activated, DataType stored, cudaStream_t stream) {
  const auto kernel = stored == DataType::fp8 ? swiglu_kernel<DataType::fp8> : swiglu_kernel<DataType::bf16>;
  kernel<<<grid_over(activated), threads, 0, stream>>>(gate_up, activated);
  WEFT_CHECK(cudaGetLastError());
}

void quantize(const Matrix& x, const Matrix& quantized, cudaStream_t stream) {
  quantize_kernel<<<grid_over(x), threads, 0, stream>>>(x, quantized);
  WEFT_CHECK(cudaGetLastError());
}

void rotary(const Matrix& x, const Matrix& turned, cudaStream_t stream) {
  rotary_kernel<<<grid_over(x), threads, 0, stream>>>(x, turned);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
