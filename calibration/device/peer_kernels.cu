#include "calibration/device/check.hpp"
#include "calibration/device/meeting.cuh"
#include "calibration/device/octet.cuh"
#include "calibration/device/peer_bulk_kernels.hpp"
#include "calibration/device/peer_kernels.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = 512;
constexpr float norm_epsilon = 1e-6F;

/// How many threads a CTA has, and how many octets of how many ranks each of them asks for at once.
template <int threads_of_cta, int octets_at_once, int ranks_asked>
struct CtaShape {
  static constexpr int threads = threads_of_cta, in_flight = octets_at_once, ranks_at_once = ranks_asked;
};
/// Of copies, and of sums in one shot: all threads together ask for a batch of each rank.
using BatchShape = CtaShape<threads, 4, 2>;
static_assert(BatchShape::threads * BatchShape::in_flight * sizeof(Octet) == own_sum_batch);

/// Calls work(first, stride) so that all threads of the grid share out `count` items, in_flight at a time.
template <class Shape, class Work>
__device__ void share_out(std::int64_t count, const Work& work) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * Shape::threads;
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * Shape::threads + threadIdx.x;
  for (std::int64_t first = own; first < count; first += stride * Shape::in_flight) work(first, stride);
}

/// The octets first, first + stride, … of a share that one thread works on at once.
template <int in_flight, class Visit>
__device__ void for_each_in_flight(std::int64_t first, std::int64_t stride, std::int64_t count, const Visit& visit) {
#pragma unroll
  for (int i = 0; i < in_flight; ++i)
    if (first + i * stride < count) visit(i, first + i * stride);
}

/// Adds to `sums` octets first, first + stride, … below `count` of every rank's input from `offset` on, in the order of
/// the ranks from `begin` on. Several ranks' octets are asked for at once: what is under way, not the adding, limits a
/// CTA.
template <class Shape>
__device__ void sum_of_ranks(const PeerBuffer& input, int ranks, int begin, std::int64_t offset, std::int64_t first,
                             std::int64_t stride, std::int64_t count, OctetSum (&sums)[Shape::in_flight]) {
  constexpr int in_flight = Shape::in_flight, at_once = Shape::ranks_at_once;
  for (int place = 0; place < ranks; place += at_once) {
    Octet loaded[at_once][in_flight];
    const auto for_each_rank = [&](const auto& visit) {
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (place + i < ranks) visit(loaded[i], octets(input, (begin + place + i) % ranks) + offset);
    };
    for_each_rank([&](Octet(&of_rank)[in_flight], const Octet* from) {
      for_each_in_flight<in_flight>(first, stride, count,
                                    [&](int i, std::int64_t at) { of_rank[i] = load_past_l1(from + at); });
    });
    for_each_rank([&](const Octet(&of_rank)[in_flight], const Octet*) {
      for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t) { sums[i].add(of_rank[i]); });
    });
  }
}

/// One share: of the own input to a rank's output, or of a peer's to the own.
__device__ void copy_share(const Octet* from, Octet* to, std::int64_t count) {
  constexpr int in_flight = BatchShape::in_flight;
  share_out<BatchShape>(count, [&](std::int64_t first, std::int64_t stride) {
    Octet loaded[in_flight];
    for_each_in_flight<in_flight>(first, stride, count,
                                  [&](int i, std::int64_t at) { loaded[i] = load_past_l1(from + at); });
    for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t at) { to[at] = loaded[i]; });
  });
}

/// Where this rank's share lies in what a rank gets of an all-reduce or a gather, in an exchange what it has for it.
__device__ Octet* own_place(const PeerCollective& collective, int rank) {
  return octets(collective.output, rank) + collective.flags.rank * collective.share_octets;
}

/// Each rank adds up its share of what all have, for itself or for all. It asks the next rank first and itself last, so
/// that no two ask the same port at once and what is near does not hold up what is far (by 8 CTAs of 2 H100s that takes
/// a tenth less). A share is summed by one rank, so all see the same bits.
template <class Shape, bool is_for_all>
__global__ void __launch_bounds__(Shape::threads) sum_kernel(PeerCollective collective, WaitLimit limit) {
  constexpr int in_flight = Shape::in_flight;
  CtaMeetings peers(collective.flags, limit);
  const std::int64_t share = collective.share_octets;
  const int ranks = collective.flags.ranks, own = collective.flags.rank;
  peers.begin();
  share_out<Shape>(share, [&](std::int64_t first, std::int64_t stride) {
    OctetSum sums[in_flight];
    sum_of_ranks<Shape>(collective.input, ranks, own + 1, own * share, first, stride, share, sums);
    for_each_in_flight<in_flight>(first, stride, share, [&](int i, std::int64_t at) {
      const Octet sum = sums[i].scaled(1);
      if constexpr (is_for_all)
        for (int step = 0; step < ranks; ++step) own_place(collective, (own + step) % ranks)[at] = sum;
      else
        octets(collective.output, own)[at] = sum;
    });
  });
  peers.meet();
}

__global__ void __launch_bounds__(threads) push_kernel(PeerCollective collective, WaitLimit limit) {
  CtaMeetings peers(collective.flags, limit);
  const std::int64_t share = collective.share_octets;
  const int ranks = collective.flags.ranks, own = collective.flags.rank;
  const bool is_exchange = collective.kind == CollectiveKind::all_to_all;
  peers.begin();
  for (int step = 0; step < ranks; ++step) {
    const int to = (own + step) % ranks;
    copy_share(octets(collective.input, own) + (is_exchange ? to * share : 0), own_place(collective, to), share);
  }
  peers.meet();
}

