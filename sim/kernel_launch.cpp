#include "sim/kernel_launch.hpp"

#include <algorithm>

#include "models/base/input_error.hpp"
#include "models/cost/about_longest.hpp"
#include "models/cost/attention_model.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "models/cost/reordering_cost.hpp"
#include "models/cost/row_kernel_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/fetch_order.hpp"
#include "models/schedule/kernel_sizes.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "sim/skew.hpp"

namespace weft::sim {
namespace {

constexpr double shortest_us = 1e-3;  // ends are rounded up to that

/// Of a kernel of which `bytes` flow through the L2, and for which the HBM takes as long as for a stream of
/// `hbm_bytes`.
Uses memory_uses(const LaunchSite& site, double bytes, double hbm_bytes) {
  Uses uses{{site.l2, 1.0}};
  if (hbm_bytes > 0) uses.push_back({site.hbm, hbm_bytes / bytes});
  return uses;
}

/// Stores or loads from one place to another, both relative to the kernel's GPU: `share` of its bytes go that way.
void add_link_uses(Uses& uses, const LaunchSite& site, int source_place, int destination_place, double share) {
  const int rank = site.activity.rank;
  const int source = (rank + source_place + site.ranks) % site.ranks;
  const int destination = (rank + destination_place + site.ranks) % site.ranks;
  if (source == destination) return;
  const Uses links = site.links.kernel_uses(source, destination, rank, share);
  uses.insert(uses.end(), links.begin(), links.end());
}

constexpr std::int64_t most_tiles = std::int64_t{1} << 27;  // minutes of simulation; the largest GEMM has fewer

/// Each wave of them is an event.
void require_tiles(const LaunchSite& site, std::int64_t tiles) {
  if (tiles > most_tiles)
    throw InputError(site.activity.operation->name,
                     "expected a kernel of at most 2^27 tiles, got " + std::to_string(tiles));
}

// --- GEMM ------------------------------------------------------------------------------------------------------

/// Profiles have the GEMMs of the slowest GPU; where all ranks are the same, it is the one that is simulated.
double of_rank(double clock_share, const LaunchSite& site) {
  const double faster = site.ranks > 1 ? site.machine.gpu.speed_spread * lateness(site.activity.rank, 0) : 0;
  return clock_share * (1 + faster);
}

std::string text_of(const GemmKernel& kernel, std::int64_t tiles, int ctas) {
  return std::to_string(kernel.tile_m) + "x" + std::to_string(kernel.tile_n) + "x" + std::to_string(kernel.tile_k) +
         (kernel.split_k > 1 ? " split-k " + std::to_string(kernel.split_k) : "") + ", " + std::to_string(tiles) +
         " tiles on " + std::to_string(ctas) + " CTAs";
}

/// How much longer the HBM takes for a GEMM that adds to a matrix, of which each byte is read and written.
double slowdown_of_update(const Gemm& gemm, const LaunchSite& site) {
  const auto adding =
      std::ranges::count_if(gemm.earlier, [](const RowBlock& block) { return block.addend.has_value(); }) +
      (gemm.addend ? 1 : 0);
  if (adding == 0 || site.cost.traffic.touched_bytes == 0) return 1;
  const auto updated_bytes = 2 * static_cast<double>(adding * bytes_of(gemm.c, site.schedule));
  const double updated = updated_bytes / site.cost.traffic.touched_bytes;
  return 1 + std::min(1.0, updated) * (1 / site.machine.gpu.hbm_update_share - 1);
}

/// What a GEMM that adds writes goes from the L2 to the HBM while the next one begins and has nothing to write: a row
/// of them moves its bytes all the time that its kernels run, their starts and ends included, but not between them
/// (calibration/measurements/adding-2026-12-01). Tiles do not wait for so many bytes of the stream.
double bytes_left_to_next_kernel(const LaunchSite& site) {
  const TileTiming timing = site.tile->at(1);
  const double without_stream_us = timing.once_us + site.machine.gemm.tile_spread * timing.tile_us;
  return std::min(site.cost.traffic.addend_hbm_bytes, without_stream_us * bytes_per_us(site.hbm_GBps));
}

/// A tile of the library reads what it adds to when its product is there (ours does before), so that nothing of it
/// hides the read; the CTAs that are at it share the HBM, and what is still in the L2 costs nothing
/// (calibration/measurements/gemms-2026-11-24).
double addend_us(const TiledWork& work, const LaunchSite& site) {
  const double tile_bytes = site.cost.traffic.addend_hbm_bytes / static_cast<double>(work.tiles);
  return tile_bytes * work.ctas / bytes_per_us(site.hbm_GBps);
}

/// Tiles and the stream of their operands from HBM now and then wait for each other, the more the nearer they are to a
/// tie: tiles take longer for it, and where the stream is what lasts, what is left of it comes at the end. What limits
/// them together?
Limit overlap_with_hbm(TiledWork& work, const LaunchSite& site) {
  const auto stream = std::ranges::find(work.uses, site.hbm, &Use::resource);
  if (stream == work.uses.end()) return Limit::compute;
  const double hbm_bytes = stream->per_unit * work.bytes_per_tile * static_cast<double>(work.tiles);
  const double hbm_us = hbm_bytes / bytes_per_us(site.hbm_GBps);
  const double tiles_us = work.tile_us * work.waves();
  const double together_us = about_longest({tiles_us, hbm_us}), longer = together_us / std::max(tiles_us, hbm_us);
  work.tile_us *= longer;
  work.epilogue_us += together_us - std::max(tiles_us * longer, hbm_us);
  return hbm_us > tiles_us ? Limit::hbm : Limit::compute;
}

/// What a GEMM and a grouped GEMM have in common: `tiles` that read so many bytes from the L2 each, on at most
/// `max_sms` SMs. It is the same at every clock.
KernelLaunch matrix_launch(const LaunchSite& site, std::int64_t k, DataType dtype, std::int64_t tiles, double l2_bytes,
                           int cluster, int max_sms) {
  const GemmTiming& gemm = site.machine.gemm;
  const GemmKernel& kernel = site.cost.kernel;
  KernelLaunch launch;
  launch.cta = {gemm.threads_per_cta, gemm.threads_per_cta * gemm.registers_per_thread,
                shared_memory_of_cta(site.machine, kernel, dtype)};
  launch.cluster = cluster;
  const int at_once = site.sms.capacity(launch.cta, cluster);
  if (at_once == 0)
    throw InputError(site.activity.operation->name + ".kernel",
                     "expected a tile and stages that fit one SM's shared memory, and a cluster that fits one GPC");
  require_tiles(site, tiles);
  const int most = std::max(max_sms > 0 ? std::min(at_once, max_sms / cluster * cluster) : at_once, cluster);
  const std::int64_t slices = last_wave_slices(kernel, k, tiles, most);
  launch.work = {.tiles = tiles,
                 .ctas = static_cast<int>(std::min<std::int64_t>(tiles * slices, most)),
                 .bytes_per_tile = l2_bytes};
  if (site.with_detail) launch.detail = text_of(kernel, tiles, launch.work.ctas);
  return launch;
}

/// The times of such work where each tile takes `timing` and `ready_tiles` need no rows of peers.
void set_tile_times(TiledWork& work, const LaunchSite& site, std::int64_t k, const TileTiming& timing,
                    std::int64_t ready_tiles = every_tile) {
  const GemmKernel& kernel = site.cost.kernel;
  work.tile_us = timing.tile_us;
  work.start_us = timing.start_us;
  work.tail_us = site.machine.gemm.tile_spread * timing.tile_us;
  work.epilogue_us = timing.once_us - timing.start_us;
  if (!is_own_kernel(kernel)) return;
  const std::int64_t slices = last_wave_slices(kernel, k, work.tiles, work.ctas, ready_tiles);
  work.last_wave = share_of_last_wave(site.machine, kernel, slices, timing.tile_us);
}

// --- Memory-bound kernels and attention ------------------------------------------------------------------------

/// How often memory is passed through for what a kernel of ours touches: what it changes in place is read and written
/// back. What PyTorch's kernels reach, and our sums, is told of bytes that are touched.
double passes_in_place(const Work& work, const OperationCost& cost, const Schedule& schedule, bool is_known) {
  const double touched_bytes = cost.traffic.touched_bytes;
  if (!is_known || touched_bytes == 0) return 1;
  double bytes = 0;
  match(
      work,
      [&](const MemoryBound& bound) {
        bytes = bytes_of_all(bound.reads, schedule) + bytes_of_all(bound.writes, schedule);
      },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) {});
  return std::max(1.0, bytes / touched_bytes);
}

/// A norm that puts tiles in order uses memory less well, as if it read more of it.
double passes_of(const Work& work, const OperationCost& cost, const Schedule& schedule, const Machine& machine,
                 bool is_known) {
  const double reordering = match(
      work, [&](const MemoryBound& kernel) { return norm_reordering(machine, kernel, schedule); },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) { return 0.0; });
  return passes_in_place(work, cost, schedule, is_known) * (1 + reordering);
}

