// The kernels that weft brings itself. Its GEMMs do what no library's kernel does: tiles in a chosen order and layout
// that signal and wait. They are written for Hopper (compute capability 9.0), whose tensor cores read shared memory and
// whose tensor memory accelerator fills it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

inline constexpr int own_tile_m = 128, own_tile_k = 64, largest_own_tile_n = 256, narrow_own_tile_n = 128;
/// Pipeline stages that fit an SM's shared memory beside the staged tile.
constexpr int own_stages(int tile_n) { return tile_n == 256 ? 3 : tile_n == 192 ? 4 : 5; }

/// Clusters of two CTAs compute tiles one below the other. `scheduler` is grid, static_persistent or stream_k, which is
/// static_persistent but for tiles of a last wave that leaves CTAs without one (slices_of_last_wave).
constexpr GemmKernel own_kernel(int tile_n, int cluster_m, TileScheduler scheduler) {
  return {.tile_m = own_tile_m,
          .tile_n = tile_n,
          .tile_k = own_tile_k,
          .cluster_m = cluster_m,
          .stages = own_stages(tile_n),
          .scheduler = scheduler};
}

inline constexpr std::array own_kernels{own_kernel(256, 2, TileScheduler::static_persistent),
                                        own_kernel(256, 1, TileScheduler::static_persistent),
                                        own_kernel(128, 2, TileScheduler::static_persistent),
                                        own_kernel(128, 1, TileScheduler::static_persistent),
                                        own_kernel(256, 2, TileScheduler::grid),
                                        own_kernel(256, 1, TileScheduler::grid),
                                        own_kernel(128, 2, TileScheduler::grid),
                                        own_kernel(128, 1, TileScheduler::grid),
                                        own_kernel(192, 2, TileScheduler::static_persistent),
                                        own_kernel(192, 1, TileScheduler::static_persistent),
                                        own_kernel(192, 2, TileScheduler::grid),
                                        own_kernel(192, 1, TileScheduler::grid),
                                        own_kernel(256, 2, TileScheduler::stream_k),
                                        own_kernel(256, 1, TileScheduler::stream_k),
                                        own_kernel(192, 2, TileScheduler::stream_k),
                                        own_kernel(192, 1, TileScheduler::stream_k),
                                        own_kernel(128, 2, TileScheduler::stream_k),
                                        own_kernel(128, 1, TileScheduler::stream_k)};

/// Whether its kernel is one of ours whose CTAs meet those of the peers: they are counted as they start, so that others
/// can follow that, in a graph or not.
inline bool counts_its_ctas(const Work& work) {
  return match(
      work, [](const OneOf<Collective, GroupedExchange> auto& one) { return one.transport == Transport::peer_kernel; },
      [](const AllReduceNorm&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Barrier,
                     Delay> auto&) { return false; });
}

/// Of a GEMM that fetches no rows: it has less.
inline constexpr std::int64_t every_tile = std::numeric_limits<std::int64_t>::max();

/// The CTAs that may share out the tiles of a last wave which does not fill them, where the rows of those after the
/// first `ready_tiles` come from peers. In the only whole wave, CTAs whose tile waits for its rows are late: where the
/// others are enough for the tiles that are left, they compute them alone.
constexpr std::int64_t ctas_of_last_wave(std::int64_t tiles, std::int64_t ctas, std::int64_t ready_tiles) {
  const bool some_are_late = tiles / ctas == 1 && ready_tiles < ctas;
  return some_are_late && ready_tiles >= tiles % ctas ? std::max<std::int64_t>(ready_tiles, 1) : ctas;
}

