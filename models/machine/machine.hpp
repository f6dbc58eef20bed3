// A machine profile: one server, as numbers with units. Loaded from calibration/machines/*.json, where every number
// also carries its source; see machine_json.hpp. What each number means stands in machine_fields.hpp. The value that a
// struct begins with is that of a profile which leaves the number out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/machine/fabric.hpp"
#include "models/machine/gemm_choices.hpp"
#include "models/machine/gemm_networks.hpp"
#include "models/machine/run_condition.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

struct Gpu {
  std::vector<int> gpc_sms;
  int registers_per_sm = 0;
  Bytes shared_memory_per_sm = 0;
  Bytes shared_memory_reserve = 0;
  int threads_per_sm = 0;
  int ctas_per_sm = 0;
  int hardware_queues = 0;
  double max_clock_MHz = 0;
  double tensor_flops_per_clock_per_sm = 0;
  double fp8_speedup = 0;
  double speed_spread = 0;
  double memory_GB = 0;  ///< 0: not known
  double hbm_GBps = 0;
  double hbm_update_share = 1;
  double l2_GBps = 0;
  double l2_unique_GBps = 0;
  Bytes l2_bytes = 0;
  Bytes l2_lost_bytes = 0;

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

/// The governor lowers the clock until an average of past power, of short iterations their mean, meets the limit,
/// `steady_limit_W` for one operation repeated alone, and the eighth root of the mean of its eighth power
/// `peak_limit_W`. It follows late (governor_memory_us()): a load that begins runs at the maximum clock for
/// `governor_delay_ms`, then slows down over `governor_ramp_ms`. A lower clock needs a lower voltage,
/// so that the same work takes less energy: that of everything on the SMs' clock goes with the square of the voltage,
/// which is linear in the clock and would be `voltage_floor` of its highest at a clock of 0.
struct Power {
  double limit_W = 0;
  double steady_limit_W = 0;  ///< 0: the limit
  double peak_limit_W = 0;    ///< 0: none
  double idle_W = 0;
  double gemm_W = 0;
  double tensor_pJ_per_flop = 0;
  double attention_pJ_per_flop = 0, attention_64_pJ_per_flop = 0, decode_pJ_per_byte = 0;
  double l2_pJ_per_byte = 0;
  double hbm_pJ_per_byte = 0;
  double copy_pJ_per_byte = 0;
  double collective_pJ_per_byte = 0;
  double mixed_energy = 1;  ///< of operations that take turns, over that of each repeated alone
  double voltage_floor = 1;
  double tensor_clock = 1, clock_between = 1;
  double clock_rise = 10;  ///< no limit by default: the highest clock is less than 10 times the lowest
  double governor_delay_ms = 0, governor_ramp_ms = 0;

  double limit_of_steady_load_W() const { return steady_limit_W > 0 ? steady_limit_W : limit_W; }
};

/// A pull asks for its bytes over the links that the own answers to others' pulls take: a push has more of them.
struct CopyEngines {
  int per_gpu = 0;
  double setup_us = 0;
  double setup_spread_us = 0;
  double turnaround_us = 0, stream_turnaround_us = 0;
  double GBps = 0, push_GBps = 0;
  double strided_slowdown = 0;
  double speed_spread = 0;
  double local_setup_us = 0;
  double local_GBps = 0, local_page_GBps = 0;
  double local_strided_GBps = 0;

