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

/// How many threads a CTA has, and how many octets of each source each of them asks for at once.
template <int threads_of_cta, int octets_at_once>
struct CtaShape {
  static constexpr int threads = threads_of_cta, in_flight = octets_at_once;
};
/// With as much under way, more threads add up faster (8 CTAs, 8 MiB on 2 H100s: reduce-scatter 30 instead of 35 us)
/// and store worse to two ranks at once (24 CTAs, 4 MiB: all-reduce 21 instead of 19 us).
using ManyThreads = CtaShape<1024, 2>;
using FewThreads = CtaShape<threads, 4>;

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
/// the ranks from `begin` on. Two ranks' octets are asked for at once: what is under way, not the adding, limits a CTA.
template <int in_flight>
__device__ void sum_of_ranks(const PeerBuffer& input, int ranks, int begin, std::int64_t offset, std::int64_t first,
                             std::int64_t stride, std::int64_t count, OctetSum (&sums)[in_flight]) {
  const auto of_rank = [&](int place) { return octets(input, (begin + place) % ranks) + offset; };
  for (int place = 0; place < ranks; place += 2) {
    const Octet* const even = of_rank(place);
    const Octet* const odd = place + 1 < ranks ? of_rank(place + 1) : nullptr;
    Octet of_even[in_flight], of_odd[in_flight];
    for_each_in_flight<in_flight>(first, stride, count,
                                  [&](int i, std::int64_t at) { of_even[i] = load_past_l1(even + at); });
    if (odd != nullptr)
      for_each_in_flight<in_flight>(first, stride, count,
                                    [&](int i, std::int64_t at) { of_odd[i] = load_past_l1(odd + at); });
    for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t) { sums[i].add(of_even[i]); });
    if (odd != nullptr)
      for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t) { sums[i].add(of_odd[i]); });
  }
}

/// Of so few CTAs the adding takes longer than the links.
constexpr int few_ctas = 12;

/// The sum over all ranks of a share of each one's input, from `offset` on. Each rank begins with its own, so that no
/// two ask the same port at once: a share is summed by one rank, so all see the same bits. On 4 H200s that takes a
/// tenth less by 16 to 32 CTAs and 1 to 8 MiB, and a tenth more by 8, which leave ports idle anyway.
template <class Shape, class Store>
__device__ void sum_share(const PeerCollective& collective, std::int64_t offset, const Store& store) {
  constexpr int in_flight = Shape::in_flight;
  const std::int64_t count = collective.share_octets;
  share_out<Shape>(count, [&](std::int64_t first, std::int64_t stride) {
    OctetSum sums[in_flight];
    const int begin = static_cast<int>(gridDim.x) > few_ctas ? collective.flags.rank : 0;
    sum_of_ranks(collective.input, collective.flags.ranks, begin, offset, first, stride, count, sums);
    for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t at) { store(at, sums[i].scaled(1)); });
  });
}

/// One share: of the own input to a rank's output, or of a peer's to the own.
template <class Shape>
__device__ void copy_share(const Octet* from, Octet* to, std::int64_t count) {
  constexpr int in_flight = Shape::in_flight;
  share_out<Shape>(count, [&](std::int64_t first, std::int64_t stride) {
    Octet loaded[in_flight];
    for_each_in_flight<in_flight>(first, stride, count,
                                  [&](int i, std::int64_t at) { loaded[i] = load_past_l1(from + at); });
    for_each_in_flight<in_flight>(first, stride, count, [&](int i, std::int64_t at) { to[at] = loaded[i]; });
  });
}

template <class Shape>
__global__ void __launch_bounds__(Shape::threads) peer_collective_kernel(PeerCollective collective, WaitLimit limit) {
  CtaMeetings peers(collective.flags, limit);
  const std::int64_t share = collective.share_octets;
  const int ranks = collective.flags.ranks, own = collective.flags.rank;
  const auto place = [&](int rank) { return octets(collective.output, rank) + own * share; };
  peers.begin();
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      sum_share<Shape>(collective, own * share, [&](std::int64_t i, const Octet& sum) {
        for (int step = 0; step < ranks; ++step) place((own + step) % ranks)[i] = sum;
      });
      break;
    case CollectiveKind::reduce_scatter:
      sum_share<Shape>(collective, own * share,
                       [&](std::int64_t i, const Octet& sum) { octets(collective.output, own)[i] = sum; });
      break;
    case CollectiveKind::all_gather:
      for (int step = 0; step < ranks; ++step)
        copy_share<Shape>(octets(collective.input, own), place((own + step) % ranks), share);
      break;
    case CollectiveKind::all_to_all:
      for (int step = 0; step < ranks; ++step) {
        const int to = (own + step) % ranks;
        copy_share<Shape>(octets(collective.input, own) + to * share, place(to), share);
      }
      break;
  }
  peers.meet();
}

/// An all-reduce of what fits the registers: every rank loads all that all have, and stores it to itself alone once
/// they have met, since the output may be the input.
__global__ void __launch_bounds__(threads) one_shot_kernel(PeerCollective collective, WaitLimit limit) {
  constexpr int in_flight = FewThreads::in_flight;
  const BarrierFlags& flags = collective.flags;
  CtaMeetings peers(flags, limit);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t count = collective.share_octets * flags.ranks;
  peers.begin();
  OctetSum sums[in_flight];
  constexpr int begin = 0;  // all ranks add in one order: the same bits
  sum_of_ranks(collective.input, flags.ranks, begin, 0, first, stride, count, sums);
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
    copy_share<FewThreads>(static_cast<const Octet*>(pull.from), static_cast<Octet*>(pull.to), pull.octets);
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

bool is_copy(const PeerCollective& collective) {
  return collective.kind == CollectiveKind::all_gather || collective.kind == CollectiveKind::all_to_all;
}

bool is_one_shot(const PeerCollective& collective) {
  static_assert(FewThreads::threads * FewThreads::in_flight * sizeof(Octet) == own_sum_batch &&
                ManyThreads::threads * ManyThreads::in_flight * sizeof(Octet) == own_sum_batch);
  const std::int64_t octets = collective.share_octets * collective.flags.ranks;
  return collective.kind == CollectiveKind::all_reduce &&
         runs_one_shot(collective.flags.ranks, collective.ctas, octets * static_cast<Bytes>(sizeof(Octet)));
}

bool adds_up_by_many_threads(const PeerCollective& collective) {
  return collective.kind == CollectiveKind::reduce_scatter ||
         (collective.kind == CollectiveKind::all_reduce && collective.ctas <= few_ctas);
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
  if (const PeerPulls pulls = pulls_of(collective); is_copy(collective) && moves_in_bulk(pulls))
    return enqueue_bulk(pulls, limit, stream);
  if (is_one_shot(collective))
    one_shot_kernel<<<collective.ctas, FewThreads::threads, 0, stream>>>(collective, limit);
  else if (adds_up_by_many_threads(collective))
    peer_collective_kernel<ManyThreads><<<collective.ctas, ManyThreads::threads, 0, stream>>>(collective, limit);
  else
    peer_collective_kernel<FewThreads><<<collective.ctas, FewThreads::threads, 0, stream>>>(collective, limit);
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
