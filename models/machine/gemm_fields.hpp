// The numbers of a profile that say how the GEMM library's kernels and weft's own run, described as in
// machine_fields.hpp, which includes this file.
#pragma once

#include "models/machine/machine.hpp"
#include "models/machine/quantity.hpp"

namespace weft::machine_file {

void describe(auto& io, Like<GemmTiming> auto& gemm) {
  io.number("kernel_overhead", gemm.kernel_overhead_us, {"us", "once a kernel", durations});
  io.optional("overhead_at_clock", gemm.overhead_at_clock, {"ratio", "share of it that follows the SMs' clock", parts});
  io.number("epilogue", gemm.epilogue_us_per_element, {"us/element", "of the output tile", {0, 1}});
  io.optional(
      "epilogue_hidden", gemm.epilogue_hidden,
      {"ratio", "share of a large tile's epilogue that costs nothing where its CTA goes on with another tile", parts});
  io.number("cooperative_efficiency", gemm.cooperative_efficiency,
            {"ratio", "share of the tensor cores' rate in the main loop of large tiles", shares});
  io.number("pingpong_efficiency", gemm.pingpong_efficiency,
            {"ratio", "share of the tensor cores' rate in the main loop of small tiles", shares});
  io.optional(
      "even_rows_efficiency", gemm.even_rows_efficiency,
      {"ratio",
       "share of the tensor cores' rate where rows of A, B or C begin at whole 4 bytes but not at 16, which the "
       "tensor memory accelerator cannot load; left out: as of other rows",
       {0, 1}});
  io.optional("odd_rows_efficiency", gemm.odd_rows_efficiency,
              {"ratio", "the same where some begin at 2 bytes only; left out: even_rows_efficiency", {0, 1}});
  io.number("cooperative_above", gemm.cooperative_above_elements,
            {"elements", "of the output tile: larger tiles are cooperative", large_counts});
  io.optional("largest_tile", gemm.largest_tile_elements,
              {"elements", "of the output tile: the library has no larger ones; 0: not known", {0, 1 << 20}});
  io.optional("fp8_accumulators", gemm.fp8_accumulators,
              {"accumulators",
               "of an element of a tile of fp8: 2 where sums of products go to a second one, in fp32, step by step",
               {1, 2}});
  io.optional("fp8_start", gemm.fp8_start_us,
              {"us", "once a kernel of fp8, besides what every kernel takes", durations});
  io.number("dynamic_above", gemm.dynamic_above_waves,
            {"waves", "with more waves tiles are handed out by a counter, with fewer by position", {0, 1 << 12}});
  io.optional("counter_reset", gemm.counter_reset_us,
              {"us", "for the fill of that counter before the kernel, by the library's memset", durations});
  io.optional("counter_fill", gemm.counter_fill_us,
              {"us", "the same in graphs of weft, by a kernel of one warp; left out: counter_reset", durations});
  io.optional("root_counter_reset", gemm.root_counter_reset_us,
              {"us", "counter_reset where the GEMM is the first node of a graph", durations});
  io.number("split_k_overhead", gemm.split_k_overhead_us, {"us", "second kernel that adds the slices up", durations});
  io.optional("split_k_bandwidth", gemm.split_k_GBps,
              {"GBps", "of that kernel, slices in and sums out; left out: gpu.l2_bandwidth", bandwidths});
  io.number("load_latency", gemm.load_latency_us,
            {"us", "of operands on their way from the L2 into shared memory", durations});
  io.optional("unaligned_load", gemm.unaligned_load_factor,
              {"ratio", "loads of rows that do not begin on a 128-byte line take so much longer", slowdowns});
  io.optional(
      "split_sector_load", gemm.split_sector_load_factor,
      {"ratio", "loads of rows that do not even begin on a 32-byte sector take so much longer than of those that do",
       slowdowns});
  io.optional(
      "multicast_saves", gemm.multicast_saves,
      {"exponent",
       "what s CTAs of a cluster load together costs each s to the minus so much: 0 nothing is saved, 1 all", parts});
  io.optional("outside_rows_cost", gemm.outside_rows_cost,
              {"ratio",
               "a row of a tile outside of the matrix takes so many times as long from the L2 as one within",
               {1, 100}});
  io.optional("cluster_start", gemm.cluster_start_us,
              {"us", "later start of a kernel for each doubling of the CTAs of its clusters", durations});
  io.optional("end", gemm.end_us, {"us", "end of a kernel of the library after that of its last CTA", durations});
  io.number("threads_per_cta", gemm.threads_per_cta, {"threads", "of a GEMM's CTA", small_counts});
  io.number("registers_per_thread", gemm.registers_per_thread, {"registers", "of a GEMM's kernel", small_counts});
  io.optional("shared_memory_beside_operands", gemm.shared_memory_beside_operands,
              {"bytes", "shared memory of a CTA of the library's GEMMs, less the operands of all stages", {0, 1e6}});
  io.optional("beside_copies", gemm.beside_copies,
              {"ratio", "a wave that starts while a copy from a peer comes in takes 1 + so many times as long", parts});
  io.optional("beside_pushes", gemm.beside_pushes,
              {"ratio", "the same while a peer's engine pushes one; left out: beside_copies", parts});
  io.optional("tile_spread", gemm.tile_spread,
              {"ratio", "how much later than the mean the last CTA of a wave ends, as a share of its time", parts});
  io.optional("own_efficiency", gemm.own_efficiency,
              {"ratio",
               "rate of a kernel that signals or waits tile by tile, which no library has, over the library's",
               {0.01, 2}});
  io.optional("own_narrow_efficiency", gemm.own_narrow_efficiency,
              {"ratio", "the same of its tiles of 128 columns over that of its wider ones", {0.01, 2}});
  io.optional("own_grouped_hbm_share", gemm.own_grouped_hbm_share,
              {"ratio", "of gpu.hbm_bandwidth, at which grouped GEMMs by a kernel of one's own read", {0.1, 2}});
  io.optional(
      "own_few_rows_latency", gemm.own_few_rows_latency,
      {"ratio", "share of load_latency that a stage of such a GEMM takes however few rows its tiles load", parts});
  io.optional("own_energy", gemm.own_energy,
              {"ratio",
               "energy of the tensor cores and operands of such a kernel over the library's of the same tile",
               {0.1, 10}});
  io.optional("fp8_energy", gemm.fp8_energy,
              {"ratio",
               "energy of the tensor cores and operands of a kernel of fp8 over that of bf16 with as many bytes",
               {0.1, 10}});
  io.optional("own_grid_tile", gemm.own_grid_tile_us,
              {"us", "what a CTA of a grid of weft's own kernels takes to begin and end, which one that stays does not",
               durations});
  io.optional(
      "own_persistent_start", gemm.own_persistent_start_us,
      {"us", "once a GEMM by a kernel of one's own that is persistent, besides what every kernel takes", durations});
  io.optional("own_cluster_start", gemm.own_cluster_start_us,
              {"us", "once a GEMM by a kernel of one's own in clusters of two, besides that", durations});
  io.optional("own_store_bandwidth", gemm.own_store_GBps,
              {"GBps", "of tiles that a GEMM stores on peers, out of each GPU; left out: the links'", bandwidths});
  io.optional("own_store_latency", gemm.own_store_latency_us,
              {"us", "from the last tile's end until all of a GEMM's tiles are stored on peers", durations});
  io.optional("own_store_hold", gemm.own_store_hold,
              {"ratio",
               "share of that time by which the first tiles that CTAs store on peers slow down their second ones, to "
               "whose loads they give way; the n-th tiles do so by 1 / n of that",
               parts});
  io.optional("own_hasty_store_hold", gemm.own_hasty_store_hold,
              {"ratio", "the same of tiles that give way to none, since other ranks wait for them", parts});
  io.optional("own_fetch_bandwidth", gemm.own_fetch_GBps,
              {"GBps", "of rows that a GEMM fetches from peers, into each GPU; left out: the links'", bandwidths});
  io.optional("own_fetch_latency", gemm.own_fetch_latency_us,
              {"us", "from the meeting of the ranks in a GEMM that fetches rows until they begin to come", durations});
  io.optional("own_fetch_hold", gemm.own_fetch_hold,
              {"ratio", "share of its time that a tile takes longer which is computed while rows are fetched", parts});
  io.optional("own_addend", gemm.own_addend_us,
              {"us", "that a tile of 128 x 256 takes longer where it adds what came from a peer", durations});
  io.optional("own_end", gemm.own_end_us,
              {"us", "from the last tile of a kernel at whose end the ranks meet until it tells them", durations});
  io.optional(
      "own_signal", gemm.own_signal_us,
      {"us", "from the end of a tile until its group's counter is raised, by a kernel that signals", durations});
  io.optional(
      "own_slice", gemm.own_slice_us,
      {"us", "that a CTA takes to give or to add the sums of one slice along k of a tile of 128 x 256", durations});
}

}  // namespace weft::machine_file