  double rate_of_push_GBps() const { return push_GBps > 0 ? push_GBps : GBps; }
  /// Of a copy within one GPU from rows that lie one after the other to such rows: the driver moves whole pages by
  /// another kernel than anything else.
  double rate_within_gpu_GBps(Bytes bytes) const {
    return bytes % bytes_of_page == 0 && local_page_GBps > 0 ? local_page_GBps : local_GBps;
  }
  static constexpr Bytes bytes_of_page = 4096;
};

/// Fixed times between operations.
struct Latencies {
  double kernel_gap_us = 0, meeting_gap_us = 0;
  double collective_gap_us = 0;
  double after_collective_gap_us = 0;
  double beside_branches_us = 0;
  double join_gap_us = 0;
  double fork_gap_us = 0;
  double before_copy_gap_us = 0;
  double copy_gap_spread_us = 0;
  double copy_fork_spread_us = 0;
  double copy_wait_spread_us = 0;
  double after_copy_gap_us = 0;
  double copy_stream_gap_us = 0;
  double copy_ranks_gap_us = 0;
  double copy_join_gap_us = 0;
  double cold_code_us = 0, late_gap_us = 0;
  double graph_gap_us = 0;
  double collective_graph_gap_us = 0;
  double short_graph_us = 0;
  double short_graph_gap_us = 0;
  double many_ranks_graph_us = 0;
  double eager_launch_us = 0, eager_collective_us = 0;
  double eager_gap_us = 0;
  double eager_event_us = 0, eager_event_spread_us = 0;
  double cuda_launch_us = 0;
  double vllm_launch_us = 0;
  double thread_launch_us = 0;
  double barrier_us = 0;
  double barrier_beside_gemm_us = 0;
  double barrier_beside_copies_us = 0;
  double barrier_skew_us = 0;
  double start_skew_us = 0;
  double signal_us = 0;
  double signal_kernel_us = 0, wait_kernel_us = 0;
};

/// How the GEMM library's kernels run on this GPU. A k step of one tile takes about the longest of
///   2 x tile_m x tile_n x tile_k operations at `efficiency` of the tensor cores' rate,
///   load_latency over the stages of the pipeline that are in flight at once,
///   its operands, for all CTAs at once, at the L2's rate to the SMs, where what `s` CTAs of a cluster load together
///   costs each of them s^-multicast_saves of what it would cost it alone, and rows of a tile that lie outside of the
///   matrix cost `outside_rows_cost` times as much as those within, and
///   what the CTAs of a wave read between them, each byte once, at the L2's unique rate,
/// of which the last two take the root of the sum of their squares together, as the same L2 does both, and that and the
/// others the eighth root of the sum of eighth powers: at a tie both cost. A tile ends with an epilogue in proportion
/// to its elements, of which `epilogue_hidden` costs nothing where the CTA goes on with another tile, whose operands it
/// loads meanwhile. Of kernel_overhead so much as `overhead_at_clock` says follows the SMs' clock. Where operands come
/// from HBM, all steps together and that stream take about the longer of both as well. A kernel starts later by
/// `cluster_start` for each doubling of its clusters. Small tiles are computed by two groups of warps in turn
/// (ping-pong: one's epilogue hides behind the other's main loop), large ones by both together (cooperative). An
/// element of a tile of fp8 counts `fp8_accumulators` times in all that depends on a tile's size but its epilogue.
///
/// Rows of bf16 that do not begin at whole 16 bytes the tensor memory accelerator cannot load: the library then takes
/// kernels that were written for older GPUs, whose warps load and multiply by themselves, at a lower efficiency.
struct GemmTiming {
  double kernel_overhead_us = 0, overhead_at_clock = 0;
  double epilogue_us_per_element = 0, epilogue_hidden = 0;
  double cooperative_efficiency = 0;
  double pingpong_efficiency = 0;
  double even_rows_efficiency = 0, odd_rows_efficiency = 0;
  int cooperative_above_elements = 0;
  int largest_tile_elements = 0;
  int fp8_accumulators = 1;
  double fp8_start_us = 0;
  double load_latency_us = 0;
  double unaligned_load_factor = 1, split_sector_load_factor = 1;
  double multicast_saves = 1, outside_rows_cost = 1;
  double cluster_start_us = 0, end_us = 0;
  int dynamic_above_waves = 0;
  double counter_reset_us = 0, counter_fill_us = 0;
  double root_counter_reset_us = 0;
  double split_k_overhead_us = 0, split_k_GBps = 0;
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  Bytes shared_memory_beside_operands = 0;
  double beside_copies = 0, beside_pushes = 0;
  double tile_spread = 0;
  double own_efficiency = 1, own_narrow_efficiency = 1, own_energy = 1;
  double own_grouped_hbm_share = 1, own_few_rows_latency = 0;
  double fp8_energy = 1;
  double own_grid_tile_us = 0, own_persistent_start_us = 0, own_cluster_start_us = 0;
  double own_store_GBps = 0, own_store_latency_us = 0;
  double own_store_hold = 0, own_hasty_store_hold = 0;
  double own_fetch_GBps = 0, own_fetch_latency_us = 0, own_fetch_hold = 0;
  double own_addend_us = 0, own_end_us = 0;
  double own_signal_us = 0;
  double own_slice_us = 0;

