// The numbers of a machine profile, each described once: section and key in the file, unit, what it means, and whether
// a profile may leave it out. The reader of profiles, `weft machines`, the fit and whoever writes a number into a
// profile walk over them. A number that may be left out then has the value that its struct begins with, which says
// "off": no spread, no delay, a factor of one. So a new mechanism touches no profile that does not measure it.
//
// An `io` offers
//   section(key, value[, {other keys}]), optional_section(key, optional value)   an object of numbers
//   number(key, value, {unit, meaning, range})                      a double or an integer
//   optional(key, value, {…})                                      the same, which may be left out
//   list(key, values, {…})                                         several integers
//   flag(key, value, meaning)
//   word(key, value)                                               an enum, without unit and source
#pragma once

#include <string>

#include "models/machine/gemm_fields.hpp"
#include "models/machine/machine.hpp"
#include "models/machine/quantity.hpp"

namespace weft::machine_file {

void describe(auto& io, Like<Gpu> auto& gpu) {
  io.list("sms_per_gpc", gpu.gpc_sms, {"SMs", "SMs of each GPC; a cluster must fit into one", {1, 1 << 10}});
  io.number("registers_per_sm", gpu.registers_per_sm, {"registers", "registers of an SM", large_counts});
  io.number("shared_memory_per_sm", gpu.shared_memory_per_sm, {"bytes", "shared memory of an SM", large_counts});
  io.optional("shared_memory_reserve", gpu.shared_memory_reserve,
              {"bytes", "shared memory that the hardware keeps of each CTA", {0, 1e6}});
  io.number("threads_per_sm", gpu.threads_per_sm, {"threads", "threads that an SM holds", small_counts});
  io.number("ctas_per_sm", gpu.ctas_per_sm, {"CTAs", "CTAs that an SM holds", small_counts});
  io.number("hardware_queues", gpu.hardware_queues,
            {"queues", "streams beyond that share one (CUDA_DEVICE_MAX_CONNECTIONS)", small_counts});
  io.number("max_clock", gpu.max_clock_MHz, {"MHz", "SM clock while nothing lowers it", {100, 1e4}});
  io.number("tensor_rate", gpu.tensor_flops_per_clock_per_sm,
            {"flops/clock/SM", "dense bf16 on the tensor cores, multiply and add counted separately", {1, 1e6}});
  io.optional("fp8_speedup", gpu.fp8_speedup,
              {"ratio", "fp8 over bf16 on the tensor cores; 0: the GPU has no fp8", {0, 8}});
  io.optional("speed_spread", gpu.speed_spread,
              {"ratio", "slowest GPU of a server over the fastest in the same work, less 1", parts});
  io.optional("memory", gpu.memory_GB, {"GB", "what operands have room in; 0: not known", {0, 1e5}});
  io.number("hbm_bandwidth", gpu.hbm_GBps,
            {"GBps", "what a streaming kernel reaches, read and write together", bandwidths});
  io.optional("hbm_update_share", gpu.hbm_update_share,
              {"ratio", "of hbm_bandwidth, where a GEMM adds to a matrix: its reads and writes are mixed", shares});
  io.number("l2_bandwidth", gpu.l2_GBps,
            {"GBps", "L2 to all SMs; what clusters share counts less by gemm.multicast_saves", bandwidths});
  io.number("l2_unique_bandwidth", gpu.l2_unique_GBps,
            {"GBps", "L2 to all SMs where each byte goes to one SM only", bandwidths});
  io.number("l2_capacity", gpu.l2_bytes,
            {"bytes", "what was touched so many bytes ago is still in the L2", cache_sizes});
  io.number("l2_lost", gpu.l2_lost_bytes,
            {"bytes",
             "what was touched so many bytes ago is gone from the L2; linear between the two",
             {static_cast<double>(gpu.l2_bytes + 1), cache_sizes.most}});
}

void describe(auto& io, Like<Power> auto& power) {
  io.number("limit", power.limit_W, {"W", "mean power at which the governor lowers the clock", {1, 1e4}});
  io.optional(
      "steady_limit", power.steady_limit_W,
      {"W", "mean power at which it lowers that of one operation which is repeated alone; 0: the limit", {0, 1e4}});
  io.optional("peak_limit", power.peak_limit_W,
              {"W",
               "eighth root of the mean eighth power at which it lowers the clock too, of whatever load; 0: none",
               {0, 1e4}});
  io.number("idle", power.idle_W, {"W", "clocks up, nothing running", powers});
  io.number("gemm", power.gemm_W,
            {"W", "above idle, while every SM runs a GEMM's tile at the maximum clock, besides what its operands cost",
             powers});
  io.number("tensor_energy", power.tensor_pJ_per_flop,
            {"pJ/flop", "of the tensor cores, normally distributed data", energies});
  io.optional("attention_energy", power.attention_pJ_per_flop,
              {"pJ/flop", "of attention with its exponentials and its L2 traffic; left out: tensor_energy", energies});
  io.optional("attention_energy_64", power.attention_64_pJ_per_flop,
              {"pJ/flop", "the same with heads of 64 and fewer; left out: attention_energy", energies});
  io.optional(
      "decode_energy", power.decode_pJ_per_byte,
      {"pJ/byte", "on top of that and of hbm_energy, of cached keys and values that our kernel of few queries reads",
       energies});
  io.optional("l2_energy", power.l2_pJ_per_byte, {"pJ/byte", "of operands from the L2 to the SMs", energies});
  io.number("hbm_energy", power.hbm_pJ_per_byte, {"pJ/byte", "of HBM traffic", energies});
  io.number("copy_energy", power.copy_pJ_per_byte,
            {"pJ/byte", "through a GPU's port, by copy engines, besides its HBM traffic", energies});
  io.number("collective_energy", power.collective_pJ_per_byte,
            {"pJ/byte", "through a GPU's port, by a collective's kernel, besides its HBM traffic", energies});
  io.optional("mixed_energy", power.mixed_energy,
              {"ratio",
               "energy above idle of an iteration of several operations, over what they take repeated alone",
               {0.5, 2}});
  io.optional(
      "voltage_floor", power.voltage_floor,
      {"ratio", "the SMs' voltage at a clock of 0 over that at the maximum, if a straight line went so far", parts});
  io.optional("tensor_clock", power.tensor_clock,
              {"ratio", "most of the maximum clock while tensor cores work, however little power they draw", shares});
  io.optional(
      "clock_between", power.clock_between,
      {"ratio", "most of the maximum clock between the operations on tensor cores of a load that has others", shares});
  io.optional("clock_rise", power.clock_rise,
              {"ratio", "the clock there over that while tensor cores work, at most", {1, 10}});
  io.optional("governor_delay", power.governor_delay_ms,
              {"ms", "a load that begins runs at the maximum clock for so long", governor_times});
  io.optional("governor_ramp", power.governor_ramp_ms,
              {"ms", "after the delay the clock goes down over so long; power is averaged as late", governor_times});
}

void describe(auto& io, Like<CopyEngines> auto& engines) {
  io.number("per_gpu", engines.per_gpu, {"engines", "copy engines of a GPU", small_counts});
  io.number("setup", engines.setup_us, {"us", "from the start of a copy to its first byte", durations});
  io.optional("setup_spread", engines.setup_spread_us,
              {"us", "copies need up to so much longer, each its own time", durations});
  io.optional("turnaround", engines.turnaround_us,
              {"us", "from the end of a copy until the engine begins the next one", durations});
  io.optional("stream_turnaround", engines.stream_turnaround_us,
              {"us", "so much later where the next one is a copy of another stream", durations});
  io.number("local_setup", engines.local_setup_us, {"us", "setup of a copy within one GPU", durations});
  io.number("local_strided_bandwidth", engines.local_strided_GBps,
            {"GBps", "local_bandwidth where rows are not one after the other on both sides", bandwidths});
  io.number("peer_bandwidth", engines.GBps, {"GBps", "one pull over the fabric, on average", bandwidths});
  io.optional("push_bandwidth", engines.push_GBps,
              {"GBps", "one push, by an engine of the GPU that has the data; left out: peer_bandwidth", bandwidths});
  io.optional("strided_slowdown", engines.strided_slowdown,
              {"ratio", "copies between GPUs of parts of rows take so much more of their transfer time", parts});
  io.optional("speed_spread", engines.speed_spread,
              {"ratio", "pulls take so much more or less of their transfer time, each its own share", parts});
  io.number("local_bandwidth", engines.local_GBps,
            {"GBps", "device to device on one GPU, bytes copied (read and written once each)", bandwidths});
  io.optional(
      "local_page_bandwidth", engines.local_page_GBps,
      {"GBps", "local_bandwidth of multiples of 4 KiB, in reach of the L2; left out: as any other", bandwidths});
}

/// `share` of what the file says is what the simulated link carries.
void describe_link(auto& io, const std::string& name, Like<LinkRate> auto& link, const char* what, double share = 1) {
  const std::string peak = std::string(what) + ", by its datasheet; bounds use it";
  const std::string rate = std::string(what) + ", of one direction, after the protocol";
  io.number(name + "_bandwidth", link.GBps, {"GBps", rate.c_str(), bandwidths}, share);
  io.number(name + "_peak", link.peak_GBps, {"GBps", peak.c_str(), bandwidths}, share);
}

void describe_host(auto& io, Like<HostPaths> auto& host, bool peer_access) {
  io.number("gpus_per_node", host.gpus_per_node, {"GPUs", "GPUs of one NUMA node", small_counts});
  describe_link(io, "pcie", host.pcie, "a GPU's PCIe link");
  describe_link(io, "numa", host.numa, "from one NUMA node to another");
  if (peer_access) return describe_link(io, "bridge", host.bridge, "what all transfers through one node share");
  describe_link(io, "memory", host.bridge, "a node's memory, which transfers without peer access cross twice", 0.5);
  io.number("staging_bandwidth", host.staging_GBps,
            {"GBps", "a GPU's copies in and out together without peer access (the driver's buffers)", bandwidths});
}

void describe(auto& io, Like<Fabric> auto& fabric) {
  io.word("kind", fabric.kind);
  io.flag("peer_access", fabric.peer_access,
          "GPUs read and write each other's memory; else what they send goes through the host's");
  io.flag("multicast", fabric.multicast,
          "the switch copies one store to all GPUs and adds up what it loads from them (NVLS)");
  if (fabric.kind == FabricKind::nvswitch) describe_link(io, "port", fabric.link, "a GPU's port of the switch");
  if (fabric.kind == FabricKind::nvlink_pairs || fabric.kind == FabricKind::mesh)
    describe_link(io, "link", fabric.link, "the link of two GPUs");
  if (fabric.kind == FabricKind::nvlink_pairs || fabric.kind == FabricKind::pcie)
    io.section("host", [&](auto& section) { describe_host(section, fabric.host, fabric.peer_access); });
}

void describe(auto& io, Like<Latencies> auto& latencies) {
  io.number("kernel_gap", latencies.kernel_gap_us,
            {"us", "graph: end of a node to the start of a kernel that waits for it alone", durations});
  io.optional("meeting_gap", latencies.meeting_gap_us,
              {"us", "graph: kernel_gap where ranks meet in one of the two by a kernel of ours, where that is more",
               durations});
  io.number("collective_gap", latencies.collective_gap_us,
            {"us", "graph: end of a node to the start of a collective that waits for it alone", durations});
  io.optional(
      "after_collective_gap", latencies.after_collective_gap_us,
      {"us", "graph: end of a collective to the start of a kernel behind it on its stream; left out: kernel_gap",
       durations});
  io.optional("beside_branches", latencies.beside_branches_us,
              {"us",
               "graph: a collective of the library takes so much longer where none of its graph, but one of another "
               "graph of the mix runs on a branch",
               durations});
  io.number("join_gap", latencies.join_gap_us,
            {"us", "graph: last end to the start of a node that waits for several", durations});
  io.optional("fork_gap", latencies.fork_gap_us,
              {"us", "graph: to the start of a node that does not continue the chain of the one before", durations});
  io.optional("before_copy_gap", latencies.before_copy_gap_us,
              {"us", "graph: end of a kernel to the start of a copy from or to a peer", durations});
  io.optional("after_copy_gap", latencies.after_copy_gap_us,
              {"us", "graph: last end to the start of a kernel that waits for a copy from or to a peer", durations});
  io.optional("copy_gap_spread", latencies.copy_gap_spread_us,
              {"us", "graph: before_copy_gap is up to so much longer on one stream and behind a GEMM", durations});
  io.optional("copy_fork_spread", latencies.copy_fork_spread_us,
              {"us", "graph: before_copy_gap is up to so much longer from one stream to another", durations});
  io.optional("copy_wait_spread", latencies.copy_wait_spread_us,
              {"us",
               "graph: of several copies between GPUs on one stream the first, and GEMMs that wait for one of "
               "them, begin up to so much later, unless their stream begins by a copy",
               durations});
  io.optional(
      "copy_stream_gap", latencies.copy_stream_gap_us,
      {"us", "graph: after_copy_gap is longer by so much for each stream with peer copies but the first", durations});
  io.optional("copy_ranks_gap", latencies.copy_ranks_gap_us,
              {"us", "graph: after_copy_gap is longer by so much for each doubling of the GPUs beyond two", durations});
  io.optional("copy_join_gap", latencies.copy_join_gap_us,
              {"us", "graph: a copy behind a copy begins so much later where it waits for others, too", durations});
  io.number("graph_gap", latencies.graph_gap_us, {"us", "between two graphs on one stream", durations});
  io.optional(
      "cold_code", latencies.cold_code_us,
      {"us", "graph: kernel_gap is longer by so much where six different kernels and more take turns", durations});
  io.optional("late_gap", latencies.late_gap_us,
              {"us",
               "graph: kernel_gap is longer by so much where two streams of the process once ran kernels at one time "
               "outside of a graph",
               durations});
  io.number("collective_graph_gap", latencies.collective_graph_gap_us,
            {"us", "between two graphs that hold collectives: their ranks arrive apart", durations});
  io.optional(
      "short_graph", latencies.short_graph_us,
      {"us", "the launch of a graph with collectives is hidden only behind iterations at least so long", durations});
  io.optional("short_graph_gap", latencies.short_graph_gap_us,
              {"us", "at most so much of that launch shows behind shorter iterations", durations});
  io.optional("many_ranks_graph", latencies.many_ranks_graph_us,
              {"us",
               "under load, graphs with collectives among more than two GPUs beside other operations do not follow "
               "each other faster",
               durations});
  io.number("eager_launch", latencies.eager_launch_us,
            {"us", "host time of one operation, enqueued by PyTorch", durations});
  io.optional("eager_collective", latencies.eager_collective_us,
              {"us", "host time of a collective of the library besides eager_launch", durations});
  io.number("eager_gap", latencies.eager_gap_us,
            {"us", "kernel to kernel on one stream, enqueued ahead of time", durations});
  io.number("eager_event", latencies.eager_event_us,
            {"us", "an event recorded on one stream until another stream goes on", durations});
  io.optional("eager_event_spread", latencies.eager_event_spread_us,
              {"us",
               "from the earliest such event to the latest, of which a collective begins before or after the GEMM that "
               "waits for the same one; 0: all take eager_event",
               durations});
  io.optional("cuda_launch", latencies.cuda_launch_us,
              {"us", "eager_launch of a program that calls CUDA itself; 0: not known", durations});
  io.optional("vllm_launch", latencies.vllm_launch_us,
              {"us", "eager_launch of vLLM without graphs; 0: not known", durations});
  io.optional("thread_launch", latencies.thread_launch_us,
              {"us", "eager_launch of one thread that drives all GPUs, for each of them; 0: not known", durations});
  io.number("barrier", latencies.barrier_us, {"us", "last rank's arrival to the first departure", durations});
  io.optional("barrier_beside_gemm", latencies.barrier_beside_gemm_us,
              {"us", "so much later where a GEMM runs beside it", durations});
  io.optional("barrier_beside_copies", latencies.barrier_beside_copies_us,
              {"us",
               "so much later where copies between GPUs are on their way, whose bytes its words queue behind: times "
               "1 + 1/2 + ... + 1/N for the N = gpus x (gpus - 1) words, the last of which counts",
               durations});
  io.optional("barrier_skew", latencies.barrier_skew_us,
              {"us", "first rank's departure from a barrier to the last one's", durations});
  io.optional("start_skew", latencies.start_skew_us,
              {"us", "first rank's start to the last one's where the ranks' hosts start a run together", durations});
  io.number("signal", latencies.signal_us, {"us", "counter written until a waiting kernel sees it", durations});
  io.optional("signal_kernel", latencies.signal_kernel_us,
              {"us", "start of a kernel that signals, in a stream, until the counter is written", durations});
  io.optional("wait_kernel", latencies.wait_kernel_us, {"us", "start of a waiting kernel until it reads", durations});
}

void describe(auto& io, Like<OtherKernels> auto& kernels) {
  io.number("memory_share_per_sm", kernels.memory_share_per_sm,
            {"ratio", "of the HBM rate that the CTAs of one SM can draw", shares});
  io.optional("norm_share", kernels.norm_share,
              {"ratio", "of the HBM rate that RMSNorm reaches, wherever its rows lie", shares_of_hbm});
  io.optional("swiglu_share", kernels.swiglu_share, {"ratio", "of the HBM rate that SwiGLU reaches", shares_of_hbm});
  io.optional("rotary_share", kernels.rotary_share,
              {"ratio", "of the HBM rate that the rotary embedding reaches", shares_of_hbm});
  io.optional("pytorch_sum_share", kernels.pytorch_sum_share,
              {"ratio", "of the HBM rate that torch.sum over the partial products of async TP reaches", shares_of_hbm});
  io.number("attention_efficiency", kernels.attention_efficiency,
            {"ratio", "share of the tensor cores' rate, FlashAttention 2, heads of 128 and more", shares});
  io.number("attention_efficiency_64", kernels.attention_efficiency_64,
            {"ratio", "attention_efficiency with heads of 64 and fewer", shares});
  io.optional(
      "attention_tail", kernels.attention_tail,
      {"ratio", "the last CTA ends later than a mean one by so much of what the longest block takes longer", {0, 10}});
  io.number("attention_overhead", kernels.attention_overhead_us, {"us", "once an attention kernel", durations});
  io.optional("attention_split", kernels.attention_split_us,
              {"us", "longer where keys are split and a second kernel merges the parts", durations});
  io.number("persistent_attention_efficiency", kernels.persistent_attention_efficiency,
            {"ratio", "share of the tensor cores' rate, FlashAttention 3", shares});
  io.number("overhead", kernels.overhead_us, {"us", "once a kernel that streams through memory", durations});
  io.optional("sum_start", kernels.sum_start_us,
              {"us", "until a CTA of a sum has its first bytes, instead of the overhead; left out: 0", durations});
}

void describe(auto& io, Like<OwnRowKernels> auto& kernels) {
  io.number("activation_sm_bandwidth", kernels.activation_GBps,
            {"GBps", "that one SM draws for SwiGLU and rotary embedding", bandwidths});
  io.number("quantize_sm_bandwidth", kernels.quantize_GBps, {"GBps", "the same for quantize", bandwidths});
  io.number("norm_sm_bandwidth", kernels.norm_GBps,
            {"GBps", "the same for norms, whose CTAs wait for a row before they store it", bandwidths});
  io.number("gather_sm_bandwidth", kernels.gather_GBps,
            {"GBps", "the same for gathers, whose threads load one octet of a row at a time", bandwidths});
  io.number("hbm_share", kernels.hbm_share, {"ratio", "of the HBM rate that all SMs reach together", shares});
  io.number("start", kernels.start_us, {"us", "once a kernel that is no norm", durations});
  io.number("norm_start", kernels.norm_start_us, {"us", "once a norm", durations});
  io.number("norm_columns", kernels.norm_columns_us,
            {"us", "longer for each 1,000 columns of a norm's row", durations});
}

void describe(auto& io, Like<OwnAttentionTile> auto& tile) {
  io.number("efficiency", tile.efficiency,
            {"ratio", "share of the tensor cores' rate in a block of 128 queries and 128 keys", shares});
  io.number("lone_efficiency", tile.lone_efficiency,
            {"ratio", "the same in blocks of 64 queries, where one warpgroup has none", shares});
  io.number("start", tile.start_us, {"us", "for each tile of queries, before and after its keys", durations});
  io.number("lone_start", tile.lone_start_us, {"us", "the same where one warpgroup has no queries", durations});
}

void describe(auto& io, Like<OwnDecodeQueries> auto& queries) {
  io.number("start", queries.start_us, {"us", "once a kernel", durations});
  io.number("item", queries.item_us, {"us", "for each sequence and head of keys that a CTA has, but one", durations});
  io.number("merge", queries.merge_us, {"us", "longer where several CTAs have pieces of one's keys", durations});
}

void describe(auto& io, Like<OwnDecodeTimes> auto& kernel) {
  io.section("up_to_8", kernel.up_to_8);
  io.section("up_to_16", kernel.up_to_16);
  io.number("tile_64", kernel.tile_64_us, {"us", "for each 128 keys of a CTA, heads of 64, from the L2", durations});
  io.number("tile_128", kernel.tile_128_us, {"us", "the same, heads of 128", durations});
  io.number("group", kernel.group_us, {"us", "longer where pieces are merged in groups", durations});
  io.number("hbm_share", kernel.hbm_share,
            {"ratio", "of the HBM rate that a kernel reaches which reads cached keys once", {0.1, 1.5}});
}

void describe(auto& io, Like<OwnAttentionTimes> auto& kernel) {
  io.section("heads_of_64", kernel.heads_of_64);
  io.section("heads_of_128", kernel.heads_of_128);
  io.number("once", kernel.once_us, {"us", "once a kernel", durations});
  io.number("full_start", kernel.full_start_us,
            {"us", "once a kernel whose tiles fill all SMs; of fewer tiles as large a share", durations});
  io.optional("cold_keys", kernel.cold_keys_us,
              {"us", "longer where cached keys come from memory, and none of them from the L2", durations});
  io.optional("partial_start", kernel.partial_start_us,
              {"us", "longer over some of the keys: parts of a mask are looked up before the first tile", durations});
  io.number("merge", kernel.merge_us, {"us", "once where keys are split and a second kernel merges", durations});
  io.number("merged_split", kernel.merged_split_us, {"us", "longer for each split of a tile's keys", durations});
  io.number("merge_bandwidth", kernel.merge_GBps, {"GBps", "results of splits that are merged", bandwidths});
  io.optional_section("decode", kernel.decode);
}

void describe(auto& io, Like<CollectiveKernel> auto& kernel) {
  io.number("threads_per_cta", kernel.threads_per_cta, {"threads", "of a channel's CTA", small_counts});
  io.number("registers_per_thread", kernel.registers_per_thread,
            {"registers", "of a collective's kernel", small_counts});
  io.number("shared_memory_per_cta", kernel.shared_memory_per_cta, {"bytes", "of a channel's CTA", {0, 1 << 24}});
  io.number("hbm_bytes_per_port_byte", kernel.hbm_bytes_per_port_byte,
            {"ratio", "read and written on each GPU for each byte that leaves it", {0, 100}});
  io.optional("cold", kernel.cold_factor,
              {"ratio",
               "a collective among other operations takes so many times its time alone, when it finds its "
               "buffers in the L2",
               slowdowns});
  io.optional("cold_most", kernel.cold_most_us, {"us", "cold makes it no more than so much longer", durations});
  io.optional("created_first_wins", kernel.created_first_wins,
              {"ratio",
               "graph that begins with a collective and other operations: share of launches in which a rank "
               "starts the collective first, where it is the first of their nodes",
               parts});
  io.optional("created_later_wins", kernel.created_later_wins,
              {"ratio", "created_first_wins where the collective is a later one of their nodes", parts});
  io.optional(
      "created_later_wins_under_load", kernel.created_later_wins_under_load,
      {"ratio", "created_later_wins where the next graph waits at the GPU: the first created always wins", parts});
  io.optional("crowded", kernel.crowded_us,
              {"us",
               "longer where it gets its SMs from a GEMM that ends, bunched instead of spread over GPCs; in full "
               "from four times its latency on, not below twice (low-latency protocols)",
               durations});
  io.optional("beside_gemm", kernel.beside_gemm,
              {"ratio", "while a GEMM runs it takes 1 + beside_gemm + memory_pressure x load times as long", parts});
  io.optional("memory_pressure", kernel.memory_pressure,
              {"ratio", "see beside_gemm; the load is what the GEMM reads and writes over what HBM could", {0, 10}});
  io.optional("one_sided_gain", kernel.one_sided_gain,
              {"ratio", "share of its time that an exchange saves whose ports carry bytes one way only", parts});
}

void describe(auto& io, Like<Reordering> auto& reordering) {
  io.number("gemm_tiles", reordering.gemm_tiles,
            {"ratio", "whole tiles, for an all-reduce: share of the GEMM's time", parts});
  io.number("gemm_parts", reordering.gemm_parts,
            {"ratio", "sub-tiles, for a reduce-scatter, or rows of tiles, for an all-to-all: share of the GEMM's time",
             parts});
  io.number("norm_tiles", reordering.norm_tiles, {"ratio", "whole tiles: share of the RMSNorm's time", parts});
  io.number("norm_sub_tiles", reordering.norm_sub_tiles, {"ratio", "sub-tiles: share of the RMSNorm's time", parts});
  io.number("norm_rows", reordering.norm_rows, {"ratio", "rows of tiles: share of the RMSNorm's time", parts});
}

void describe(auto& io, Like<FusedNormForm> auto& form) {
  io.number("cta_bandwidth", form.cta_GBps,
            {"GBps", "bytes that a CTA loads and adds up, or stores to its peers", bandwidths});
  io.number("port_bandwidth", form.port_GBps, {"GBps", "bytes out of a port with many CTAs", bandwidths});
  io.number("latency", form.latency_us, {"us", "of the two meetings of the ranks", durations});
  io.optional("peer_latency", form.peer_latency_us, {"us", "for each rank beyond two; left out: 0", durations});
}

void describe(auto& io, Like<FusedNormKernel> auto& kernel) {
  io.number("threads_per_cta", kernel.threads_per_cta, {"threads", "of a CTA", small_counts});
  io.number("registers_per_thread", kernel.registers_per_thread, {"registers", "of the kernel", small_counts});
  io.optional("norm_bandwidth", kernel.norm_GBps,
              {"GBps",
               "bytes of rows that a CTA adds to the residual and norms, which pass four times; left out: what an SM "
               "gets of its memory",
               bandwidths});
  io.optional_section("peer", kernel.peer);
  io.optional_section("multicast", kernel.multicast);
}

void describe(auto& io, Like<DirectCollective> auto& kernel) {
  io.number("ctas", kernel.ctas, {"CTAs", "by default", small_counts});
  io.number("cta_bandwidth", kernel.cta_GBps, {"GBps", "bytes that a CTA loads and adds up", bandwidths});
  io.optional(
      "cta_wide_bandwidth", kernel.cta_wide_GBps,
      {"GBps",
       "the same where it asks for twice as much at once: in a reduce-scatter of more than two ranks by up to 12 "
       "CTAs; left out: cta_bandwidth",
       bandwidths});
  io.optional("cta_merge_bandwidth", kernel.cta_merge_GBps,
              {"GBps", "bytes that a CTA of a grouped reduce merges; left out: cta_bandwidth", bandwidths});
  io.optional("cta_store_bandwidth", kernel.cta_store_GBps,
              {"GBps", "bytes of sums that a CTA stores to its peers besides; left out: at no cost", bandwidths});
  io.optional("cta_bulk_bandwidth", kernel.cta_bulk_GBps,
              {"GBps", "bytes that a CTA gathers or exchanges in bulk; left out: cta_bandwidth", bandwidths});
  io.number("port_bandwidth", kernel.port_GBps, {"GBps", "bytes out of a port with many CTAs", bandwidths});
  io.optional("one_way_bandwidth", kernel.one_way_GBps,
              {"GBps", "the same of collectives other than all-reduces; left out: port_bandwidth", bandwidths});
  io.number("latency", kernel.latency_us, {"us", "of the meetings of two ranks", durations});
  io.optional("copy_latency", kernel.copy_latency_us,
              {"us", "the same of gathers and exchanges; left out: latency", durations});
  io.optional("bulk_latency", kernel.bulk_latency_us,
              {"us", "longer where gathers and exchanges go in bulk; left out: 0", durations});
  io.optional("peer_latency", kernel.peer_latency_us, {"us", "for each rank beyond two; left out: 0", durations});
  io.optional("copy_peer_latency", kernel.copy_peer_latency_us,
              {"us", "the same of gathers and exchanges; left out: peer_latency", durations});
  io.optional("beside_gemm", kernel.beside_gemm,
              {"ratio", "while a GEMM runs a CTA takes 1 + beside_gemm times as long; left out: 0", parts});
}

void describe(auto& io, Like<DirectCollectives> auto& kernels) {
  io.optional_section("one_shot", kernels.one_shot);
  io.optional_section("two_shot", kernels.two_shot);
  io.optional_section("multimem", kernels.multimem);
}

void describe(auto& io, Like<CollectiveProtocol> auto& protocol) {
  io.number("channels", protocol.channels, {"CTAs", "by default, a CTA each", small_counts});
  io.number("channel_bandwidth", protocol.channel_GBps,
            {"GBps", "payload of a channel out of each GPU, at most", bandwidths});
  io.number("efficiency", protocol.efficiency, {"ratio", "share of the links' rate that is payload", shares});
  io.number("base", protocol.base_us, {"us", "once a collective", durations});
  io.number("hop", protocol.hop_us, {"us", "each step from GPU to GPU", durations});
  io.optional("host_hop", protocol.host_hop_us, {"us", "each step where any goes over the host", durations});
}

/// The sections that hold numbers alone; `gemm` also names the library's kernels.
void describe(auto& io, Like<Machine> auto& machine) {
  io.section("gpu", machine.gpu);
  io.section("power", machine.power);
  io.section("copy_engines", machine.copy_engines);
  io.section("fabric", machine.fabric);
  io.section("latencies", machine.latencies);
  io.section("gemm", machine.gemm, {"kernels"});
  io.section("other_kernels", machine.other_kernels);
  io.optional_section("own_attention", machine.own_attention);
  io.optional_section("own_rows", machine.own_rows);
  io.section("collective_kernel", machine.collective_kernel);
  io.optional_section("reordering", machine.reordering);
  io.optional_section("fused_norm_kernel", machine.fused_norm_kernel);
  io.optional_section("direct_collectives", machine.direct_collectives);
}

}  // namespace weft::machine_file