/// Whether our sums do it (own_sum_threads), which copies by SMs run too.
bool is_sum(const Work& work) {
  return match(
      work, [](const Copy&) { return true; },
      [](const MemoryBound& bound) {
        return bound.kernel == MemoryKernel::fill || bound.kernel == MemoryKernel::add ||
               bound.kernel == MemoryKernel::partial_sum;
      },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Attention, PartialAttention, Signal,
                     Wait, Barrier, Delay> auto&) { return false; });
}

/// A quarter of an SM for a block. Our sums have small CTAs that fit beside our own GEMM: the block stands for one of
/// them there, for as many as fill its quarter where the SM is free.
int registers_of_block(const Work& work, const Gpu& gpu) {
  return is_sum(work) ? own_sum_threads * own_sum_registers_per_thread : gpu.registers_per_sm / 4;
}

/// `tiles` that touch equal parts of the kernel's memory.
TiledWork attention_work(const LaunchSite& site, std::int64_t tiles, double hbm_share) {
  require_tiles(site, tiles);
  const double touched_bytes = site.cost.traffic.touched_bytes;
  return {.tiles = tiles,
          .bytes_per_tile = std::max(1.0, touched_bytes / static_cast<double>(tiles)),
          .uses = memory_uses(site, touched_bytes, site.cost.traffic.hbm_bytes / hbm_share)};
}

