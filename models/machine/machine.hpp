// A machine profile: one server, as numbers with units. Loaded from calibration/machines/*.json, where every number
// also carries its source; see machine_json.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/machine/fabric.hpp"
#include "models/machine/gemm_choices.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

struct Gpu {
  std::vector<int> gpc_sms;  ///< SMs of each GPC: a cluster must fit into one
  int registers_per_sm = 0;
  Bytes shared_memory_per_sm = 0;
  int threads_per_sm = 0;
  int ctas_per_sm = 0;
  int hardware_queues = 0;  ///< streams beyond that share one (CUDA_DEVICE_MAX_CONNECTIONS)
  double max_clock_MHz = 0;
  double tensor_flops_per_clock_per_sm = 0;  ///< dense bf16, multiply and add counted separately
  double fp8_speedup = 0;                    ///< over bf16; 0: the GPU has no fp8
  double speed_spread = 0;                   ///< slowest GPU of a server over the fastest in the same work, less 1
  double hbm_GBps = 0;                       ///< what a streaming kernel reaches, read and write together
  double l2_GBps = 0;                        ///< L2 to all SMs, what clusters share counted once
  double l2_unique_GBps = 0;                 ///< L2 to all SMs where each byte goes to one SM only
  Bytes l2_bytes = 0;                        ///< what was touched so many bytes ago is still there
  Bytes l2_lost_bytes = 0;                   ///< what was touched so many bytes ago is gone; linear between the two

  int sms() const {
    int total = 0;
    for (int sms_of_gpc : gpc_sms) total += sms_of_gpc;
    return total;
  }
  /// Over bf16; of fp8 0 where the GPU has none.
  double speedup(DataType dtype) const { return dtype == DataType::fp8 ? fp8_speedup : 1; }
  /// Peak of the tensor cores of one SM at the maximum clock; 1 MHz is one clock in a microsecond.
  double flops_per_us_of_sm(DataType dtype = DataType::bf16) const {
    return tensor_flops_per_clock_per_sm * max_clock_MHz * speedup(dtype);
  }
  double flops_per_us(DataType dtype = DataType::bf16) const { return sms() * flops_per_us_of_sm(dtype); }
};

/// The governor lowers the clock until the mean power of an iteration meets the limit. It waits first, so that a load
/// that begins runs at the maximum clock for `governor_delay_ms`, and then slows down over `governor_ramp_ms`.
struct Power {
  double limit_W = 0;
  double idle_W = 0;              ///< clocks up, nothing running
  double gemm_W = 0;              ///< above idle, while every SM runs a GEMM's tile at the maximum clock
  double tensor_pJ_per_flop = 0;  ///< besides; normally distributed data
  double hbm_pJ_per_byte = 0;
  double copy_pJ_per_byte = 0;        ///< through a GPU's port, by copy engines
  double collective_pJ_per_byte = 0;  ///< the same by a collective's kernel, with what it reads and writes
  double governor_delay_ms = 0, governor_ramp_ms = 0;
};

struct CopyEngines {
  int per_gpu = 0;
  double setup_us = 0;            ///< from the start of a copy to its first byte
  double setup_spread_us = 0;     ///< copies need up to so much longer, each its own time
  double turnaround_us = 0;       ///< from the end of a copy until the engine begins the next one
  double GBps = 0;                ///< one pull over the fabric, on average
  double speed_spread = 0;        ///< pulls take so much more or less of their transfer time, each its own share
  double local_setup_us = 0;      ///< the same of a copy within one GPU
  double local_GBps = 0;          ///< device to device on one GPU, bytes copied (read and written once each)
  double local_strided_GBps = 0;  ///< the same where rows are not one after the other on both sides
};