/// Into how many slices along k a stream_k kernel of ours cuts the tiles of the last wave, each for a CTA of its own:
/// as many as find a CTA, while the tensor cores have longer to do with a slice than its sums take through the L2.
/// `ready_tiles`: the first ones, whose rows do not come from peers.
constexpr std::int64_t slices_of_last_wave(std::int64_t tiles, std::int64_t ctas, std::int64_t k_steps,
                                           std::int64_t ready_tiles = every_tile) {
  constexpr std::int64_t most_slices = 4, least_steps = 8;
  const std::int64_t left = tiles % ctas;
  if (left == 0) return 1;
  return std::clamp<std::int64_t>(std::min(ctas_of_last_wave(tiles, ctas, ready_tiles) / left, k_steps / least_steps),
                                  1, most_slices);
}

/// A wave is several tiles wide and high, so that it shares operands; even, for clusters of two.
inline constexpr TileOrder own_order{.swizzle = 8};

/// One for each peer of eight GPUs: their descriptors are arguments of the kernel.
inline constexpr std::size_t max_own_replicas = 7;

constexpr bool is_own_kernel(const GemmKernel& kernel) {
  if (kernel != own_kernel(kernel.tile_n, kernel.cluster_m, kernel.scheduler)) return false;  // as most of a library
  for (const GemmKernel& own : own_kernels)
    if (own == kernel) return true;
  return false;
}

/// Whether weft's own kernel computes it, which alone knows signals and waits, meets the peers and fetches rows.
inline bool runs_own_kernel(const Gemm& gemm) {
  return !gemm.signals.empty() || !gemm.waits.empty() || (gemm.kernel && is_own_kernel(*gemm.kernel));
}

/// Whether its launch copies rows of a.
inline bool fetches_rows(const Gemm& gemm) {
  return gemm.a_from ||
         std::ranges::any_of(gemm.earlier, [](const RowBlock& block) { return block.a_from.has_value(); });
}

/// Of the GEMM's `tiles`, in equal blocks of rows, those before the first one whose rows its launch copies.
inline std::int64_t ready_tiles(const Gemm& gemm, std::int64_t tiles) {
  if (!fetches_rows(gemm)) return every_tile;
  const std::vector<RowBlock> blocks = row_blocks(gemm);
  const auto is_fetched = [](const RowBlock& block) { return block.a_from.has_value(); };
  return tiles / std::ssize(blocks) * (std::ranges::find_if(blocks, is_fetched) - blocks.begin());
}

/// Whether a GEMM of ours that stores tiles on peers puts little on the links at a time, so that the loads of its next
/// tiles do not wait behind it. That pays, by 1 to 11 %, where no rank waits for a tile, and where a tile takes 9 us or
/// more at full clock; where ranks wait for tiles that come faster it costs up to 6 % (19 launches on 2 and on 4
/// H200s).
inline bool stores_give_way(const Gemm& gemm, std::int64_t k, int tile_n) {
  constexpr std::int64_t least_columns_of_steps = 3700;
  const bool is_waited_for = std::ranges::any_of(gemm.signals, [](const TileSignal& one) { return one.place != 0; });
  return !is_waited_for || k / own_tile_k * tile_n > least_columns_of_steps;
}

/// Of 65,536 registers of an SM a GEMM of 384 threads leaves 4,096. CTAs of our sums take three quarters of them, so
/// that they run beside it and leave room for kernels of one warp, which signal and wait.
inline constexpr int own_gemm_registers_per_thread = 160, own_sum_threads = 96, own_sum_registers_per_thread = 32;

/// Whether the memory accelerator gathers or exchanges these bytes of a rank: a CTA with less to move ends before its
/// ring of chunks is full, and threads that copy by registers are a few microseconds faster then (8 to 24 CTAs of 2
/// H100s).
constexpr bool moves_in_bulk(int ctas, Bytes bytes) { return bytes >= ctas * Bytes{320 << 10}; }

/// Whether a CTA of a reduce-scatter over peer memory asks for 128 KiB at once, and not for 64: where more than two
/// ranks are there to ask, and so few CTAs that the ports have room.
constexpr bool sums_ask_for_more(int ranks, int ctas) { return ranks > 2 && ctas <= 12; }

/// Of a row that a CTA of our norms keeps in registers.
inline constexpr std::int64_t max_norm_columns = 16384;

}  // namespace weft
