#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/layer_kernels.hpp"
#include "calibration/device/norm.cuh"
#include "calibration/device/octet_rows.cuh"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

using namespace octet_rows;

constexpr int most_octets = max_norm_columns / columns_of_octet / threads;  // of a row for each thread
constexpr int usual_octets = most_octets / 2;                               // with which more CTAs fit an SM
constexpr std::int64_t rotary_columns = 128;

template <bool adds, int most, DataType stored>
__global__ void __launch_bounds__(threads) norm_kernel(Matrix x, Matrix residual, Matrix normed, Matrix kept) {
  const std::int64_t octets = x.columns / columns_of_octet;
  for (std::int64_t row = blockIdx.x; row < x.rows; row += gridDim.x) {
    OctetSum sums[most];
    float squares = 0;
#pragma unroll
    for (int i = 0; i < most; ++i) {
      const std::int64_t column = i * threads + static_cast<std::int64_t>(threadIdx.x);
      if (column >= octets) break;
      sums[i].add(row_of(x, row)[column]);
      if constexpr (adds) {
        sums[i].add(row_of(residual, row)[column]);
        row_of(kept, row)[column] = sums[i].scaled(1);
      }
      squares += sums[i].sum_of_squares();
    }
    const float factor = factor_of_norm<threads, threads>(squares, x.columns);
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

template <bool adds, DataType stored>
void norm_to(const Matrix& x, const Matrix& residual, const Matrix& normed, const Matrix& kept, cudaStream_t stream) {
  const bool is_usual = x.columns <= std::int64_t{usual_octets} * threads * columns_of_octet;
  const auto kernel = is_usual ? norm_kernel<adds, usual_octets, stored> : norm_kernel<adds, most_octets, stored>;
  const auto ctas = static_cast<unsigned>(std::clamp<std::int64_t>(x.rows, 1, most_ctas));
  kernel<<<ctas, threads, 0, stream>>>(x, residual, normed, kept);
  WEFT_CHECK(cudaGetLastError());
}

template <bool adds>
void norm(const Matrix& x, const Matrix& residual, const Matrix& normed, DataType stored, const Matrix& kept,
          cudaStream_t stream) {
  const auto run = stored == DataType::fp8 ? norm_to<adds, DataType::fp8> : norm_to<adds, DataType::bf16>;
  run(x, residual, normed, kept, stream);
}

}  // namespace

void rms_norm(const Matrix& x, const Matrix& normed, DataType stored, cudaStream_t stream) {
  norm<false>(x, {}, normed, stored, {}, stream);
}

void add_rms_norm(const Matrix& x, const Matrix& residual, const Matrix& normed, DataType stored, const Matrix& kept,
                  cudaStream_t stream) {
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