/// Fixed times between operations.
struct Latencies {
  double kernel_gap_us = 0;        ///< graph: end of a node to the start of a kernel that waits for it alone
  double collective_gap_us = 0;    ///< graph: the same for a collective
  double join_gap_us = 0;          ///< graph: last end to the start of a node that waits for several
  double fork_gap_us = 0;          ///< graph: to the start of a node that does not continue the chain of the one before
  double before_copy_gap_us = 0;   ///< graph: end of a kernel to the start of a copy from or to a peer
  double copy_gap_spread_us = 0;   ///< graph: it is up to so much longer on one stream, each time another part of it,
  double copy_fork_spread_us = 0;  ///< and up to so much from one stream to another, so that copies start in any order
  double after_copy_gap_us = 0;    ///< graph: last end to the start of a kernel that waits for such a copy
  double copy_stream_gap_us = 0;   ///< graph: longer still for each stream with peer copies but the first
  double graph_gap_us = 0;         ///< between two graphs on one stream
  double collective_graph_gap_us = 0;  ///< the same where they hold collectives: their ranks arrive apart
  double short_graph_us = 0;      ///< the launch of such a graph is hidden only behind iterations at least so long,
  double short_graph_gap_us = 0;  ///< and at most so much of it shows behind shorter ones
  double eager_launch_us = 0;     ///< host time of one operation, enqueued by PyTorch
  double eager_gap_us = 0;        ///< kernel to kernel on one stream, enqueued ahead of time
  double eager_event_us = 0;      ///< an event recorded on one stream until another stream goes on
  double barrier_us = 0;          ///< last rank's arrival to the first departure
  double barrier_skew_us = 0;     ///< first rank's departure from a barrier to the last one's
  double start_skew_us = 0;       ///< the same where the ranks' hosts start a run together
  double signal_us = 0;           ///< counter written until a waiting kernel sees it
};

/// How the GEMM library's kernels run on this GPU. A k step of one tile takes about the longest of
///   2 x tile_m x tile_n x tile_k operations at `efficiency` of the tensor cores' rate,
///   load_latency over the stages of the pipeline that are in flight at once,
///   the operands that the cluster does not share, for all CTAs at once, at the L2's rate to the SMs, and
///   what the CTAs of a wave read between them, each byte once, at the L2's unique rate
/// (the fourth root of the sum of fourth powers: near a tie both cost). A tile ends with an epilogue in proportion to
/// its elements. Small tiles are computed by two groups of warps in turn (ping-pong: one's epilogue hides behind the
/// other's main loop), large ones by both together (cooperative).
struct GemmTiming {
  double kernel_overhead_us = 0;       ///< once a kernel
  double epilogue_us_per_element = 0;  ///< of the output tile
  double cooperative_efficiency = 0;   ///< share of the tensor cores' rate while in the main loop
  double pingpong_efficiency = 0;
  int cooperative_above_elements = 0;  ///< of the output tile
  double load_latency_us = 0;          ///< of operands on their way from the L2 into shared memory
  double unaligned_load_factor = 1;    ///< loads of rows that do not begin on a 128-byte line take so much longer
  int dynamic_above_waves = 0;         ///< with more waves tiles are handed out by a counter, with fewer by position
  double counter_reset_us = 0;         ///< for the fill of that counter before the kernel
  double root_counter_reset_us = 0;    ///< the same where the GEMM is the first node of a graph
  double split_k_overhead_us = 0;      ///< second kernel that adds the slices up
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  double beside_copies = 0;  ///< a wave that starts while a copy from a peer comes in takes 1 + so many times as long
  double tile_spread = 0;    ///< how much later than the mean the last CTA of a wave ends, as a share of its time
};

/// Kernels that stream through memory (norms, activations, copies on SMs) and attention.
struct OtherKernels {
  double memory_share_per_sm = 0;   ///< of the HBM rate that the CTAs of one SM can draw
  double norm_share = 1;            ///< of the HBM rate that RMSNorm reaches, wherever its rows lie; with an add or not
  double swiglu_share = 1;          ///< the same of SwiGLU,
  double rotary_share = 1;          ///< and of the rotary embedding
  double overhead_us = 0;           ///< once a kernel
  double attention_efficiency = 0;  ///< share of the tensor cores' rate, FlashAttention 2, heads of 128 and more
  double attention_efficiency_64 = 0;  ///< the same with heads of 64 and fewer
  double attention_tail = 0;           ///< the last CTA ends later than a mean one by so much of what the longest
                                       ///< block takes longer
  double attention_overhead_us = 0;    ///< once a kernel
  double attention_split_us = 0;       ///< longer where keys are split and a second kernel merges the parts
  double persistent_attention_efficiency = 0;  ///< FlashAttention 3
};

/// What one CTA (channel) of a collective kernel takes of its SM, and what it moves through memory.
struct CollectiveKernel {
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  Bytes shared_memory_per_cta = 0;
  double hbm_bytes_per_port_byte = 0;  ///< read and written on each GPU for each byte that leaves it
  double cold_factor = 1;   ///< a collective among other operations takes so many times its time alone, when it finds
  double cold_most_us = 0;  ///< its buffers in the L2, but no more longer than this
  double crowded_us = 0;  ///< longer where it gets its SMs from a GEMM that ends, bunched instead of spread over GPCs;
                          ///< in full from four times its latency on, not below twice (low-latency protocols)
  double created_first_wins = 1;  ///< graph that begins with a collective and other operations: share of launches in
  double created_later_wins = 1;  ///< which a rank starts the collective first, by its place among their nodes
  double beside_gemm = 0;      ///< while a GEMM runs it takes 1 + beside_gemm + memory_pressure x load times as long,
  double memory_pressure = 0;  ///< where the load is what the GEMM reads and writes over what HBM could
};

