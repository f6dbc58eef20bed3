// Sums are wanted while a GEMM goes on, and find room beside our own (own_kernels.hpp). CTAs that do not fit would hold
// up every kernel that is launched behind them, such as those that wait for a tile group, until the GEMM ends.
#include <cuda_bf16.h>

#include <algorithm>

#include "calibration/device/carveout.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/octet.cuh"
#include "calibration/device/sum_kernels.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = own_sum_threads, ctas_of_sm = 65536 / (threads * own_sum_registers_per_thread);
constexpr int most_ctas = 132 * ctas_of_sm;
constexpr std::int64_t piece = 8 * threads;  // octets of a row that a CTA adds at a time

/// What is added up: of every source as many blocks of rows, one behind the other.
struct Addends {
  Sources sources;
  int blocks = 1;

  int count() const { return sources.count * blocks; }
  /// As large as the destination.
  Matrix at(int number, const Matrix& destination) const {
    const Matrix& source = sources.matrix[number / blocks];
    const std::int64_t first_row = number % blocks * destination.rows;
    return {static_cast<__nv_bfloat16*>(source.data) + first_row * source.stride, destination.rows, destination.columns,
            source.stride};
  }
};

/// What a CTA adds at a time: part of one row.
struct Piece {
  std::int64_t row, first;
  int count;
};
__host__ __device__ std::int64_t pieces_of_row(std::int64_t octets_of_row) {
  return (octets_of_row + piece - 1) / piece;
}
__device__ Piece piece_of(std::int64_t number, std::int64_t octets_of_row) {
  const std::int64_t of_row = pieces_of_row(octets_of_row);
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

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t pieces, cudaStream_t stream, const Arguments&... arguments) {
  const auto grid = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, most_ctas));
  leave_shared_memory(reinterpret_cast<const void*>(kernel));
  kernel<<<grid, threads, 0, stream>>>(arguments...);
  WEFT_CHECK(cudaGetLastError());
}

void add_two(Matrix left, Matrix right, Matrix destination, cudaStream_t stream) {
  if (is_dense(left) && is_dense(right) && is_dense(destination))
    for (Matrix* matrix : {&left, &right, &destination}) *matrix = in_one_row(*matrix);
  const std::int64_t pieces = destination.rows * pieces_of_row(destination.columns / 8);
  launch(two_sum_kernel, pieces, stream, left, right, destination, pieces);
}

void sum(const Addends& addends, const Matrix& destination, cudaStream_t stream) {
  bool octets = allows_octets(destination);
  for (int i = 0; i < addends.count(); ++i) octets = octets && allows_octets(addends.at(i, destination));
  if (!octets) return launch(element_sum_kernel, destination.rows, stream, addends, destination);
  if (addends.count() == 2) return add_two(addends.at(0, destination), addends.at(1, destination), destination, stream);
  const std::int64_t pieces = destination.rows * pieces_of_row(destination.columns / 8);
  launch(sum_kernel, pieces, stream, addends, destination, pieces);
}

}  // namespace

void add(const Sources& sources, const Matrix& destination, cudaStream_t stream) {
  sum({sources, 1}, destination, stream);
}

void partial_sum(const Matrix& source, const Matrix& destination, cudaStream_t stream) {
  sum({{{source}, 1}, static_cast<int>(source.rows / destination.rows)}, destination, stream);
}

void fill_zero(const Matrix& destination, cudaStream_t stream) { sum({}, destination, stream); }

}  // namespace weft::calibration::device