/// The first keys take longer from memory, where the L2 holds none of them.
double cold_keys_us(const LaunchSite& site) {
  const MemoryTraffic& traffic = site.cost.traffic;
  const double from_memory = traffic.touched_bytes > 0 ? traffic.hbm_bytes / traffic.touched_bytes : 0;
  return site.machine.own_attention.value().cold_keys_us * std::min(1.0, from_memory);
}

MemoryBlocks memory_blocks_at(const LaunchSite& site) {
  return memory_blocks(site.activity.operation->work, site.cost, site.schedule, site.machine,
                       of_rank(site.share_between, site));
}

/// Equal tiles stand for unequal ones, whose longest may end after them; a CTA takes a whole SM, as those of
/// FlashAttention 3 and our own nearly do (3 warp groups of up to 240 registers a thread).
KernelLaunch staying_attention_launch(const LaunchSite& site, const StayingTiles& tiles, int max_sms,
                                      double hbm_share) {
  const Gpu& gpu = site.machine.gpu;
  const int sms = max_sms > 0 ? std::min(max_sms, site.sms.sms()) : site.sms.sms();
  KernelLaunch launch;
  launch.cta = {gpu.threads_per_sm / 4, gpu.registers_per_sm, 0};
  launch.limit = Limit::compute;
  if (site.with_detail) launch.detail = std::to_string(tiles.count) + " tiles on " + std::to_string(sms) + " SMs";
  const std::int64_t ctas = std::min<std::int64_t>(sms, tiles.count), waves = divided_up(tiles.count, ctas);
  const double shared_us = tiles.shared_us(ctas);
  launch.work = attention_work(site, tiles.are_equal() ? tiles.count : ctas * waves, hbm_share);
  launch.work.scheduler = TileScheduler::dynamic_persistent;
  launch.work.ctas = static_cast<int>(ctas);
  launch.work.tile_us = std::max(shared_us / static_cast<double>(waves), shortest_us);
  launch.work.tail_us = tiles.on_ctas_us(ctas) - shared_us;
  launch.work.epilogue_us = tiles.once_us;
  return launch;
}

/// What several peers' shares pass, such as the own port, is used as often.
void merge(Uses& uses) {
  std::ranges::sort(uses, {}, &Use::resource);
  Uses merged;
  for (const Use& use : uses)
    if (!merged.empty() && merged.back().resource == use.resource)
      merged.back().per_unit += use.per_unit;
    else
      merged.push_back(use);
  uses = merged;
}