/// What FlashOverlap's reordering costs, as a share of the time of the kernel that does it: the GEMM whose epilogue
/// stores tiles where they are sent from, and the RMSNorm that reads them where they have arrived.
struct Reordering {
  double gemm_tiles = 0;  ///< whole tiles, for an all-reduce
  double gemm_parts = 0;  ///< sub-tiles, for a reduce-scatter, or rows of tiles, for an all-to-all
  double norm_tiles = 0, norm_sub_tiles = 0, norm_rows = 0;
};

/// The kernel that fuses an all-reduce, a residual add and an RMSNorm (AllReduceNorm), in one of its two forms. It
/// moves bytes through each port at c CTAs x `cta_GBps`, at most at `port_GBps` (the fourth root of the sum of fourth
/// powers: near a tie both cost), after `latency_us` for its two meetings of the ranks.
struct FusedNormForm {
  double cta_GBps = 0;   ///< bytes out of a port for each CTA while there are few
  double port_GBps = 0;  ///< the same with many CTAs
  double latency_us = 0;
};
struct FusedNormKernel {
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  std::optional<FusedNormForm> peer, multicast;  ///< empty: not on this machine
};

struct CurvePoint {
  Bytes bytes = 0;
  double kernel_us = 0;  ///< from the last rank's start to the end
  double alone_us = 0;   ///< from one graph with nothing else to the next: no graph with this collective repeats faster
  int ctas = 0;          ///< small collectives hold fewer than the curve's; 0: as many
};

/// A measured time over size, nccl-tests' byte counts. `ctas` is what the collective holds of the SMs.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 0;
  int max_ctas = 0;  ///< setting that was measured; 0: the library's default
  int ctas = 0;
  int cluster = 1;
  std::vector<CurvePoint> points;  ///< ascending sizes, at least two
};

enum class CollectiveAlgorithm { ring, direct, in_switch };
template <>
struct NamesOf<CollectiveAlgorithm> {
  static constexpr std::array names{std::pair{CollectiveAlgorithm::ring, std::string_view{"ring"}},
                                    std::pair{CollectiveAlgorithm::direct, std::string_view{"direct"}},
                                    std::pair{CollectiveAlgorithm::in_switch, std::string_view{"in_switch"}}};
};

/// One way in which the collective library moves data; see models/cost/library_model.hpp.
struct CollectiveProtocol {
  std::string name;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  int channels = 0;         ///< by default, a CTA each
  double channel_GBps = 0;  ///< payload out of each GPU, at most
  double efficiency = 0;    ///< share of the links' rate that is payload
  double base_us = 0;       ///< once a collective
  double hop_us = 0;        ///< each step from GPU to GPU
  double host_hop_us = 0;   ///< the same where any step goes over the host
};

/// Relative error of predictions for one kind of workload: measured / predicted - 1 at the 5th and 95th percentile. The
/// stratum "speedup" is that of serial over overlapped time. Of several bands of a stratum the last that begins at or
/// below the predicted time counts.
struct ErrorBand {
  std::string stratum;
  double from_us = 0;
  double low = 0, high = 0;
};

struct CalibratedRange {
  std::string quantity;  ///< "m", "n", "k", "bytes", "gpus"
  double low = 0, high = 0;
};

struct Machine {
  std::string name;
  int gpus = 0;
  Gpu gpu;
  Power power;
  CopyEngines copy_engines;
  Fabric fabric;
  Latencies latencies;
  GemmTiming gemm;
  OtherKernels other_kernels;
  CollectiveKernel collective_kernel;
  std::optional<Reordering> reordering;              ///< empty: not known, and counted as nothing
  std::optional<FusedNormKernel> fused_norm_kernel;  ///< empty: nobody has said how it runs there
  GemmChoices gemm_choices;                          ///< what the GEMM library answered; where that is not known,
  std::vector<GemmKernel> gemm_candidates;           ///< the kernels that it may take
  std::vector<CollectiveCurve> collectives;
  std::vector<CollectiveProtocol> collective_protocols;  ///< none: the curves are all that is known
  std::vector<ErrorBand> errors;
  std::vector<CalibratedRange> calibrated;
};

}  // namespace weft