  /// Accumulators of one element of a tile of the library's kernels.
  int accumulators(DataType dtype) const { return dtype == DataType::fp8 ? fp8_accumulators : 1; }
  double beside_any_push() const { return beside_pushes > 0 ? beside_pushes : beside_copies; }
};

/// Kernels that stream through memory (norms, activations, copies on SMs) and attention.
struct OtherKernels {
  double memory_share_per_sm = 0;
  double norm_share = 1;
  double swiglu_share = 1;
  double rotary_share = 1;
  double pytorch_sum_share = 1;
  double overhead_us = 0, sum_start_us = 0;
  double attention_efficiency = 0;
  double attention_efficiency_64 = 0;
  double attention_tail = 0;
  double attention_overhead_us = 0;
  double attention_split_us = 0;
  double persistent_attention_efficiency = 0;
};

/// Our own kernels that stream through memory row by row. Where the L2 holds what they touch, their time is what one SM
/// draws; `start_us` comes once a kernel, of norms `norm_start_us` and `norm_columns_us` for each 1,000 columns.
struct OwnRowKernels {
  double activation_GBps = 0, quantize_GBps = 0, norm_GBps = 0, gather_GBps = 0;
  double hbm_share = 0;
  double start_us = 0, norm_start_us = 0, norm_columns_us = 0;
};

/// Tiles of queries of our own attention. Where one of a CTA's two warpgroups never has a query, the other one computes
/// its half of a block `lone`.
struct OwnAttentionTile {
  double efficiency = 0, lone_efficiency = 0;
  double start_us = 0, lone_start_us = 0;
};
/// Of our kernel of few queries: once a kernel, for each further item of a CTA, and where items lie in pieces.
struct OwnDecodeQueries {
  double start_us = 0, item_us = 0, merge_us = 0;
};
/// That kernel (attention_tiles.hpp): with up to 8 queries that see the same keys and with up to 16; for each tile of
/// keys of a CTA, from the L2; `group_us` where pieces are merged in groups. `hbm_share`: of the HBM rate, above 1,
/// where a kernel of ours reads cached keys once.
struct OwnDecodeTimes {
  OwnDecodeQueries up_to_8, up_to_16;
  double tile_64_us = 0, tile_128_us = 0, group_us = 0;
  double hbm_share = 1;
};
/// Our own attention kernel, and the one that merges what splits of a tile's keys give: `merge_us`, `merged_split_us`
/// for each split, and the results of the splits at `merge_GBps`. `cold_keys_us` where cached keys come from memory.
struct OwnAttentionTimes {
  OwnAttentionTile heads_of_64, heads_of_128;
  double once_us = 0, full_start_us = 0, cold_keys_us = 0, partial_start_us = 0;
  double merge_us = 0, merged_split_us = 0, merge_GBps = 0;
  std::optional<OwnDecodeTimes> decode;  ///< empty: as by the kernel of many queries
};

/// What one CTA (channel) of a collective kernel takes of its SM, and what it moves through memory.
struct CollectiveKernel {
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  Bytes shared_memory_per_cta = 0;
  double hbm_bytes_per_port_byte = 0;
  double cold_factor = 1;
  double cold_most_us = 0;
  double crowded_us = 0;
  double created_first_wins = 1;
  double created_later_wins = 1;
  double created_later_wins_under_load = 1;
  double beside_gemm = 0;
  double memory_pressure = 0;
  double one_sided_gain = 0;
};

/// What FlashOverlap's reordering costs, as a share of the time of the kernel that does it: the GEMM whose epilogue
/// stores tiles where they are sent from, and the RMSNorm that reads them where they have arrived.
struct Reordering {
  double gemm_tiles = 0;
  double gemm_parts = 0;
  double norm_tiles = 0, norm_sub_tiles = 0, norm_rows = 0;
};

/// The all-reduce in such a kernel, as DirectCollective: where it is another than that of the collectives by
/// themselves, or the profile does not say how those run.
struct FusedNormForm {
  double cta_GBps = 0;
  double port_GBps = 0;
  double latency_us = 0, peer_latency_us = 0;
};
/// The kernel that fuses an all-reduce, a residual add and an RMSNorm (AllReduceNorm). Its all-reduce is that of its
/// own form, where it has one, else that of DirectCollectives. A CTA passes each row that it norms four times through
/// memory besides, at `norm_GBps` (0: what an SM gets of its GPU's memory).
struct FusedNormKernel {
  int threads_per_cta = 0;
  int registers_per_thread = 0;
  double norm_GBps = 0;
  std::optional<FusedNormForm> peer, multicast;
};

/// A collective by a kernel that is none of the library's, after `latency_us` for the meetings of the ranks
/// (`copy_latency_us` of gathers and exchanges, which add nothing; 0: the same) and `peer_latency_us` for each rank
/// beyond two (`copy_peer_latency_us` of gathers and exchanges, whose CTAs go from one peer to the next; 0: the same).
/// Two limits hold it, where near a tie both cost: its port at `port_GBps`, or `one_way_GBps` where it only loads from
/// peers or only stores to them (0: the same), and its `ctas` CTAs, each of which loads and adds up at `cta_GBps`
/// (`cta_wide_GBps` where it asks for twice as much at once; 0: the same) and stores what it has added up to its peers
/// at `cta_store_GBps` (0: at no cost). A copy with enough for each CTA goes in bulk, at `cta_bulk_GBps` (0: at
/// `cta_GBps`) after `bulk_latency_us` more. While a GEMM runs, whose loads make those of a CTA wait longer, a CTA
/// takes 1 + beside_gemm times as long; the port does not.
struct DirectCollective {
  int ctas = 0;
  double cta_GBps = 0;
  double cta_wide_GBps = 0, cta_store_GBps = 0, cta_bulk_GBps = 0, cta_merge_GBps = 0;
  double port_GBps = 0, one_way_GBps = 0;
  double latency_us = 0, copy_latency_us = 0;
  double bulk_latency_us = 0;
  double peer_latency_us = 0, copy_peer_latency_us = 0;
  double beside_gemm = 0;
};
/// one_shot: every rank loads all ranks' buffers and adds them up; two_shot: each its share of them, which it stores to
/// all; multimem: the switch adds up what is loaded and copies what is stored.
struct DirectCollectives {
  std::optional<DirectCollective> one_shot, two_shot, multimem;  ///< empty: not on this machine, or not known there
};

struct CurvePoint {
  Bytes bytes = 0;
  double kernel_us = 0;  ///< from the last rank's start to the end
  double alone_us = 0;   ///< from one graph with nothing else to the next: no graph with this collective repeats faster
  int ctas = 0;          ///< small collectives hold fewer than the curve's; 0: as many
};

/// A measured time over size, nccl-tests' byte counts. `ctas` is what the collective holds of the SMs, 0 where copy
/// engines move it.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 0;
  int max_ctas = 0;  ///< setting that was measured; 0: the library's default
  int ctas = 0;
  int cluster = 1;
  std::vector<CurvePoint> points = {};  ///< ascending sizes, at least two
  Transport transport = Transport::nccl;
  Bytes change_bytes = 0;  ///< from this size on the library takes another protocol, and the time jumps; 0: none known
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
  int channels = 0;
  double channel_GBps = 0;
  double efficiency = 0;
  double base_us = 0;
  double hop_us = 0;
  double host_hop_us = 0;
};

