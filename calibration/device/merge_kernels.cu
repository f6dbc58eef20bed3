#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "calibration/device/check.hpp"
#include "calibration/device/meeting.cuh"
#include "calibration/device/merge_kernels.hpp"
#include "calibration/device/merged_octet.cuh"
#include "calibration/device/sms_of_gpu.hpp"
#include "models/base/division.hpp"
#include "models/schedule/attention_tiles.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = 512, warp = 32, in_flight = 4;
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
constexpr int threads_of_sm = 1536;
#else
constexpr int threads_of_sm = 2048;
#endif
/// Of the merge. With as many registers as it would like an H200's SM has room for three, and 50 MB take a third
/// longer.
constexpr int ctas_of_sm = threads_of_sm / threads;

/// An octet of a result: the rows' octets are numbered through.
struct Place {
  std::int64_t row, octet;
  int head;
};

/// How a result is divided among threads. The octets of a head lie in one warp: its threads have all read the head's
/// logarithm before one of them writes it.
struct Octets {
  std::int64_t of_row, count;
  int of_head;
  __host__ explicit Octets(const MergedResult& result)
      : of_row(result.rows.columns / 8),
        count(result.rows.rows * of_row),
        of_head(static_cast<int>(of_row / std::max<std::int64_t>(result.log_sum_exp.columns, 1))) {}
  __device__ Place at(std::int64_t number) const {
    const std::int64_t row = number / of_row, octet = number % of_row;
    return {row, octet, static_cast<int>(octet / of_head)};
  }
  __device__ bool begins_head(const Place& place) const { return place.octet % of_head == 0; }
};

__device__ Octet* octet_at(const Matrix& rows, const Place& place) {
  return reinterpret_cast<Octet*>(static_cast<__nv_bfloat16*>(rows.data) + place.row * rows.stride) + place.octet;
}
__device__ float* logarithm_at(const Matrix& log_sum_exp, const Place& place) {
  return static_cast<float*>(log_sum_exp.data) + place.row * log_sum_exp.stride + place.head;
}

/// Calls work(number of this thread's octet) with all threads of a warp at once; behind the last octet as well.
template <class Work>
__device__ void for_each_of_warp(std::int64_t count, std::int64_t step, const Work& work) {
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  for (std::int64_t first = own - own % warp; first < count; first += step) work(first + own % warp);
}

__global__ void __launch_bounds__(threads, ctas_of_sm)
    merge_kernel(const __grid_constant__ MergedResults sources, const __grid_constant__ MergedResult destination,
                 const __grid_constant__ Octets octets) {
  for_each_of_warp(octets.count, static_cast<std::int64_t>(gridDim.x) * threads, [&](std::int64_t number) {
    const bool is_octet = number < octets.count;
    const Place place = octets.at(is_octet ? number : 0);
    MergedOctet merged;
    for (int i = 0; is_octet && i < sources.count; ++i)
      merged.add(*octet_at(sources.result[i].rows, place), *logarithm_at(sources.result[i].log_sum_exp, place));
    __syncwarp();
    if (!is_octet) return;
    *octet_at(destination.rows, place) = merged.result();
    if (octets.begins_head(place)) *logarithm_at(destination.log_sum_exp, place) = merged.log_sum_exp();
  });
}

constexpr int octets_of_cta = threads / sharing_threads;
static_assert(octets_of_cta == warp, "the octets of a head, at most 32, lie in one CTA");

/// A warp for each share of the results, a thread for each octet.
__global__ void __launch_bounds__(threads)
    merge_many_kernel(const __grid_constant__ MergedResult first, int count,
                      const __grid_constant__ MergedResult destination, const __grid_constant__ Octets octets) {
  __shared__ alignas(MergedOctet) std::byte memory[threads * sizeof(MergedOctet)];
  auto* const shares = reinterpret_cast<MergedOctet(*)[octets_of_cta]>(memory);
  const int own = threadIdx.x % octets_of_cta, share = threadIdx.x / octets_of_cta;
  const std::int64_t number = static_cast<std::int64_t>(blockIdx.x) * octets_of_cta + own;
  const bool is_octet = number < octets.count;
  const Place place = octets.at(is_octet ? number : 0);
  MergedOctet merged;
#pragma unroll 4
  for (int i = share; is_octet && i < count; i += sharing_threads) {
    const Place of_result{place.row + i * destination.rows.rows, place.octet, place.head};
    merged.add(*octet_at(first.rows, of_result), *logarithm_at(first.log_sum_exp, of_result));
  }
  shares[share][own] = merged;
  __syncthreads();
  if (share > 0 || !is_octet) return;
  for (int i = 1; i < sharing_threads; ++i) merged.add(shares[i][own]);
  *octet_at(destination.rows, place) = merged.result();
  if (octets.begins_head(place)) *logarithm_at(destination.log_sum_exp, place) = merged.log_sum_exp();
}

