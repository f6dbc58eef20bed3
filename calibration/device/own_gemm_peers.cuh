// What our GEMM does with other ranks' kernels: they meet in it, and rows of a come from peers while tiles whose rows
// are there are computed.
//
// Each rank says on all others in which iteration it has begun, which frees its memory for them, and in which it has
// ended, which frees theirs. CTA 0 speaks for the rank; everyone hears. Words are only ever set to higher numbers: the
// next iteration can follow at once.
#pragma once

#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {
namespace own_tiles {

enum class Moment { begin, end };

/// In the iteration of this number, from 0 on.
class MeetingOfRanks {
 public:
  __device__ MeetingOfRanks(const OwnGemmWork& work, std::uint64_t iteration)
      : flags_(work.meeting.flags), limit_(work.limit), number_(static_cast<std::uint32_t>(iteration) + 1) {}

  /// By one thread. What came before it is ordered by whoever needs that.
  __device__ void say(Moment moment) const {
    for (int peer = 0; peer < flags_.ranks; ++peer)
      SharedWord<std::uint32_t>(*word(peer, moment, flags_.rank)).store(number_, cuda::memory_order_relaxed);
  }
  /// Until all have said so; afterwards the calling thread, and its copies, may do what that allows.
  __device__ void wait_for(Moment moment) const {
    for (int peer = 0; peer < flags_.ranks; ++peer) {
      const SharedWord<std::uint32_t> of_peer(*word(flags_.rank, moment, peer));
      try_until(limit_, peer,
                [&] { return static_cast<std::int32_t>(of_peer.load(cuda::memory_order_acquire) - number_) >= 0; });
    }
    hopper::order_with_copies();
  }

 private:
  /// What rank `of` says on rank `on`.
  __device__ std::uint32_t* word(int on, Moment moment, int of) const {
    return flags_.of_rank[on] + static_cast<int>(moment) * flags_.ranks + of;
  }

  const BarrierFlags& flags_;
  const WaitLimit& limit_;
  std::uint32_t number_;
};

__device__ inline bool meets_peers(const OwnGemmWork& work) { return work.meeting.flags.ranks > 1; }

/// By one thread of each part of the CTA that uses peers' memory, or stores what peers wait for, when it has done so.
/// The last one of the rank says that it has ended.
__device__ inline void leave_peers(const OwnGemmWork& work, const MeetingOfRanks& ranks) {
  const OwnGemmMeeting& meeting = work.meeting;
  const auto parts =
      static_cast<std::uint32_t>((meeting.ends_with_stores ? 1 : 0) + (meeting.fetches ? idle_warps : 0));
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> left(*meeting.left);
  if (left.fetch_add(1, cuda::memory_order_acq_rel) + 1 != gridDim.x * parts) return;
  left.store(0, cuda::memory_order_relaxed);
  // On H100s this fence takes 2 us; loads from peers need none.
  if (meeting.ends_with_stores) cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  ranks.say(Moment::end);
}

// --- Rows from peers ---------------------------------------------------------------------------------------------
// Rows come a band after the other, as tiles run, and of a band a part of all its rows after the other: a tile
// multiplies what has come of its rows while the rest comes. A unit is what a warp has in flight at once: four pieces
// of a row, 16 bytes for each lane (64 threads of each SM bring 315 to 330 GB/s into both of two H100s at once in this
// way, and 250 with half as much in flight).

inline constexpr int piece_bytes = 32 * 16, pieces_of_unit = 4;

/// Of a band, the part of its rows that its number `chunk` names.
struct FetchedChunk {
  int first_row, first_byte, row_bytes, pieces_of_row, pieces, units;
  __device__ FetchedChunk(const OwnGemmWork& work, int band, int chunk)
      : first_row(band * work.fetch.band_rows),
        first_byte(chunk * work.fetch.chunk_bytes),
        row_bytes(min(work.fetch.chunk_bytes, work.fetch.row_bytes - first_byte)),
        pieces_of_row((row_bytes + piece_bytes - 1) / piece_bytes),
        pieces(min(work.fetch.band_rows, work.fetch.rows - first_row) * pieces_of_row),
        units((pieces + pieces_of_unit - 1) / pieces_of_unit) {}
};

/// Units that one warp has copied and not counted yet, all of one chunk.
struct UncountedUnits {
  std::uint64_t* come = nullptr;
  std::uint32_t units = 0;

  /// Once all lanes have stored them.
  __device__ void count() {
    __syncwarp();
    if (threadIdx.x % 32 == 0 && units > 0)
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*come).fetch_add(units, cuda::memory_order_release);
    units = 0;
  }
};

/// Past the L1: a word is read once.
__device__ inline uint4 load_once(const std::byte* from) {
  uint4 bits;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from)
               : "memory");
  return bits;
}

/// Unit `unit` of a chunk. What of another one the warp has copied before is counted while the loads are on their way.
/// Lanes that have nothing of a piece load the last 16 bytes of its row: around a load in a branch the others wait.
__device__ inline void copy_unit(const FetchedRows& rows, const FetchedChunk& chunk, int unit, UncountedUnits& before,
                                 bool counts) {
  uint4 bits[pieces_of_unit];
  std::byte* to[pieces_of_unit];
#pragma unroll
  for (int i = 0; i < pieces_of_unit; ++i) {
    const int piece = unit * pieces_of_unit + i, within = min(piece, chunk.pieces - 1);
    const int column = within % chunk.pieces_of_row * piece_bytes + static_cast<int>(threadIdx.x) % 32 * 16;
    const std::int64_t row = chunk.first_row + within / chunk.pieces_of_row;
    const bool is_there = piece < chunk.pieces && column < chunk.row_bytes;
    to[i] = is_there ? rows.to + row * rows.to_stride + chunk.first_byte + column : nullptr;
    bits[i] = load_once(rows.from + row * rows.from_stride + chunk.first_byte + min(column, chunk.row_bytes - 16));
  }
  if (counts) before.count();
#pragma unroll
  for (int i = 0; i < pieces_of_unit; ++i)
    if (to[i] != nullptr) *reinterpret_cast<uint4*>(to[i]) = bits[i];
}

/// By all lanes of each idle warp: its units of the rows of all blocks.
__device__ inline void fetch_rows(const OwnGemmWork& work, std::uint64_t iteration) {
  const MeetingOfRanks ranks(work, iteration);
  if (threadIdx.x % 32 == 0) ranks.wait_for(Moment::begin);
  __syncwarp();
  const int warps = static_cast<int>(gridDim.x) * idle_warps;
  int next = static_cast<int>(blockIdx.x) * idle_warps + static_cast<int>(threadIdx.x) / 32 - first_idle_warp;
  UncountedUnits done;
  for (int block = 0; block < work.blocks_of_rows; ++block) {
    const FetchedRows& rows = work.block_of_rows[block].fetched;
    if (rows.from == nullptr) continue;
    for (int i = 0; i < work.fetch.bands * work.fetch.chunks; ++i) {
      const int band = i / work.fetch.chunks, number = i % work.fetch.chunks;
      const FetchedChunk chunk(work, band, number);
      std::uint64_t* const come = rows.come + i;
      for (; next < chunk.units; next += warps) {
        copy_unit(rows, chunk, next, done, done.come != come);
        done.come = come;
        ++done.units;
      }
      next -= chunk.units;
    }
  }
  done.count();
  if (threadIdx.x % 32 == 0) leave_peers(work, ranks);
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
