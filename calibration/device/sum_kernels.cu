// Sums are wanted while a GEMM goes on, and find room beside our own (own_kernels.hpp). CTAs that do not fit would hold
// up every kernel that is launched behind them, such as those that wait for a tile group, until the GEMM ends.
#include <cuda_bf16.h>

#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/octet.cuh"
#include "calibration/device/sum_kernels.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = own_sum_threads, ctas_of_sm = 65536 / (threads * own_sum_registers_per_thread);
constexpr int most_ctas = 132 * ctas_of_sm;
constexpr std::int64_t piece = 8 * threads;  // octets of a row that a CTA adds at a time

/// Rows of octets of equal size; block b of a source begins `rows` rows behind block b - 1.
struct Addends {
  Sources sources;
  int blocks = 1;
};

/// What a CTA adds at a time: part of one row.
struct Piece {
  std::int64_t row, first;
  int count;
};
__device__ Piece piece_of(std::int64_t number, std::int64_t octets_of_row) {
  const std::int64_t of_row = (octets_of_row + piece - 1) / piece;
  const std::int64_t row = number / of_row, first = number % of_row * piece;
  return {row, first, static_cast<int>(min(piece, octets_of_row - first))};
}

__device__ Octet* octet_at(const Matrix& matrix, std::int64_t row, std::int64_t octet) {
  return reinterpret_cast<Octet*>(static_cast<__nv_bfloat16*>(matrix.data) + row * matrix.stride) + octet;
}

/// Two addends, of which a thread has two octets each under way.
__global__ void __launch_bounds__(threads, ctas_of_sm)
    two_sum_kernel(const __grid_constant__ Matrix left, const __grid_constant__ Matrix right,
                   const __grid_constant__ Matrix destination, std::int64_t pieces) {
  for (std::int64_t number = blockIdx.x; number < pieces; number += gridDim.x) {
    const auto [row, first, count] = piece_of(number, destination.columns / 8);
    const Octet* const lefts = octet_at(left, row, first);
    const Octet* const rights = octet_at(right, row, first);
    Octet* const sums = octet_at(destination, row, first);
    const auto added = [](const Octet& one, const Octet& other) {
      OctetSum sum;
      sum.add(one), sum.add(other);
      return sum.scaled(1);
    };
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 2 * threads) {
      const int next = i + threads < count ? i + threads : i;
      const Octet first_left = load_past_l1(lefts + i), first_right = load_past_l1(rights + i);
      const Octet next_left = load_past_l1(lefts + next), next_right = load_past_l1(rights + next);
      sums[i] = added(first_left, first_right);
      sums[next] = added(next_left, next_right);
    }
  }
}

__global__ void __launch_bounds__(threads, ctas_of_sm)
    sum_kernel(const __grid_constant__ Addends addends, const __grid_constant__ Matrix destination,
               std::int64_t pieces) {
  for (std::int64_t number = blockIdx.x; number < pieces; number += gridDim.x) {
    const auto [row, first, count] = piece_of(number, destination.columns / 8);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += threads) {
      OctetSum sum;
      for (int source = 0; source < addends.sources.count; ++source)
        for (int block = 0; block < addends.blocks; ++block)
          sum.add(load_past_l1(octet_at(addends.sources.matrix[source], row + block * destination.rows, first + i)));
      *octet_at(destination, row, first + i) = sum.scaled(1);
    }
  }
}

/// For rows that octets do not divide, and rows that begin between them.
__global__ void __launch_bounds__(threads, ctas_of_sm)
    element_sum_kernel(const __grid_constant__ Addends addends, const __grid_constant__ Matrix destination) {
  const auto element_at = [](const Matrix& matrix, std::int64_t row, std::int64_t column) {
    return static_cast<__nv_bfloat16*>(matrix.data) + row * matrix.stride + column;
  };
  for (std::int64_t row = blockIdx.x; row < destination.rows; row += gridDim.x)
    for (std::int64_t column = threadIdx.x; column < destination.columns; column += threads) {
      float sum = 0;
      for (int source = 0; source < addends.sources.count; ++source)
        for (int block = 0; block < addends.blocks; ++block)
          sum += __bfloat162float(*element_at(addends.sources.matrix[source], row + block * destination.rows, column));
      *element_at(destination, row, column) = __float2bfloat16(sum);
    }
}

bool allows_octets(const Matrix& matrix) {
  return matrix.columns % 8 == 0 && matrix.stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
}

/// One long row where rows follow one another without a gap.
bool is_dense(const Matrix& matrix) { return matrix.stride == matrix.columns; }
Matrix in_one_row(const Matrix& matrix) {
  return {matrix.data, 1, matrix.rows * matrix.columns, matrix.rows * matrix.columns};
}

int grid_for(std::int64_t pieces) { return static_cast<int>(std::clamp<std::int64_t>(pieces, 1, most_ctas)); }

/// A kernel that keeps its SM's memory as L1 would leave none to a GEMM that starts beside it.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), int grid, cudaStream_t stream, const Arguments&... arguments) {
  WEFT_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  kernel<<<grid, threads, 0, stream>>>(arguments...);
  WEFT_CHECK(cudaGetLastError());
}

void add_two(Matrix left, Matrix right, Matrix destination, cudaStream_t stream) {
  if (is_dense(left) && is_dense(right) && is_dense(destination))
    for (Matrix* matrix : {&left, &right, &destination}) *matrix = in_one_row(*matrix);
  const std::int64_t pieces = destination.rows * ((destination.columns / 8 + piece - 1) / piece);
  launch(two_sum_kernel, grid_for(pieces), stream, left, right, destination, pieces);
}

void sum(const Addends& addends, const Matrix& destination, cudaStream_t stream) {
  const Sources& sources = addends.sources;
  bool octets = allows_octets(destination);
  for (int i = 0; i < sources.count; ++i) octets = octets && allows_octets(sources.matrix[i]);
  if (!octets) return launch(element_sum_kernel, grid_for(destination.rows), stream, addends, destination);
  const std::int64_t pieces = destination.rows * ((destination.columns / 8 + piece - 1) / piece);
  launch(sum_kernel, grid_for(pieces), stream, addends, destination, pieces);
}

/// Block `block` of as many rows as the destination.
Matrix block_of(const Matrix& source, const Matrix& destination, int block) {
  auto* const first = static_cast<__nv_bfloat16*>(source.data) + block * destination.rows * source.stride;
  return {first, destination.rows, destination.columns, source.stride};
}

}  // namespace

void add(const Sources& sources, const Matrix& destination, cudaStream_t stream) {
  const bool octets =
      allows_octets(destination) && allows_octets(sources.matrix[0]) && allows_octets(sources.matrix[1]);
  if (sources.count == 2 && octets) return add_two(sources.matrix[0], sources.matrix[1], destination, stream);
  sum({sources, 1}, destination, stream);
}

void partial_sum(const Matrix& source, const Matrix& destination, cudaStream_t stream) {
  const auto blocks = static_cast<int>(source.rows / destination.rows);
  if (blocks == 2)
    return add({{block_of(source, destination, 0), block_of(source, destination, 1)}, 2}, destination, stream);
  sum({{{source}, 1}, blocks}, destination, stream);
}

void fill_zero(const Matrix& destination, cudaStream_t stream) { sum({}, destination, stream); }

}  // namespace weft::calibration::device