/// What the results are added up in: without logarithms all count alike.
struct PlainSum {
  OctetSum sum;
  __device__ void add(const Octet& octet, float) { sum.add(octet); }
  __device__ Octet result() const { return sum.scaled(1); }
};

/// The part of a source that belongs to a place of the result; null: none.
__device__ const Octet* octet_of(const PeerReduce::Source& source, const Place& place, std::int64_t octets_of_row) {
  const std::int64_t row = place.row - source.into.first;
  if (row < 0 || row >= source.into.count) return nullptr;
  return static_cast<const Octet*>(source.rows) + row * octets_of_row + place.octet;
}
__device__ float logarithm_of(const PeerReduce::Source& source, const Place& place, std::int64_t heads) {
  return __ldcg(source.log_sum_exp + (place.row - source.into.first) * heads + place.head);
}

/// Adds one source to the octets that a thread works on at once: all are asked for before any is added.
template <class Sum>
__device__ void add_source(const PeerReduce::Source& source, std::int64_t octets_of_row, std::int64_t heads,
                           const Place (&places)[in_flight], const bool (&is_octet)[in_flight],
                           Sum (&sums)[in_flight]) {
  const Octet* from[in_flight];
  Octet loaded[in_flight];
  float logarithm[in_flight] = {};
#pragma unroll
  for (int i = 0; i < in_flight; ++i) {
    from[i] = is_octet[i] ? octet_of(source, places[i], octets_of_row) : nullptr;
    if (from[i] == nullptr) continue;
    loaded[i] = load_past_l1(from[i]);
    if (heads > 0) logarithm[i] = logarithm_of(source, places[i], heads);
  }
#pragma unroll
  for (int i = 0; i < in_flight; ++i)
    if (from[i] != nullptr) sums[i].add(loaded[i], logarithm[i]);
}

template <class Sum>
__global__ void __launch_bounds__(threads)
    reduce_kernel(const __grid_constant__ PeerReduce reduce, const __grid_constant__ Octets octets,
                  const __grid_constant__ WaitLimit limit) {
  const std::int64_t heads = reduce.result.log_sum_exp.columns, stride = static_cast<std::int64_t>(gridDim.x) * threads;
  CtaMeetings peers(reduce.flags, limit);
  peers.begin();
  for_each_of_warp(octets.count, stride * in_flight, [&](std::int64_t first) {
    Place places[in_flight];
    bool is_octet[in_flight];
    Sum sums[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      is_octet[i] = first + i * stride < octets.count;
      places[i] = octets.at(is_octet[i] ? first + i * stride : 0);
    }
    const PeerReduce::Source own{reduce.result.rows.data,
                                 static_cast<const float*>(reduce.result.log_sum_exp.data),
                                 {0, reduce.result.rows.rows}};
    add_source(own, octets.of_row, heads, places, is_octet, sums);
    for (int source = 0; source < reduce.count; ++source)
      add_source(reduce.sources[source], octets.of_row, heads, places, is_octet, sums);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      if (!is_octet[i]) continue;
      *octet_at(reduce.result.rows, places[i]) = sums[i].result();
      if constexpr (std::is_same_v<Sum, MergedOctet>)
        if (octets.begins_head(places[i])) *logarithm_at(reduce.result.log_sum_exp, places[i]) = sums[i].log_sum_exp();
    }
  });
  peers.meet();
}

}  // namespace

void log_sum_exp_merge(const MergedResults& sources, const MergedResult& destination, cudaStream_t stream) {
  const std::int64_t most_ctas = std::int64_t{sms_of_gpu()} * ctas_of_sm;
  const Octets octets(destination);
  const auto ctas = static_cast<unsigned>(std::min(divided_up(octets.count, std::int64_t{threads}), most_ctas));
  merge_kernel<<<ctas, threads, 0, stream>>>(sources, destination, octets);
  WEFT_CHECK(cudaGetLastError());
}

void merge_many(const MergedResult& first, int count, const MergedResult& destination, cudaStream_t stream) {
  const Octets octets(destination);
  const auto ctas = static_cast<unsigned>(divided_up(octets.count, std::int64_t{octets_of_cta}));
  merge_many_kernel<<<ctas, threads, 0, stream>>>(first, count, destination, octets);
  WEFT_CHECK(cudaGetLastError());
}

void enqueue(const PeerReduce& reduce, const WaitLimit& limit, cudaStream_t stream) {
  const bool merges = reduce.result.log_sum_exp.data != nullptr;
  const auto kernel = merges ? reduce_kernel<MergedOctet> : reduce_kernel<PlainSum>;
  kernel<<<reduce.ctas, threads, 0, stream>>>(reduce, Octets(reduce.result), limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
