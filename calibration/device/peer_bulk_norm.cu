#include <algorithm>
#include <type_traits>
#include <utility>

#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/meeting.cuh"
#include "calibration/device/norm.cuh"
#include "calibration/device/octet.cuh"
#include "calibration/device/peer_bulk_kernels.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

constexpr int warp = 32, norming_threads = 512, threads = norming_threads + warp;
constexpr int most_octets_of_slots = 12 * 1024;  // 192 KiB

/// A team of threads for each row, most_octets of it for each thread, and for each team a ring of slots, each of which
/// holds one rank's row.
template <int threads_of_team, int octets_of_thread, int slots_of_team>
struct TeamShape {
  static constexpr int team = threads_of_team, most_octets = octets_of_thread, teams = norming_threads / team;
  static constexpr int octets_of_slot = team * most_octets, slots = slots_of_team;
};

template <class Shape>
struct RingOfTeam {
  alignas(128) Octet row[Shape::slots][Shape::octets_of_slot];
  hopper::Barrier loaded[Shape::slots], freed[Shape::slots];
};
template <class Shape>
struct SharedMemory {
  RingOfTeam<Shape> of_team[Shape::teams];
};

/// The rows of this rank that a team norms, one after the other. Each has a source more than there are ranks: the rows
/// of all, the next rank's first and the own last, so that no two ask the same port at once; then the residual's.
template <int teams>
class RowsOfTeam {
 public:
  __device__ RowsOfTeam(const PeerAllReduceNorm& norm, int team)
      : octets_(norm.columns / 8),
        rows_(norm.rows / norm.flags.ranks),
        row_(std::int64_t{blockIdx.x} * teams + team),
        own_first_(norm.flags.rank * rows_ * octets_) {}
  __device__ bool is_there() const { return row_ < rows_; }
  __device__ void advance() { row_ += std::int64_t{gridDim.x} * teams; }
  __device__ int octets() const { return static_cast<int>(octets_); }
  /// Where it begins in the matrix, in octets.
  __device__ std::int64_t place() const { return own_first_ + row_ * octets_; }
  __device__ const Octet* source(const PeerAllReduceNorm& norm, int number) const {
    const int ranks = norm.flags.ranks;
    return place() + (number < ranks ? device::octets(norm.partial, (norm.flags.rank + 1 + number) % ranks)
                                     : static_cast<const Octet*>(norm.residual));
  }

 private:
  std::int64_t octets_, rows_, row_, own_first_;
};

/// What one team adds up, asked for as its ring has room.
template <class Shape>
class LoadsOfTeam {
 public:
  __device__ LoadsOfTeam(const PeerAllReduceNorm& norm, int team) : rows_(norm, team) {}
  __device__ bool are_there() const { return rows_.is_there(); }
  __device__ void ask_if_free(RingOfTeam<Shape>& shared, const PeerAllReduceNorm& norm) {
    if (!are_there() || !hopper::has_ended(shared.freed[ring_.slot], ring_.parity ^ 1)) return;
    const int bytes = rows_.octets() * static_cast<int>(sizeof(Octet));
    hopper::arrive_and_expect(shared.loaded[ring_.slot], bytes);
    hopper::load_bytes(shared.row[ring_.slot], rows_.source(norm, source_), bytes, shared.loaded[ring_.slot]);
    ring_.advance();
    if (++source_ <= norm.flags.ranks) return;
    source_ = 0;
    rows_.advance();
  }

 private:
  RowsOfTeam<Shape::teams> rows_;
  hopper::Ring<Shape::slots> ring_;
  int source_ = 0;
};

/// One thread for all teams, in turn: none waits for what another has not read.
template <class Shape, int... team>
__device__ void load_rows(SharedMemory<Shape>& shared, const PeerAllReduceNorm& norm,
                          std::integer_sequence<int, team...>) {
  LoadsOfTeam<Shape> loads[] = {{norm, team}...};
  while ((loads[team].are_there() || ...)) (loads[team].ask_if_free(shared.of_team[team], norm), ...);
}