/// What programs the GPUs: `weft run` and NCCL's measurements need CUDA.
enum class Runtime { cuda, rocm, cann };
template <>
struct NamesOf<Runtime> {
  static constexpr std::array names{std::pair{Runtime::cuda, std::string_view{"cuda"}},
                                    std::pair{Runtime::rocm, std::string_view{"rocm"}},
                                    std::pair{Runtime::cann, std::string_view{"cann"}}};
};

/// Of the GPUs: what decides which of weft's own kernels run on them.
enum class Architecture { other, ampere, ada, hopper, blackwell, cdna3 };
template <>
struct NamesOf<Architecture> {
  static constexpr std::array names{std::pair{Architecture::other, std::string_view{"other"}},
                                    std::pair{Architecture::ampere, std::string_view{"ampere"}},
                                    std::pair{Architecture::ada, std::string_view{"ada"}},
                                    std::pair{Architecture::hopper, std::string_view{"hopper"}},
                                    std::pair{Architecture::blackwell, std::string_view{"blackwell"}},
                                    std::pair{Architecture::cdna3, std::string_view{"cdna3"}}};
};

/// Relative error of predictions for one kind of workload on at most two GPUs: measured / predicted - 1 at the 5th and
/// 95th percentile. Of several bands of a stratum the last that begins at or below the predicted time counts.
struct ErrorBand {
  std::string stratum;
  double from_us = 0;
  double low = 0, high = 0;
};

