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

constexpr int octets_of_thread = 4;  // of a row: what hides the memory's latency, and lets many CTAs fit an SM
constexpr int threads_of_sm = 768;   // of a norm: some load while others wait for their row's sum
constexpr std::int64_t rotary_columns = 128;

template <bool by_tile>
__device__ auto stored_row(const StoredRows& x, std::int64_t row) {
  if constexpr (by_tile)
    return TiledRow(x, row);
  else
    return row_of(x.storage, row);
}

/// A team of threads for each row, which asks for all of it before it stores any: what is kept may be the residual's
/// own memory, and loads do not pass stores that may be to their place.
template <bool adds, bool by_tile, int team, DataType stored>
__global__ void __launch_bounds__(std::max(team, threads), threads_of_sm / std::max(team, threads))
    norm_kernel(const __grid_constant__ StoredRows x, Matrix residual, Matrix normed, Matrix kept) {
  constexpr int threads_of_cta = std::max(team, threads), teams = threads_of_cta / team;
  const auto octets = static_cast<int>(normed.columns / columns_of_octet);
  const int first_column = static_cast<int>(threadIdx.x) % team;
  const auto for_each_octet = [&](const auto& work) {
#pragma unroll
    for (int i = 0; i < octets_of_thread; ++i)
      if (first_column + i * team < octets) work(i, first_column + i * team);
  };
  const std::int64_t first_row = std::int64_t{blockIdx.x} * teams + threadIdx.x / team;
  for (std::int64_t row = first_row; row < normed.rows; row += std::int64_t{gridDim.x} * teams) {
    Octet loaded[octets_of_thread], added[octets_of_thread];
    OctetSum sums[octets_of_thread];
    float squares = 0;
    const auto x_row = stored_row<by_tile>(x, row);
    for_each_octet([&](int i, int column) {
      loaded[i] = x_row[column];
      if constexpr (adds) added[i] = row_of(residual, row)[column];
    });
    for_each_octet([&](int i, int column) {
      sums[i].add(loaded[i]);
      if constexpr (adds) {
        sums[i].add(added[i]);
        row_of(kept, row)[column] = sums[i].scaled(1);
      }
      squares += sums[i].sum_of_squares();
    });
    const float factor = factor_of_norm<threads_of_cta, team>(squares, normed.columns);
    for_each_octet([&](int i, int column) { store_scaled<stored>(normed, row, column, sums[i], factor); });
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

__global__ void __launch_bounds__(threads) rotary_kernel(Matrix x, Matrix turned, std::int64_t first_position) {
  for_each_octet(x, [&](std::int64_t row, std::int64_t octet) {
    OctetSum values;
    values.add(row_of(x, row)[octet]);
#pragma unroll
    for (int i = 0; i < columns_of_octet; i += 2) {
      constexpr float exponent_of_column = -13.287712F / rotary_columns;  // log2(10000)
      const auto column = static_cast<float>((octet * columns_of_octet + i) % rotary_columns);
      float sine = 0, cosine = 0;
      __sincosf(static_cast<float>(first_position + row) * exp2f(exponent_of_column * column), &sine, &cosine);
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
  constexpr int columns_of_thread = octets_of_thread * columns_of_octet, longest_team = 512;
  static_assert(longest_team * columns_of_thread == max_norm_columns);
  const auto launch = [&](auto kernel, int team) {
    const int threads_of_cta = std::max(team, threads);
    const std::int64_t teams = threads_of_cta / team;
    const auto ctas = static_cast<unsigned>(std::clamp<std::int64_t>(divided_up(normed.rows, teams), 1, most_ctas()));
    kernel<<<ctas, static_cast<unsigned>(threads_of_cta), 0, stream>>>(x, residual, normed, kept);
    WEFT_CHECK(cudaGetLastError());
  };
  if (normed.columns <= 64 * columns_of_thread) return launch(norm_kernel<adds, by_tile, 64, stored>, 64);
  if (normed.columns <= 128 * columns_of_thread) return launch(norm_kernel<adds, by_tile, 128, stored>, 128);
  if (normed.columns <= 256 * columns_of_thread) return launch(norm_kernel<adds, by_tile, 256, stored>, 256);
  if (normed.columns <= 384 * columns_of_thread) return launch(norm_kernel<adds, by_tile, 384, stored>, 384);
  launch(norm_kernel<adds, by_tile, longest_team, stored>, longest_team);
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

void rotary(const Matrix& x, const Matrix& turned, std::int64_t first_position, cudaStream_t stream) {
  rotary_kernel<<<grid_over(x), threads, 0, stream>>>(x, turned, first_position);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
