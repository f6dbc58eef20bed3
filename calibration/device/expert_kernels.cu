#include "calibration/device/check.hpp"
#include "calibration/device/expert_kernels.hpp"
#include "calibration/device/octet_rows.cuh"
#include "models/base/division.hpp"
#include "models/check/hardware_support.hpp"

namespace weft::calibration::device {
namespace {

using namespace octet_rows;

/// Parts of what is moved that lie in one matrix on both sides: cutting either side begins another one.
struct Moves {
  static constexpr std::size_t most = 2 * max_moved - 1;
  Matrix from[most], to[most];
  int count = 0;
};

__global__ void __launch_bounds__(threads) move_kernel(const __grid_constant__ Moves moves) {
  const Matrix &from = moves.from[blockIdx.z], &to = moves.to[blockIdx.z];
  for_each_octet(to, [&](std::int64_t row, std::int64_t octet) { row_of(to, row)[octet] = row_of(from, row)[octet]; });
}

/// Rows of a matrix, given out one part after the other.
class Rows {
 public:
  explicit Rows(const std::vector<Matrix>& matrices) : next_(matrices.begin()), end_(matrices.end()) { skip_taken(); }
  bool is_empty() const { return next_ == end_; }
  std::int64_t left() const { return next_->rows - taken_; }
  Matrix take(std::int64_t rows) {
    const Matrix part{static_cast<__nv_bfloat16*>(next_->data) + taken_ * next_->stride, rows, next_->columns,
                      next_->stride};
    taken_ += rows;
    skip_taken();
    return part;
  }

 private:
  void skip_taken() {
    for (; next_ != end_ && left() == 0; ++next_) taken_ = 0;
  }
  std::vector<Matrix>::const_iterator next_, end_;
  std::int64_t taken_ = 0;
};

// --- The largest of a row: a warp for each row, whose columns its lanes share out ------------------------------------

constexpr int lanes = 32, rows_of_cta = threads / lanes;
constexpr int most_keys = max_top_k_columns / lanes, usual_keys = most_keys / 4;  // of each lane

/// Ordered as the elements are, and different for each column: the element in the high half, turned so that larger ones
/// are larger unsigned numbers, and in the low half what makes the first of equal elements the largest.
__device__ std::uint32_t key_of(__nv_bfloat16 element, std::int64_t column) {
  const std::uint32_t bits = __bfloat16_as_ushort(element);
  const std::uint32_t ordered = (bits & 0x8000U) != 0 ? bits ^ 0xffffU : bits | 0x8000U;
  return ordered << 16 | (0xffffU - static_cast<std::uint32_t>(column));
}
__device__ __nv_bfloat16 element_of(std::uint32_t key) {
  const std::uint32_t ordered = key >> 16;
  return __ushort_as_bfloat16(
      static_cast<unsigned short>((ordered & 0x8000U) != 0 ? ordered ^ 0x8000U : ordered ^ 0xffffU));
}

template <int most>
__global__ void __launch_bounds__(threads) top_k_kernel(Matrix scores, Matrix largest) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t step = std::int64_t{gridDim.x} * rows_of_cta;
  for (std::int64_t row = std::int64_t{blockIdx.x} * rows_of_cta + threadIdx.x / lanes; row < scores.rows;
       row += step) {
    const auto* elements = static_cast<const __nv_bfloat16*>(scores.data) + row * scores.stride;
    std::uint32_t keys[most];
#pragma unroll
    for (int i = 0; i < most; ++i) {
      const std::int64_t column = i * lanes + lane;
      keys[i] = column < scores.columns ? key_of(elements[column], column) : 0;
    }
    for (std::int64_t rank = 0; rank < largest.columns; ++rank) {
      std::uint32_t found = 0;
#pragma unroll
      for (int i = 0; i < most; ++i) found = max(found, keys[i]);
      found = __reduce_max_sync(0xffffffffU, found);
#pragma unroll
      for (int i = 0; i < most; ++i) keys[i] = keys[i] == found ? 0 : keys[i];
      if (lane == 0) static_cast<__nv_bfloat16*>(largest.data)[row * largest.stride + rank] = element_of(found);
    }
  }
}

// --- Sums ------------------------------------------------------------------------------------------------------------

__global__ void __launch_bounds__(threads) weighted_sum_kernel(Matrix blocks, Matrix weights, Matrix sum) {
  for_each_octet(sum, [&](std::int64_t row, std::int64_t octet) {
    const auto* weight_of = static_cast<const __nv_bfloat16*>(weights.data) + row * weights.stride;
    OctetSum total;
#pragma unroll 4
    for (std::int64_t block = 0; block < weights.columns; ++block)
      total.add_scaled(row_of(blocks, block * sum.rows + row)[octet], __bfloat162float(weight_of[block]));
    row_of(sum, row)[octet] = total.scaled(1);
  });
}

}  // namespace

void move_rows(const std::vector<Matrix>& from, const std::vector<Matrix>& to, cudaStream_t stream) {
  Moves moves;
  Matrix largest;
  for (Rows read(from), written(to); !written.is_empty();) {
    const std::int64_t rows = std::min(read.left(), written.left());
    moves.from[moves.count] = read.take(rows);
    const Matrix& part = moves.to[moves.count++] = written.take(rows);
    if (part.rows > largest.rows) largest = part;
  }
  if (moves.count == 0) return;
  move_kernel<<<grid_over(largest, moves.count), threads, 0, stream>>>(moves);
  WEFT_CHECK(cudaGetLastError());
}

void top_k(const Matrix& scores, const Matrix& largest, cudaStream_t stream) {
  const auto kernel =
      scores.columns <= std::int64_t{usual_keys} * lanes ? top_k_kernel<usual_keys> : top_k_kernel<most_keys>;
  const auto ctas = std::clamp<std::int64_t>(divided_up(scores.rows, rows_of_cta), 1, most_ctas());
  kernel<<<static_cast<unsigned>(ctas), threads, 0, stream>>>(scores, largest);
  WEFT_CHECK(cudaGetLastError());
}

void weighted_sum(const Matrix& blocks, const Matrix& weights, const Matrix& sum, cudaStream_t stream) {
  weighted_sum_kernel<<<grid_over(sum), threads, 0, stream>>>(blocks, weights, sum);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