/// What a set of measurements tells of errors.
struct ErrorBands {
  Condition condition = Condition::sustained;
  double growth = 1;  ///< of both ends of each band with each doubling of the GPUs beyond two
  std::vector<ErrorBand> bands;

  double widening(int gpus) const { return std::pow(growth, doublings_beyond_two(gpus)); }
  static double doublings_beyond_two(int gpus) { return std::max(0.0, std::log2(gpus) - 1); }
};

struct CalibratedRange {
  std::string quantity;  ///< "m", "n", "k", "bytes", "gpus"
  double low = 0, high = 0;
};

struct Machine {
  RunCondition condition;  ///< what its GPUs were doing before: said by the question, no part of a profile
  std::string name;
  int gpus = 0;
  Runtime runtime = Runtime::cuda;
  Architecture architecture = Architecture::other;
  Gpu gpu;
  Power power;
  CopyEngines copy_engines;
  Fabric fabric;
  Latencies latencies;
  GemmTiming gemm;
  OtherKernels other_kernels;
  std::optional<OwnAttentionTimes> own_attention;  ///< empty: not on this machine
  std::optional<OwnRowKernels> own_rows;           ///< empty: as other_kernels has them
  CollectiveKernel collective_kernel;
  std::optional<Reordering> reordering;                 ///< empty: not known, and counted as nothing
  std::optional<FusedNormKernel> fused_norm_kernel;     ///< empty: nobody has said how it runs there
  std::optional<DirectCollectives> direct_collectives;  ///< empty: none is known there
  GemmChoices gemm_choices;                             ///< what the GEMM library answered; where that is not known,
  std::vector<GemmKernel> gemm_candidates;              ///< the kernels that it may take
  NetworkWeights kernel_weights;                        ///< of kernel_score(); empty: votes and times alone decide
  MeasuredGemmNetworks gemm_networks;
  std::vector<CollectiveCurve> collectives;
  std::vector<CollectiveCurve> symmetric_collectives;    ///< of NCCL's windows: nccl_symmetric, nccl_copy_engine
  std::vector<CollectiveProtocol> collective_protocols;  ///< none: the curves are all that is known
  std::vector<ErrorBands> errors;
  std::vector<CalibratedRange> calibrated;
};

}  // namespace weft