/// Of one row block, of which other GPUs may get the tiles.
TileStores stores_of(const RowBlock& block, std::int64_t tiles, int tiles_of_wave, bool gives_way,
                     const LaunchSite& site) {
  TileStores stores{.tiles = tiles, .uses = {}};
  if (block.addend) stores.addend_us = site.machine.gemm.own_addend_us * site.cost.kernel.tile_n / largest_own_tile_n;
  stores.copies = 0;
  const auto add = [&](const Slice& stored) {
    if (stored.place == 0) return;
    add_link_uses(stores.uses, site, 0, stored.place, 1);
    ++stores.copies;
  };
  add(block.c);
  for (const Slice& replica : block.replicas) add(replica);
  if (stores.copies == 0) return stores;
  const GemmTiming& gemm = site.machine.gemm;
  merge(stores.uses);
  stores.bytes_per_tile = static_cast<double>(bytes_of(block.c, site.schedule)) / static_cast<double>(tiles);
  stores.latency_us = gemm.own_store_latency_us;
  if (gemm.own_store_GBps > 0)
    stores.hold_us = (gives_way ? gemm.own_store_hold : gemm.own_hasty_store_hold) * stores.bytes_per_tile *
                     tiles_of_wave * stores.copies / bytes_per_us(gemm.own_store_GBps);
  return stores;
}

/// Of all row blocks; neighbours that take the same links, and add alike, are one.
std::vector<TileStores> stores_of(const Gemm& gemm, const TiledWork& work, const LaunchSite& site) {
  if (gemm.earlier.empty() && gemm.c.place == 0 && gemm.replicas.empty()) return {};
  const auto blocks = row_blocks(gemm);
  const auto tiles = work.tiles / static_cast<std::int64_t>(blocks.size());
  const auto tiles_of_wave = static_cast<int>(std::min<std::int64_t>(work.ctas, work.tiles));
  const bool gives_way = stores_give_way(gemm, size_of_block(gemm, site.schedule.gpus).k, site.cost.kernel.tile_n);
  std::vector<TileStores> all;
  for (const RowBlock& block : blocks) {
    TileStores stores = stores_of(block, tiles, tiles_of_wave, gives_way, site);
    const bool goes_on = !all.empty() && all.back().uses == stores.uses && all.back().addend_us == stores.addend_us;
    if (goes_on)
      all.back().tiles += stores.tiles;
    else
      all.push_back(std::move(stores));
  }
  const auto stay = [](const TileStores& stores) { return stores.bytes_per_tile == 0; };
  return std::ranges::all_of(all, stay) ? std::vector<TileStores>{} : all;
}

/// The bands of rows that a kernel of so many CTAs fetches, in the order of its tiles.
std::vector<TileFetch> fetches_of(const Gemm& gemm, int ctas, const LaunchSite& site) {
  std::vector<TileFetch> fetches;
  if (!ranks_meet(gemm)) return fetches;
  const auto blocks = row_blocks(gemm);
  const MatrixSize size = size_of_block(gemm, site.schedule.gpus);
  const TileGrid grid = tile_grid(site.cost.kernel, size);
  const int tile_rows = site.cost.kernel.tile_m;
  const FetchOrder order =
      fetch_order(size, site.schedule.buffers[gemm.a.buffer].dtype, gemm.order, grid, ctas, tile_rows);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].a_from) continue;
    Uses uses{{site.l2, 1.0}};
    add_link_uses(uses, site, blocks[i].a_from->place, 0, 1);
    for (int band = 0; band < order.bands; ++band) {
      const double rows = std::min(order.band_rows, order.rows - band * order.band_rows);
      fetches.push_back({.first_tile = static_cast<std::int64_t>(i) * grid.tiles() +
                                       band * order.band_rows / tile_rows * grid.columns,
                         .bytes = rows * order.row_bytes,
                         .first_bytes = rows * std::min(order.chunk_bytes, order.row_bytes),
                         .share_after_last = order.chunks > 1 ? 1.0 / order.chunks : 0,
                         .uses = uses,
                         .GBps = site.machine.gemm.own_fetch_GBps});
    }
  }
  return fetches;
}

}  // namespace

double gemm_setup_us(const Gemm& gemm, const GemmKernel& kernel, bool is_root, const Schedule& schedule,
                     const Machine& machine) {
  if (kernel.scheduler != TileScheduler::dynamic_persistent || gemm.kernel) return 0;
  return is_root ? machine.gemm.root_counter_reset_us : counter_fill_us(machine, schedule);
}

