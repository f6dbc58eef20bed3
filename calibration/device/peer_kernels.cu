#include <algorithm>

#include "calibration/device/check.hpp"
#include "calibration/device/meeting.cuh"
#include "calibration/device/norm.cuh"
#include "calibration/device/octet.cuh"
#include "calibration/device/peer_bulk_kernels.hpp"
#include "calibration/device/peer_kernels.hpp"
#include "models/base/division.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int threads = 512;

/// How many threads a CTA has at most, and how many octets of how many ranks each of them asks for at once.
template <int threads_of_cta, int octets_at_once, int ranks_asked>
struct CtaShape {
  static constexpr int threads = threads_of_cta, in_flight = octets_at_once, ranks_at_once = ranks_asked;
};
constexpr int copies_in_flight = 4;

/// Calls work(first, stride) so that all threads of the grid share out `count` items, in_flight at a time.
template <int in_flight, class Work>
__device__ void share_out(std::int64_t count, const Work& work) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t own = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t first = own; first < count; first += stride * in_flight) work(first, stride);
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
  constexpr int in_flight = copies_in_flight;
  share_out<in_flight>(count, [&](std::int64_t first, std::int64_t stride) {
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
  share_out<in_flight>(share, [&](std::int64_t first, std::int64_t stride) {
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

/// What the busiest CTA adds up of each rank.
std::int64_t octets_of_cta(const PeerCollective& collective) {
  return divided_up(collective.share_octets, collective.ctas);
}

/// With no more threads than find work, so that no CTA has less than others; fewer than 256 gain nothing.
template <class Shape, bool is_for_all>
void enqueue_sum(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  constexpr std::int64_t warp = 32, fewest = 256;
  const std::int64_t needed = divided_up(octets_of_cta(collective), warp) * warp;
  const auto threads_of_cta = static_cast<unsigned>(std::clamp<std::int64_t>(needed, fewest, Shape::threads));
  sum_kernel<Shape, is_for_all><<<collective.ctas, threads_of_cta, 0, stream>>>(collective, limit);
}

/// What is under way hides the links' latency. What is under way beyond that waits at the ports, and makes it worse
/// where an all-reduce stores to all ranks what it loads from all: more CTAs ask for less at once. Of more ranks four
/// are asked at once, so that a batch waits for the links once. Between which of nine shapes to change was measured on
/// 2 and 4 H100s, and where there is little to add up on 2 and 4 H200s: the best for one number of CTAs is up to 20 %
/// slower with another. What came of it: calibration/measurements/two-shot-2026-11-27.
void enqueue_all_reduce(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  const int ctas = collective.ctas;
  const std::int64_t octets = octets_of_cta(collective);
  const bool has_many_ranks = collective.flags.ranks > 2;
  if (octets <= (has_many_ranks ? 1536 : 512) || (has_many_ranks && ctas > 8))
    enqueue_sum<CtaShape<512, 1, 4>, true>(collective, limit, stream);
  else if (octets <= 1024 || has_many_ranks || ctas > 16)
    enqueue_sum<CtaShape<1024, 1, 4>, true>(collective, limit, stream);
  else
    enqueue_sum<CtaShape<1024, 2, 2>, true>(collective, limit, stream);
}

void enqueue_reduce_scatter(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  const std::int64_t octets = octets_of_cta(collective);
  const bool has_many_ranks = collective.flags.ranks > 2;
  const bool asks_for_more = sums_ask_for_more(collective.flags.ranks, collective.ctas);
  if (octets <= 512)
    enqueue_sum<CtaShape<512, 1, 4>, false>(collective, limit, stream);
  else if (octets <= 1024 || (has_many_ranks && !asks_for_more))
    enqueue_sum<CtaShape<1024, 1, 4>, false>(collective, limit, stream);
  else if (has_many_ranks)
    enqueue_sum<CtaShape<1024, 2, 4>, false>(collective, limit, stream);
  else
    enqueue_sum<CtaShape<1024, 2, 2>, false>(collective, limit, stream);
}

void enqueue_copies(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream) {
  if (const PeerPulls pulls = pulls_of(collective); moves_in_bulk(pulls)) return enqueue_bulk(pulls, limit, stream);
  push_kernel<<<collective.ctas, threads, 0, stream>>>(collective, limit);
}

/// Where nothing brings the rows but the threads: a team for each row, `most` octets for each thread, which asks for
/// all of them at once to hide the links' latency.
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
    const float factor = factor_of_norm<threads, team>(squares, norm.columns);
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
  if (has_memory_accelerator()) return enqueue_bulk(norm, limit, stream);
  norm_kernel_for(norm.columns)<<<norm.ctas, threads, 0, stream>>>(norm, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
