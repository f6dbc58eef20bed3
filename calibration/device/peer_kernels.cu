#include "calibration/device/check.hpp"
#include "calibration/device/octet.cuh"
#include "calibration/device/peer_kernels.hpp"
#include "calibration/device/waiting.cuh"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = 512;
constexpr int in_flight = 4;  // octets of each source that a thread asks for at once
constexpr float norm_epsilon = 1e-6F;

__device__ const Octet* octets(const PeerBuffer& buffer, int rank) {
  return static_cast<const Octet*>(buffer.of_rank[rank]);
}
__device__ Octet* octets(PeerBuffer& buffer, int rank) { return static_cast<Octet*>(buffer.of_rank[rank]); }

/// CTA i of this rank meets CTA i of all others. What any of their threads stored before, all see afterwards.
__device__ void meet_cta(const BarrierFlags& flags, const WaitLimit& limit) {
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < flags.ranks && peer != flags.rank) {
    const int first = static_cast<int>(blockIdx.x) * flags.ranks;
    __threadfence_system();
    if (change(flags.of_rank[peer] + first + flags.rank, 0, 1, cuda::memory_order_release, limit, peer))
      change(flags.of_rank[flags.rank] + first + peer, 1, 0, cuda::memory_order_acquire, limit, peer);
  }
  __syncthreads();
}

/// Calls work(first, stride) so that all threads of the grid share out `count` items, in_flight at a time.
template <class Work>
__device__ void share_out(std::int64_t count, const Work& work) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  for (std::int64_t first = own; first < count; first += stride * in_flight) work(first, stride);
}

/// The sum over all ranks of octets first, first + stride, … of each one's input from `offset` on.
template <class Store>
__device__ void sum_of_ranks(const PeerCollective& collective, std::int64_t offset, const Store& store) {
  const std::int64_t count = collective.share_octets;
  share_out(count, [&](std::int64_t first, std::int64_t stride) {
    OctetSum sums[in_flight];
    for (int rank = 0; rank < collective.flags.ranks; ++rank) {
      const Octet* from = octets(collective.input, rank) + offset;
      Octet loaded[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i)
        if (first + i * stride < count) loaded[i] = load_past_l1(from + first + i * stride);
#pragma unroll
      for (int i = 0; i < in_flight; ++i)
        if (first + i * stride < count) sums[i].add(loaded[i]);
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i)
      if (first + i * stride < count) store(first + i * stride, sums[i].scaled(1));
  });
}

/// One share of a rank's input to its own output.
__device__ void copy_share(const Octet* from, Octet* to, std::int64_t count) {
  share_out(count, [&](std::int64_t first, std::int64_t stride) {
    Octet loaded[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i)
      if (first + i * stride < count) loaded[i] = load_past_l1(from + first + i * stride);
#pragma unroll
    for (int i = 0; i < in_flight; ++i)
      if (first + i * stride < count) to[first + i * stride] = loaded[i];
  });
}

__global__ void __launch_bounds__(threads) peer_collective_kernel(PeerCollective collective, WaitLimit limit) {
  const BarrierFlags& flags = collective.flags;
  const std::int64_t share = collective.share_octets;
  const int ranks = flags.ranks, own = flags.rank;
  meet_cta(flags, limit);
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      sum_of_ranks(collective, own * share, [&](std::int64_t i, const Octet& sum) {
        for (int step = 0; step < ranks; ++step) octets(collective.output, (own + step) % ranks)[own * share + i] = sum;
      });
      break;
    case CollectiveKind::reduce_scatter:
      sum_of_ranks(collective, own * share,
                   [&](std::int64_t i, const Octet& sum) { octets(collective.output, own)[i] = sum; });
      break;
    case CollectiveKind::all_gather:
      for (int step = 0; step < ranks; ++step) {
        const int from = (own + step) % ranks;
        copy_share(octets(collective.input, from), octets(collective.output, own) + from * share, share);
      }
      break;
    case CollectiveKind::all_to_all:
      for (int step = 0; step < ranks; ++step) {
        const int from = (own + step) % ranks;
        copy_share(octets(collective.input, from) + own * share, octets(collective.output, own) + from * share, share);
      }
      break;
  }
  meet_cta(flags, limit);
}

