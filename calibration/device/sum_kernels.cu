// Sums are wanted while a GEMM goes on, and find room beside our own (own_kernels.hpp). CTAs that do not fit would hold
// up every kernel that is launched behind them, such as those that wait for a tile group, until the GEMM ends.
#include <cuda_bf16.h>
#include <cuda_pipeline.h>

#include <algorithm>

#include "calibration/device/carveout.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/octet.cuh"
#include "calibration/device/sms_of_gpu.hpp"
#include "calibration/device/sum_kernels.hpp"
#include "models/base/division.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int registers_of_sm = 65536;  ///< on every GPU that these kernels are built for
constexpr int threads = own_sum_threads, ctas_of_sm = registers_of_sm / (threads * own_sum_registers_per_thread);

// Of two addends, for a thread: 12 KiB of a CTA. Beside a GEMM, where an SM has room for one CTA, a sum takes longer
// with every CTA that has to come after another; alone it has all of its rate from four on (measured on an H100: of 20
// MB beside loads that fill HBM 44 us with one CTA for each SM, 49 with four and 82 with 17, and alone 8.0, 5.7
// and 5.9).
constexpr int octets_under_way = 4;
constexpr int ctas_of_sm_that_fetch = 4;

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

/// Octets are numbered along the rows of the destination, whose rows may be parts of longer ones: threads side by side
/// have octets side by side however short a row is.
using OctetNumber = std::uint32_t;
__host__ __device__ OctetNumber octets_of(const Matrix& matrix) {
  return static_cast<OctetNumber>(matrix.rows * matrix.columns / 8);
}

struct Place {
  std::int64_t row, octet;
};
__device__ Place place_of(OctetNumber number, OctetNumber octets_of_row) {
  const OctetNumber row = number / octets_of_row;
  return {row, number - row * octets_of_row};
}

__device__ Octet* octet_at(const Matrix& matrix, const Place& place) {
  return reinterpret_cast<Octet*>(static_cast<__nv_bfloat16*>(matrix.data) + place.row * matrix.stride) + place.octet;
}

/// The first that the L2 gives up: what it holds of the addends, just computed or received, is read without HBM.
__device__ void store_to_leave(Octet* to, const Octet& octet) {
  __stcs(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4&>(octet));
}

/// Two addends. Beside a GEMM an SM has room for one CTA, and loads take microseconds there, for which registers would
/// have too few bytes under way: what a thread adds comes through shared memory, of which a GEMM of ours leaves 16 KiB.
__global__ void __launch_bounds__(threads, ctas_of_sm)
    two_sum_kernel(const __grid_constant__ Matrix left, const __grid_constant__ Matrix right,
                   const __grid_constant__ Matrix destination) {
  __shared__ Octet fetched[octets_under_way][2][threads];
  const std::int64_t octets = octets_of(destination), step = gridDim.x * threads;
  const auto octets_of_row = static_cast<OctetNumber>(destination.columns / 8);
  const auto fetch = [&](std::int64_t number, int slot) {
    if (number < octets) {
      const Place place = place_of(static_cast<OctetNumber>(number), octets_of_row);
      __pipeline_memcpy_async(&fetched[slot][0][threadIdx.x], octet_at(left, place), sizeof(Octet));
      __pipeline_memcpy_async(&fetched[slot][1][threadIdx.x], octet_at(right, place), sizeof(Octet));
    }
    __pipeline_commit();
  };
  const std::int64_t first = blockIdx.x * threads + threadIdx.x;
  for (int slot = 0; slot < octets_under_way; ++slot) fetch(first + slot * step, slot);
  int slot = 0;
  for (std::int64_t number = first; number < octets; number += step) {
    __pipeline_wait_prior(octets_under_way - 1);
    OctetSum sum;
    sum.add(fetched[slot][0][threadIdx.x]), sum.add(fetched[slot][1][threadIdx.x]);
    fetch(number + octets_under_way * step, slot);
    store_to_leave(octet_at(destination, place_of(static_cast<OctetNumber>(number), octets_of_row)), sum.scaled(1));
    slot = (slot + 1) % octets_under_way;
  }
}

__global__ void __launch_bounds__(threads, ctas_of_sm)
    sum_kernel(const __grid_constant__ Addends addends, const __grid_constant__ Matrix destination) {
  const auto octets_of_row = static_cast<OctetNumber>(destination.columns / 8);
  const std::int64_t octets = octets_of(destination);
  for (std::int64_t number = blockIdx.x * threads + threadIdx.x; number < octets; number += gridDim.x * threads) {
    const Place place = place_of(static_cast<OctetNumber>(number), octets_of_row);
    OctetSum sum;
    for (int source = 0; source < addends.sources.count; ++source)
      for (int block = 0; block < addends.blocks; ++block)
        sum.add(load_past_l1(
            octet_at(addends.sources.matrix[source], {place.row + block * destination.rows, place.octet})));
    store_to_leave(octet_at(destination, place), sum.scaled(1));
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

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), std::int64_t wanted_ctas, int most_of_sm, cudaStream_t stream,
            const Arguments&... arguments) {
  const auto ctas = static_cast<int>(std::clamp<std::int64_t>(wanted_ctas, 1, sms_of_gpu() * most_of_sm));
  leave_shared_memory(reinterpret_cast<const void*>(kernel));
  kernel<<<ctas, threads, 0, stream>>>(arguments...);
  WEFT_CHECK(cudaGetLastError());
}

void sum(const Addends& addends, const Matrix& destination, cudaStream_t stream) {
  bool octets = allows_octets(destination);
  for (int i = 0; i < addends.count(); ++i) octets = octets && allows_octets(addends.at(i, destination));
  if (!octets) return launch(element_sum_kernel, destination.rows, ctas_of_sm, stream, addends, destination);
  const std::int64_t ctas = divided_up(octets_of(destination), threads);
  if (addends.count() != 2) return launch(sum_kernel, ctas, ctas_of_sm, stream, addends, destination);
  launch(two_sum_kernel, ctas, ctas_of_sm_that_fetch, stream, addends.at(0, destination), addends.at(1, destination),
         destination);
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