KernelLaunch gemm_launch(const Gemm& gemm, const LaunchSite& site) {
  const GemmKernel& kernel = site.cost.kernel;
  const GemmTiming& library = site.machine.gemm;
  const MatrixSize size = size_on_rank(gemm, site.activity.rank, site.schedule.gpus);
  const DataType dtype = site.schedule.buffers[gemm.a.buffer].dtype;
  if (!site.tile) site.tile = tiles_of(site.machine, size, kernel, dtype, site.cost.factors);
  const double l2_bytes = site.tile->l2_bytes();
  KernelLaunch launch = matrix_launch(site, size.k, dtype, tile_count(size, kernel), l2_bytes,
                                      kernel.cluster_m * kernel.cluster_n, gemm.max_sms);
  if (runs_own_kernel(gemm))
    launch.cta.registers =
        library.threads_per_cta * std::min(library.registers_per_thread, own_gemm_registers_per_thread);
  TiledWork& work = launch.work;
  work.scheduler = kernel.scheduler;
  if (kernel.scheduler == TileScheduler::grid) launch.most_sms = gemm.max_sms;
  // Traffic is known of the rank that has most rows, and each tile of any rank has its share of it.
  const auto tiles_with_traffic = static_cast<double>(tile_count(size_of(gemm, site.schedule.gpus), kernel));
  const double hbm_bytes =
      site.cost.traffic.hbm_bytes * slowdown_of_update(gemm, site) - bytes_left_to_next_kernel(site);
  work.uses = memory_uses(site, l2_bytes * tiles_with_traffic, hbm_bytes);
  work.stores = stores_of(gemm, work, site);
  work.store_GBps = library.own_store_GBps;
  work.fetches = fetches_of(gemm, work.ctas, site);
  work.fetch_latency_us = library.own_fetch_latency_us;
  if (site.cost.signals) work.signal_us = library.own_signal_us;
  work.setup_us = gemm_setup_us(gemm, kernel, site.activity.is_root, site.schedule, site.machine);
  launch.limit = set_gemm_times(work, gemm, site);
  return launch;
}

Limit set_gemm_times(TiledWork& work, const Gemm& gemm, const LaunchSite& site) {
  const GemmTiming& library = site.machine.gemm;
  const MatrixSize size = size_on_rank(gemm, site.activity.rank, site.schedule.gpus);
  TileTiming timing = site.tile->at(of_rank(site.clock_share, site));
  timing.tile_us /= kernel_efficiency(site.machine, gemm);
  set_tile_times(work, site, size.k, timing, ready_tiles(gemm, work.tiles));
  if (!runs_own_kernel(gemm)) work.tile_us += addend_us(work, site);
  const Limit limit = overlap_with_hbm(work, site);
  work.fetch_hold_us = library.own_fetch_hold * work.tile_us;
  if (ranks_meet_at_end(gemm)) work.epilogue_us += library.own_end_us;
  work.tile_us *= 1 + gemm_reordering(site.machine, site.schedule.buffers[gemm.c.buffer].layout);
  work.epilogue_us += split_k_reduction_us(site.machine, size, site.cost.kernel);
  return limit;
}

KernelLaunch grouped_gemm_launch(const GroupedGemm& gemm, const LaunchSite& site) {
  const GroupedSize size = size_of(gemm, site.schedule.gpus);
  const DataType dtype = site.schedule.buffers[gemm.a.buffer].dtype;
  const GemmKernel& kernel = site.cost.kernel;
  if (!site.tile) site.tile = tiles_of(site.machine, size, kernel, dtype, site.cost.factors);
  TileTiming timing = site.tile->at(of_rank(site.clock_share, site));
  timing.tile_us /= kernel_efficiency(site.machine, kernel);
  KernelLaunch launch = matrix_launch(site, size.k, dtype, tile_count(size, kernel), timing.l2_bytes,
                                      kernel.cluster_m * kernel.cluster_n, 0);
  launch.work.scheduler = kernel.scheduler;
  const double hbm_share = is_own_kernel(kernel) ? site.machine.gemm.own_grouped_hbm_share : 1;
  launch.work.uses = memory_uses(site, timing.l2_bytes * static_cast<double>(launch.work.tiles),
                                 site.cost.traffic.hbm_bytes / hbm_share);
  set_tile_times(launch.work, site, size.k, timing);
  launch.limit = overlap_with_hbm(launch.work, site);
  return launch;
}

MemoryBlocks memory_blocks(const Work& work, const OperationCost& cost, const Schedule& schedule,
                           const Machine& machine, double clock_share) {
  const RowKernelTiming timing = time_row_kernel(machine, schedule, work, clock_share);
  const double passes = passes_of(work, cost, schedule, machine, timing.is_known);
  MemoryBlocks blocks{.count = std::int64_t{4} * machine.gpu.sms(),
                      .bytes = std::max(1.0, cost.traffic.touched_bytes) * passes,
                      .hbm_slowdown = passes / timing.hbm_share,
                      .once_us = timing.once_us};
  blocks.block_us = blocks.bytes / static_cast<double>(blocks.count) / (bytes_per_us(timing.sm_GBps) / 4);
  if (const double start_us = machine.other_kernels.sum_start_us; is_sum(work) && start_us > 0) {
    blocks.block_us += start_us;
    blocks.once_us = 0;
  }
  return blocks;
}