template <class Shape>
__device__ void norm_rows(RingOfTeam<Shape>& shared, const PeerAllReduceNorm& norm, RowsOfTeam<Shape::teams> rows) {
  constexpr int team = Shape::team, most = Shape::most_octets;
  const int ranks = norm.flags.ranks, first_column = static_cast<int>(threadIdx.x) % team;
  const auto for_each_octet = [&](const auto& work) {
#pragma unroll
    for (int i = 0; i < most; ++i)
      if (first_column + i * team < rows.octets()) work(i, first_column + i * team);
  };
  hopper::Ring<Shape::slots> ring;
  for (; rows.is_there(); rows.advance()) {
    OctetSum sums[most];
    for (int source = 0; source <= ranks; ++source, ring.advance()) {
      hopper::wait(shared.loaded[ring.slot], ring.parity);
      for_each_octet([&](int i, int column) { sums[i].add(shared.row[ring.slot][column]); });
      __syncwarp();
      if (threadIdx.x % warp == 0) hopper::arrive(shared.freed[ring.slot]);
    }
    Octet* residual = static_cast<Octet*>(norm.residual) + rows.place();
    float squares = 0;
    for_each_octet([&](int i, int column) {
      residual[column] = sums[i].scaled(1);
      squares += sums[i].sum_of_squares();
    });
    const float factor = factor_of_norm<norming_threads, team>(squares, norm.columns);
    for_each_octet([&](int i, int column) {
      const Octet scaled = sums[i].scaled(factor);
      for (int step = 0; step < ranks; ++step)
        octets(norm.normed, (norm.flags.rank + step) % ranks)[rows.place() + column] = scaled;
    });
  }
}

template <class Shape>
__global__ void __launch_bounds__(threads, 1)
    peer_bulk_norm_kernel(const __grid_constant__ PeerAllReduceNorm norm, const __grid_constant__ WaitLimit limit) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<Shape>>(memory);
  constexpr int team = Shape::team;
  if (threadIdx.x == 0) {
    for (RingOfTeam<Shape>& ring : shared.of_team)
      for (int i = 0; i < Shape::slots; ++i) {
        hopper::init(ring.loaded[i], 1);
        hopper::init(ring.freed[i], team / warp);
      }
    hopper::publish_barriers();
  }
  CtaMeetings peers(norm.flags, limit);
  peers.begin();
  hopper::order_with_copies();
  if (threadIdx.x == norming_threads) load_rows(shared, norm, std::make_integer_sequence<int, Shape::teams>{});
  if (const int own = static_cast<int>(threadIdx.x) / team; own < Shape::teams)
    norm_rows(shared.of_team[own], norm, RowsOfTeam<Shape::teams>(norm, own));
  peers.meet();
}

template <class Shape>
void enqueue_as(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream) {
  constexpr int shared_bytes = hopper::bytes_to_align<SharedMemory<Shape>>;
  const auto kernel = peer_bulk_norm_kernel<Shape>;
  WEFT_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  kernel<<<norm.ctas, threads, shared_bytes, stream>>>(norm, limit);
  WEFT_CHECK(cudaGetLastError());
}

/// A row fits its slots with little left, and its threads have as many octets each: rows of a model are as long as it
/// is wide, from 2,048 to 16,384 columns in steps of 256 or so. A team takes some 3 us a row however short it is, so
/// short ones have more teams. For two ranks as many slots as shared memory has, for
/// more ranks half as many: what is under way beyond what hides the links' latency waits at the ports. Of seventeen
/// shapes for rows of 4,096, 8,192 and 16,384 columns, measured with 4 to 24 CTAs of 2 and 4 H200s, these are the best
/// or near it (calibration/measurements/fused-norm-2026-11-27).
template <int team, int octets_of_thread, bool is_pair>
using ShapeOfRow = TeamShape<team, octets_of_thread,
                             std::max(2, (is_pair ? most_octets_of_slots : most_octets_of_slots / 2) /
                                             (norming_threads * octets_of_thread))>;

template <int team, int octets_of_thread>
void enqueue_rows(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream) {
  norm.flags.ranks == 2 ? enqueue_as<ShapeOfRow<team, octets_of_thread, true>>(norm, limit, stream)
                        : enqueue_as<ShapeOfRow<team, octets_of_thread, false>>(norm, limit, stream);
}

/// By teams of `team` threads, the fewest octets of `octets` for each that hold a row. Whether they do.
template <int team, int... octets>
bool enqueue_by_teams(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream,
                      std::integer_sequence<int, octets...>) {
  const auto try_one = [&]<int of_thread>(std::integral_constant<int, of_thread>) {
    if (norm.columns > team * of_thread * 8) return false;
    enqueue_rows<team, of_thread>(norm, limit, stream);
    return true;
  };
  return (try_one(std::integral_constant<int, octets>{}) || ...);
}

}  // namespace

void enqueue_bulk(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream) {
  static_assert(max_norm_columns == 256 * 8 * 8);
  if (enqueue_by_teams<64>(norm, limit, stream, std::integer_sequence<int, 4, 5, 6, 7>{})) return;
  if (enqueue_by_teams<128>(norm, limit, stream, std::integer_sequence<int, 4, 5, 6, 7, 8>{})) return;
  enqueue_by_teams<256>(norm, limit, stream, std::integer_sequence<int, 5, 6, 7, 8>{});
}

}  // namespace weft::calibration::device
