// Rows of a that our GEMM copies from peers while it computes tiles whose rows are there.
//
// Rows come a band after the other, as tiles run, and of a band a part of all its rows after the other: a tile
// multiplies what has come of its rows while the rest comes. What one CTA copies at a time is a unit, a piece of a row.
// In each CTA a thread has units brought into a ring in shared memory and another has them stored, all by the memory
// accelerator: what is under way needs no registers and no place among the instructions of the threads that multiply.
#pragma once

#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/own_gemm_peers.cuh"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {
namespace own_tiles {

// As much as keeps the links busy. Twice as much only queues, and the loads of operands, which the same unit makes,
// behind it: launches took up to 5 % longer (16 gathers on 2 H200s), and with half as much up to 1.7 times as long.
inline constexpr int bytes_under_way = 4 * largest_fetch_unit, most_units_under_way = 16;

/// Units between the peer and the place where they belong: what an SM's shared memory has beside a SharedMemory.
struct FetchRing {
  alignas(128) std::byte units[bytes_under_way];
  hopper::Barrier loaded[most_units_under_way], stored[most_units_under_way];
};

/// Goes round the units that fit.
struct UnitSlot {
  int unit_bytes, slots, slot = 0;
  std::uint32_t parity = 0;
  explicit __device__ UnitSlot(const OwnGemmWork& work)
      : unit_bytes(work.fetch.unit_bytes), slots(min(bytes_under_way / unit_bytes, most_units_under_way)) {}
  __device__ std::byte* in(FetchRing& ring) const { return ring.units + slot * unit_bytes; }
  __device__ void advance() {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
};

/// Of a band, the part of its rows that its number `chunk` names.
struct FetchedChunk {
  int first_row, first_byte, row_bytes, units_of_row, units;
  __device__ FetchedChunk(const OwnGemmWork& work, int band, int chunk)
      : first_row(band * work.fetch.band_rows),
        first_byte(chunk * work.fetch.chunk_bytes),
        row_bytes(min(work.fetch.chunk_bytes, work.fetch.row_bytes - first_byte)),
        units_of_row((row_bytes + work.fetch.unit_bytes - 1) / work.fetch.unit_bytes),
        units(min(work.fetch.band_rows, work.fetch.rows - first_row) * units_of_row) {}
};

/// A piece of a row, and the word that counts what of its chunk has come.
struct FetchedUnit {
  const std::byte* from;
  std::byte* to;
  int bytes;
  std::uint64_t* come;
};

/// Calls visit(unit) for those of this CTA, in the order of all rows that are fetched.
template <class Visit>
__device__ void for_each_unit(const OwnGemmWork& work, const Visit& visit) {
  int next = static_cast<int>(blockIdx.x);
  for (int block = 0; block < work.blocks_of_rows; ++block) {
    const FetchedRows& rows = work.block_of_rows[block].fetched;
    if (rows.from == nullptr) continue;
    for (int i = 0; i < work.fetch.bands * work.fetch.chunks; ++i) {
      const FetchedChunk chunk(work, i / work.fetch.chunks, i % work.fetch.chunks);
      for (; next < chunk.units; next += static_cast<int>(gridDim.x)) {
        const std::int64_t row = chunk.first_row + next / chunk.units_of_row;
        const int within = next % chunk.units_of_row * work.fetch.unit_bytes, column = chunk.first_byte + within;
        visit(FetchedUnit{rows.from + row * rows.from_stride + column, rows.to + row * rows.to_stride + column,
                          min(work.fetch.unit_bytes, chunk.row_bytes - within), rows.come + i});
      }
      next -= chunk.units;
    }
  }
}

__device__ inline void load_units(const OwnGemmWork& work, FetchRing& shared) {
  UnitSlot next(work);
  for_each_unit(work, [&](const FetchedUnit& unit) {
    hopper::wait(shared.stored[next.slot], next.parity ^ 1);
    hopper::arrive_and_expect(shared.loaded[next.slot], unit.bytes);
    hopper::load_bytes(next.in(shared), unit.from, unit.bytes, shared.loaded[next.slot]);
    next.advance();
  });
}

/// What of one chunk the calling thread has given to store and not counted yet.
struct UncountedUnits {
  std::uint64_t* come = nullptr;
  int units = 0;
  /// Once they are stored.
  __device__ void count() {
    if (units > 0)
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*come).fetch_add(units, cuda::memory_order_release);
    units = 0;
  }
};

/// A chunk is counted when the first unit of the next one is on its way, so that nothing waits for its last store.
__device__ inline void store_units(const OwnGemmWork& work, FetchRing& shared) {
  UnitSlot next(work), unread(work);
  UncountedUnits before, now;
  bool is_first = true;
  for_each_unit(work, [&](const FetchedUnit& unit) {
    hopper::wait(shared.loaded[next.slot], next.parity);
    hopper::store_bytes(next.in(shared), unit.to, unit.bytes);
    hopper::end_group_of_stores();
    next.advance();
    if (!is_first) {
      hopper::wait_until_read<1>();
      hopper::arrive(shared.stored[unread.slot]);
      unread.advance();
    }
    is_first = false;
    if (unit.come != now.come) before = now, now = {unit.come};
    ++now.units;
    if (before.units > 0) {
      hopper::wait_until_stored<1>();
      before.count();
    }
  });
  hopper::wait_until_stored<0>();
  now.count();
}

/// By all lanes of the two idle warps.
__device__ inline void fetch_rows(const OwnGemmWork& work, std::uint64_t iteration, FetchRing& shared) {
  const bool loads = threadIdx.x == 32 * first_idle_warp, stores = threadIdx.x == 32 * (first_idle_warp + 1);
  if (loads) {
    for (int slot = 0; slot < most_units_under_way; ++slot) {
      hopper::init(shared.loaded[slot], 1);
      hopper::init(shared.stored[slot], 1);
    }
    hopper::publish_barriers();
  }
  hopper::meet_two_warps(of_idle_warps);
  const MeetingOfRanks ranks(work, iteration);
  if (loads) {
    ranks.wait_for(Moment::begin);
    load_units(work, shared);
  }
  if (stores) {
    store_units(work, shared);
    leave_peers(work, ranks);
  }
}

/// What the loading thread knows of the rows that are fetched. To ask takes longer than what lies in the ring of stages
/// lasts, so it asks about several chunks at once.
class RowsThatCome {
 public:
  __device__ RowsThatCome(const OwnGemmWork& work, std::uint64_t iteration) : work_(work), iterations_(iteration + 1) {}