KernelLaunch memory_bound_launch(const Work& work, const LaunchSite& site) {
  const Gpu& gpu = site.machine.gpu;
  const MemoryBlocks blocks = memory_blocks_at(site);
  KernelLaunch launch;
  launch.cta = {gpu.threads_per_sm / 4, registers_of_block(work, gpu), 0};
  launch.limit = Limit::hbm;
  launch.work = {.tiles = blocks.count,
                 .tile_us = blocks.block_us,
                 .bytes_per_tile = blocks.bytes / static_cast<double>(blocks.count),
                 .uses = memory_uses(site, blocks.bytes, site.cost.traffic.hbm_bytes * blocks.hbm_slowdown),
                 .epilogue_us = blocks.once_us};
  match(
      work,
      [&](const Copy& copy) {  // bytes count the source and the destination
        add_link_uses(launch.work.uses, site, copy.source.place, copy.destination.place, 0.5);
        if (copy.source.place != copy.destination.place && site.peer_access >= 0)
          launch.work.uses.push_back({site.peer_access, 0.5});
      },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) {});
  return launch;
}

void set_memory_bound_times(TiledWork& work, const LaunchSite& site) {
  const MemoryBlocks blocks = memory_blocks_at(site);
  work.tile_us = blocks.block_us;
  work.epilogue_us = blocks.once_us;
}

KernelLaunch attention_launch(const Attention& attention, const LaunchSite& site) {
  const Gpu& gpu = site.machine.gpu;
  const std::int64_t tokens = row_count(attention.output.rows, site.schedule.gpus);
  const bool is_own = runs_own_attention(site.machine, site.schedule, attention);
  const double share_of_hbm = hbm_share(site.machine, site.schedule, attention);
  if (attention.max_sms > 0 && !is_own)  // it balances its tiles itself, and so splits no keys
    return staying_attention_launch(site,
                                    staying_tiles(site.machine, site.schedule, attention, tokens, site.clock_share),
                                    attention.max_sms, share_of_hbm);
  const AttentionTiming timing = time_scheduled_attention(site.machine, site.schedule, attention, site.clock_share);
  KernelLaunch launch;
  launch.cta = {gpu.threads_per_sm / 8, gpu.registers_per_sm, gpu.shared_memory_per_sm};
  const double compute_us = std::max(static_cast<double>(timing.ctas) / site.sms.sms(), 1.0) * timing.cta_us;
  const bool is_slowed_by_cache =
      attention.cached && site.cost.traffic.hbm_bytes / bytes_per_us(gpu.hbm_GBps * share_of_hbm) > compute_us;
  launch.limit = is_slowed_by_cache ? Limit::hbm : Limit::compute;
  if (site.with_detail) launch.detail = std::to_string(timing.ctas) + " CTAs";
  launch.work = attention_work(site, timing.ctas, share_of_hbm);
  launch.work.setup_us = timing.setup_us + (is_own && attention.cached ? cold_keys_us(site) : 0);
  launch.work.start_us = timing.start_us;
  launch.work.tile_us = timing.cta_us;
  launch.work.tail_us = timing.tail_us;
  launch.work.epilogue_us = timing.once_us;
  return launch;
}

KernelLaunch partial_attention_launch(const PartialAttention& attention, const LaunchSite& site) {
  return staying_attention_launch(
      site, staying_tiles(site.machine, site.schedule, attention, site.activity.rank, site.clock_share),
      attention.max_sms, 1);
}

KernelLaunch holding_launch(int sms, double time_us, const LaunchSite& site) {
  const Gpu& gpu = site.machine.gpu;
  if (sms > site.sms.sms())
    throw InputError(
        site.activity.operation->name + ".held_sms",
        "expected at most the " + std::to_string(site.sms.sms()) + " SMs of a GPU, got " + std::to_string(sms));
  KernelLaunch launch;
  launch.cta = {gpu.threads_per_sm, gpu.registers_per_sm, gpu.shared_memory_per_sm};
  launch.work = {.tiles = sms, .tile_us = std::max(time_us, shortest_us), .uses = {{site.l2, 0.0}}};
  return launch;
}

}  // namespace weft::sim