/// An all-reduce of what fits the registers: every rank loads all that all have, and stores it to itself alone once
/// they have met, since the output may be the input.
__global__ void __launch_bounds__(threads) one_shot_kernel(PeerCollective collective, WaitLimit limit) {
  constexpr int in_flight = BatchShape::in_flight;
  const BarrierFlags& flags = collective.flags;
  CtaMeetings peers(flags, limit);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t count = collective.share_octets * flags.ranks;
  peers.begin();
  OctetSum sums[in_flight];
  constexpr int begin = 0;  // all ranks add in one order: the same bits
  sum_of_ranks<BatchShape>(collective.input, flags.ranks, begin, 0, first, stride, count, sums);
  peers.meet();
  for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t at) {
    octets(collective.output, flags.rank)[at] = sums[i].scaled(1);
  });
}

__global__ void __launch_bounds__(threads) pull_kernel(const __grid_constant__ PeerPulls pulls, WaitLimit limit) {
  CtaMeetings peers(pulls.flags, limit);
  peers.begin();
  for (int i = 0; i < pulls.count; ++i) {
    const Pull& pull = pulls.of_rank[i];
    copy_share(static_cast<const Octet*>(pull.from), static_cast<Octet*>(pull.to), pull.octets);
  }
  peers.meet();
}

/// A gather or an exchange as what this rank fetches: its own share, then the next rank's, so that no port is asked by
/// all.
PeerPulls pulls_of(const PeerCollective& collective) {
  PeerPulls pulls{.ctas = collective.ctas, .flags = collective.flags};
  const std::int64_t share = collective.share_octets;
  const int ranks = collective.flags.ranks, own = collective.flags.rank;
  const std::int64_t offset = collective.kind == CollectiveKind::all_gather ? 0 : own * share;
  for (int place = 0; place < ranks; ++place) {
    const int from = (own + place) % ranks;
    pulls.add({static_cast<const Octet*>(collective.input.of_rank[from]) + offset,
               static_cast<Octet*>(collective.output.of_rank[own]) + from * share, share});
  }
  return pulls;
}

template <class Shape, bool is_for_all>
void enqueue_sum(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  sum_kernel<Shape, is_for_all><<<collective.ctas, Shape::threads, 0, stream>>>(collective, limit);
}

/// What is under way hides the links' latency. What is under way beyond that waits at the ports, and makes it worse
/// where an all-reduce stores to all ranks what it loads from all: more CTAs ask for less at once. Of more ranks four
/// are asked at once, so that a batch waits for the links once. Between which of nine shapes to change was measured on
/// 2 and 4 H100s: the best for one number of CTAs is up to 20 % slower with another. What came of it:
/// calibration/measurements/two-shot-2026-11-27.
void enqueue_all_reduce(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  const int ctas = collective.ctas, ranks = collective.flags.ranks;
  const auto bytes = collective.share_octets * ranks * static_cast<Bytes>(sizeof(Octet));
  if (runs_one_shot(ranks, ctas, bytes))
    one_shot_kernel<<<ctas, BatchShape::threads, 0, stream>>>(collective, limit);
  else if (ranks == 2 && ctas <= 16)
    enqueue_sum<CtaShape<1024, 2, 2>, true>(collective, limit, stream);
  else if (ranks == 2 || ctas <= 8)
    enqueue_sum<CtaShape<1024, 1, 4>, true>(collective, limit, stream);
  else
    enqueue_sum<CtaShape<512, 1, 4>, true>(collective, limit, stream);
}

void enqueue_reduce_scatter(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  if (collective.flags.ranks == 2)
    enqueue_sum<CtaShape<1024, 2, 2>, false>(collective, limit, stream);
  else if (collective.ctas <= 12)
    enqueue_sum<CtaShape<1024, 2, 4>, false>(collective, limit, stream);
  else
    enqueue_sum<CtaShape<1024, 1, 4>, false>(collective, limit, stream);
}

void enqueue_copies(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  if (const PeerPulls pulls = pulls_of(collective); moves_in_bulk(pulls)) return enqueue_bulk(pulls, limit, stream);
  push_kernel<<<collective.ctas, BatchShape::threads, 0, stream>>>(collective, limit);
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
  CtaMeetings peers(flags, limit);
  peers.begin();
  constexpr int teams = threads / team;
  for (std::int64_t row = blockIdx.x * teams + threadIdx.x / team; row < own_rows; row += gridDim.x * teams) {
    const std::int64_t first = (flags.rank * own_rows + row) * octets_of_row;
    OctetSum sums[most];
    for (int step = 0; step < flags.ranks; ++step) {
      const Octet* from = octets(norm.partial, (flags.rank + step) % flags.ranks) + first;
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
  peers.meet();
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
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      enqueue_all_reduce(collective, limit, stream);
      break;
    case CollectiveKind::reduce_scatter:
      enqueue_reduce_scatter(collective, limit, stream);
      break;
    case CollectiveKind::all_gather:
    case CollectiveKind::all_to_all:
      enqueue_copies(collective, limit, stream);
      break;
  }
  WEFT_CHECK(cudaGetLastError());
}

void enqueue(const PeerPulls& pulls, const WaitLimit& limit, cudaStream_t stream) {
  if (moves_in_bulk(pulls)) return enqueue_bulk(pulls, limit, stream);
  pull_kernel<<<pulls.ctas, threads, 0, stream>>>(pulls, limit);
  WEFT_CHECK(cudaGetLastError());
}

void enqueue(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream) {
  norm_kernel_for(norm.columns)<<<norm.ctas, threads, 0, stream>>>(norm, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
