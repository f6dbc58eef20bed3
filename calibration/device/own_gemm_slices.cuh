// Which tiles a CTA of our GEMM computes, and how CTAs share those of a last wave that leaves some without a tile: each
// computes a slice along k, and all but the last one of a tile give their sums to it, in fp32, through the L2. Sums are
// added in the order of the slices: the result does not depend on who comes first.
//
// The slices before the last one belong to CTAs of lower numbers, which start before it: it waits for none that cannot
// have an SM.
#pragma once

#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {
namespace own_tiles {

/// Of a tile: all of it, or a slice.
template <int cluster>
class OwnTiles {
 public:
  __device__ explicit OwnTiles(const OwnGemmWork& work)
      : work_(work), tile_(blockIdx.x), steps_{0, work.k_steps}, slice_(0), slices_(1) {
    begin_slice_behind_whole_tiles();
  }

  __device__ bool is_there() const { return tile_ < work_.tiles; }
  __device__ std::int64_t tile() const { return tile_; }
  __device__ StepsAlongK steps() const { return steps_; }
  __device__ int slice() const { return slice_; }
  __device__ bool is_cut() const { return slices_ > 1; }
  __device__ bool is_last() const {
    OwnTiles next = *this;
    next.advance();
    return !next.is_there();
  }
  /// Whether the tile's sums end up with this CTA, which stores them.
  __device__ bool is_last_slice() const { return slice_ + 1 == slices_; }

  __device__ void advance() {
    const bool was_whole = tile_ < work_.cut.first_tile;
    tile_ = was_whole ? tile_ + gridDim.x : work_.tiles;
    if (was_whole) begin_slice_behind_whole_tiles();
  }

 private:
  /// CTAs of a cluster have the same slice.
  __device__ void begin_slice_behind_whole_tiles() {
    if (work_.cut.slices == 1 || tile_ < work_.cut.first_tile) return;
    const auto together = static_cast<std::int64_t>(blockIdx.x) / cluster;
    const std::int64_t tiles = (work_.tiles - work_.cut.first_tile) / cluster;
    slice_ = static_cast<int>(together / tiles), slices_ = work_.cut.slices;
    tile_ = slice_ < slices_ ? work_.cut.first_tile + together % tiles * cluster + blockIdx.x % cluster : work_.tiles;
    steps_ = {work_.k_steps * slice_ / slices_, work_.k_steps * (slice_ + 1) / slices_};
  }

  const OwnGemmWork& work_;
  std::int64_t tile_;
  StepsAlongK steps_;
  int slice_, slices_;
};

/// What a warpgroup that multiplies gives to, or takes from, the same one of other CTAs of its tile.
template <int tile_n>
class SumsOfSlices {
 public:
  __device__ SumsOfSlices(const OwnGemmWork& work, std::int64_t tile)
      : work_(work),
        place_((tile - work.cut.first_tile) * multiplying_warpgroups + warpgroup_of_thread()),
        come_(work.cut.come[place_]) {}

  __device__ void give(const float (&sums)[tile_n / 2], int slice) const {
    float4* const fours = of_slice(slice);
#pragma unroll
    for (int i = 0; i < tile_n / 2; i += 4) fours[i / 4 * warpgroup] = {sums[i], sums[i + 1], sums[i + 2], sums[i + 3]};
    meet();
    if (is_first_thread()) come_.fetch_add(1, cuda::memory_order_release);
  }

  /// sums += those of all other slices.
  __device__ void take(float (&sums)[tile_n / 2]) const {
    const auto others = static_cast<std::uint32_t>(work_.cut.slices - 1);
    if (is_first_thread()) {
      try_until(work_.limit, work_.meeting.flags.rank,
                [&] { return come_.load(cuda::memory_order_acquire) == others; });
      come_.store(0, cuda::memory_order_relaxed);
    }
    meet();
    for (int slice = 0; slice < work_.cut.slices - 1; ++slice) {
      const float4* const fours = of_slice(slice);
#pragma unroll
      for (int i = 0; i < tile_n / 2; i += 4) {
        const float4 four = __ldcg(fours + i / 4 * warpgroup);
        sums[i] += four.x, sums[i + 1] += four.y, sums[i + 2] += four.z, sums[i + 3] += four.w;
      }
    }
  }

 private:
  __device__ static int warpgroup_of_thread() { return static_cast<int>(threadIdx.x) / warpgroup - 1; }
  __device__ static bool is_first_thread() { return threadIdx.x % warpgroup == 0; }
  /// By constant numbers: a kernel that computes them is given all sixteen barriers.
  __device__ static void meet() {
    warpgroup_of_thread() == 0 ? hopper::meet_warpgroup(of_first_multipliers)
                               : hopper::meet_warpgroup(of_second_multipliers);
  }

  /// The calling thread's first four; the next ones lie behind those of its warpgroup.
  __device__ float4* of_slice(int slice) const {
    const std::int64_t number = place_ * (work_.cut.slices - 1) + slice;
    return reinterpret_cast<float4*>(work_.cut.sums) + number * (tile_n / 8 * warpgroup) + threadIdx.x % warpgroup;
  }

  const OwnGemmWork& work_;
  std::int64_t place_;  ///< among the warpgroups of all cut tiles
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> come_;
};

}  // namespace own_tiles
}  // namespace weft::calibration::device