  /// The next tile has these rows.
  __device__ void begin_tile(const FetchedRows& rows, int first_row) {
    const int band = rows.from != nullptr ? first_row / work_.fetch.band_rows : 0;
    if (rows.come == come_ && band == band_) return;
    come_ = rows.come, band_ = band;
    known_ = rows.from != nullptr ? 0 : work_.fetch.chunks;
  }
  /// Until what step `step` of the tile reads has come, for the calling thread's copies too.
  __device__ void wait_for(int step) {
    while (known_ < work_.fetch.chunks && step >= known_ * work_.fetch.chunk_steps) learn_of_next();
  }

 private:
  static constexpr int chunks_at_once = 4;
  __device__ void learn_of_next() {
    bool has_come[chunks_at_once];
    try_until(work_.limit, work_.meeting.flags.rank, [&] {
#pragma unroll
      for (int i = 0; i < chunks_at_once; ++i) has_come[i] = known_ + i < work_.fetch.chunks && is_there(known_ + i);
      return has_come[0];
    });
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    hopper::order_with_copies();
    bool all = true;
#pragma unroll
    for (int i = 0; i < chunks_at_once; ++i) known_ += (all &= has_come[i] || i == 0) ? 1 : 0;
  }
  __device__ bool is_there(int chunk) const {
    const cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device> come(come_[band_ * work_.fetch.chunks + chunk]);
    const auto units = static_cast<std::uint64_t>(FetchedChunk(work_, band_, chunk).units);
    return come.load(cuda::memory_order_relaxed) >= iterations_ * units;
  }

  const OwnGemmWork& work_;
  std::uint64_t iterations_;
  std::uint64_t* come_ = nullptr;
  int band_ = -1;
  int known_ = 0;  ///< chunks of that band that have come
};

}  // namespace own_tiles
}  // namespace weft::calibration::device
