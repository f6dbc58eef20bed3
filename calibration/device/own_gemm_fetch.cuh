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

inline constexpr int unit_bytes = 2048, units_under_way = 8;

/// Units between the peer and the place where they belong: what an SM's shared memory has beside a SharedMemory.
struct FetchRing {
  alignas(128) std::byte unit[units_under_way][unit_bytes];
  hopper::Barrier loaded[units_under_way], stored[units_under_way];
};

/// Of a band, the part of its rows that its number `chunk` names.
struct FetchedChunk {
  int first_row, first_byte, row_bytes, units_of_row, units;
  __device__ FetchedChunk(const OwnGemmWork& work, int band, int chunk)
      : first_row(band * work.fetch.band_rows),
        first_byte(chunk * work.fetch.chunk_bytes),
        row_bytes(min(work.fetch.chunk_bytes, work.fetch.row_bytes - first_byte)),
        units_of_row((row_bytes + unit_bytes - 1) / unit_bytes),
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
        const int within = next % chunk.units_of_row * unit_bytes, column = chunk.first_byte + within;
        visit(FetchedUnit{rows.from + row * rows.from_stride + column, rows.to + row * rows.to_stride + column,
                          min(unit_bytes, chunk.row_bytes - within), rows.come + i});
      }
      next -= chunk.units;
    }
  }
}

__device__ inline void load_units(const OwnGemmWork& work, FetchRing& shared) {
  hopper::Ring<units_under_way> ring;
  for_each_unit(work, [&](const FetchedUnit& unit) {
    hopper::wait(shared.stored[ring.slot], ring.parity ^ 1);
    hopper::arrive_and_expect(shared.loaded[ring.slot], unit.bytes);
    hopper::load_bytes(shared.unit[ring.slot], unit.from, unit.bytes, shared.loaded[ring.slot]);
    ring.advance();
  });
}

/// What of one chunk the calling thread has given to store and not counted yet.
class UncountedUnits {
 public:
  explicit __device__ UncountedUnits(FetchRing& shared) : shared_(shared) {}

  __device__ void add(int slot) {
    ++units_, ++unread_;
    last_slot_ = slot;
    if (unread_ <= unread_at_most) return;
    hopper::wait_until_read<unread_at_most>();
    give_back_oldest();
  }
  /// Once all are stored.
  __device__ void count(std::uint64_t* come) {
    if (units_ == 0) return;
    hopper::wait_until_stored<0>();
    while (unread_ > 0) give_back_oldest();
    cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*come).fetch_add(units_, cuda::memory_order_release);
    units_ = 0;
  }

 private:
  static constexpr int unread_at_most = 3;
  __device__ void give_back_oldest() {
    --unread_;
    hopper::arrive(shared_.stored[(last_slot_ - unread_ + units_under_way) % units_under_way]);
  }

  FetchRing& shared_;
  int units_ = 0, unread_ = 0, last_slot_ = 0;
};

__device__ inline void store_units(const OwnGemmWork& work, FetchRing& shared) {
  hopper::Ring<units_under_way> ring;
  UncountedUnits uncounted(shared);
  std::uint64_t* come = nullptr;
  for_each_unit(work, [&](const FetchedUnit& unit) {
    if (unit.come != come) uncounted.count(come);
    come = unit.come;
    hopper::wait(shared.loaded[ring.slot], ring.parity);
    hopper::store_bytes(shared.unit[ring.slot], unit.to, unit.bytes);
    hopper::end_group_of_stores();
    uncounted.add(ring.slot);
    ring.advance();
  });
  uncounted.count(come);
}

/// By all lanes of the two idle warps.
__device__ inline void fetch_rows(const OwnGemmWork& work, std::uint64_t iteration, FetchRing& shared) {
  const bool loads = threadIdx.x == 32 * first_idle_warp, stores = threadIdx.x == 32 * (first_idle_warp + 1);
  if (loads) {
    for (int slot = 0; slot < units_under_way; ++slot) {
      hopper::init(shared.loaded[slot], 1);
      hopper::init(shared.stored[slot], 1);
    }
    hopper::publish_barriers();
  }
  hopper::meet_two_warps(1);
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