/// Of the threads of a team, which share a row; every one gets it.
template <int team>
__device__ float sum_of_team(float value) {
  __shared__ float of_warp[threads / 32];
  const int warp = static_cast<int>(threadIdx.x) / 32, first_warp = warp / (team / 32) * (team / 32);
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffU, value, lanes);
  const auto meet = [&] { asm volatile("bar.sync %0, %1;" ::"r"(1 + warp / (team / 32)), "n"(team) : "memory"); };
  meet();  // the sums of the row before have been read
  if (threadIdx.x % 32 == 0) of_warp[warp] = value;
  meet();
  float sum = 0;
  for (int i = 0; i < team / 32; ++i) sum += of_warp[first_warp + i];
  return sum;
}

/// A team of threads for each row, `most` octets for each thread, which asks for all of them at once to hide the links'
/// latency.
template <int team, int most>
__global__ void __launch_bounds__(threads, 1) peer_norm_kernel(PeerAllReduceNorm norm, WaitLimit limit) {
  const BarrierFlags& flags = norm.flags;
  const std::int64_t octets_of_row = norm.columns / 8, own_rows = norm.rows / flags.ranks;
  const int first_column = static_cast<int>(threadIdx.x) % team;
  auto* residual = static_cast<Octet*>(norm.residual);
  const auto for_each_octet = [&](const auto& work) {
#pragma unroll
    for (int i = 0; i < most; ++i)
      if (first_column + i * team < octets_of_row) work(i, first_column + i * team);
  };
  meet_cta(flags, limit);
  constexpr int teams = threads / team;
  for (std::int64_t row = blockIdx.x * teams + threadIdx.x / team; row < own_rows; row += gridDim.x * teams) {
    const std::int64_t first = (flags.rank * own_rows + row) * octets_of_row;
    OctetSum sums[most];
    for (int step = 0; step < flags.ranks; ++step) {
      const Octet* from = octets(norm.partial, step) + first;
      Octet loaded[most];
      for_each_octet([&](int i, int column) { loaded[i] = load_past_l1(from + column); });
      for_each_octet([&](int i, int) { sums[i].add(loaded[i]); });
    }
    float squares = 0;
    for_each_octet([&](int i, int column) {
      sums[i].add(residual[first + column]);
      residual[first + column] = sums[i].scaled(1);
      squares += sums[i].sum_of_squares();
    });
    const float factor = rsqrtf(sum_of_team<team>(squares) / static_cast<float>(norm.columns) + norm_epsilon);
    for_each_octet([&](int i, int column) {
      const Octet scaled = sums[i].scaled(factor);
      for (int step = 0; step < flags.ranks; ++step)
        octets(norm.normed, (flags.rank + step) % flags.ranks)[first + column] = scaled;
    });
  }
  meet_cta(flags, limit);
}

using NormKernel = void (*)(PeerAllReduceNorm, WaitLimit);
NormKernel norm_kernel_for(std::int64_t columns) {
  if (columns <= 128 * 4 * 8) return peer_norm_kernel<128, 4>;
  if (columns <= 128 * 8 * 8) return peer_norm_kernel<128, 8>;
  static_assert(max_norm_columns == 256 * 8 * 8);
  return peer_norm_kernel<256, 8>;
}

}  // namespace

void enqueue(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  peer_collective_kernel<<<collective.ctas, threads, 0, stream>>>(collective, limit);
  WEFT_CHECK(cudaGetLastError());
}

void enqueue(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream) {
  norm_kernel_for(norm.columns)<<<norm.ctas, threads, 0, stream>>>(norm, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
