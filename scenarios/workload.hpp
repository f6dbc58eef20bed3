// What is asked: a workload, the schedule that it is to run under, and times that are known already. Plain values;
// case_json.hpp reads and writes them as the command line does, build() turns them into a Schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::scenarios {

// --- Workloads: what is to be computed -------------------------------------------------------------------------

/// c[m, n] = a[m, k] x b[n, k]^T on each GPU at once. `dtype` is that of the inputs; the output is bf16.
struct GemmWorkload {
  std::int64_t m = 0, n = 0, k = 0;
  DataType dtype = DataType::bf16;
  bool operator==(const GemmWorkload&) const = default;
};

/// `bytes` as nccl-tests count them: the full buffer (all_gather: output, reduce_scatter: input, all_to_all: one
/// rank's whole send buffer).
struct CollectiveWorkload {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes = 0;
  bool operator==(const CollectiveWorkload&) const = default;
};

enum class CopyPattern { one_peer, all_peers };

/// Copy-engine pulls on every GPU at once: `bytes` from rank + 1, or from each peer in turn.
struct CopyWorkload {
  Bytes bytes = 0;
  CopyPattern pattern = CopyPattern::one_peer;
  bool operator==(const CopyWorkload&) const = default;
};

enum class PairOp { gemm_all_reduce, gemm_reduce_scatter, gemm_all_to_all, all_gather_gemm, all_to_all_gemm };

/// A GEMM and a collective, one of which needs the other. `m` is the full (gathered) row count, `n` and `k` are as the
/// GEMM kernel sees them; `imbalance`, for the all-to-all forms, is the busiest GPU's rows over the mean `m`.
struct PairWorkload {
  PairOp op = PairOp::gemm_all_reduce;
  std::int64_t m = 0, n = 0, k = 0;
  DataType dtype = DataType::bf16;
  double imbalance = 1;
  bool operator==(const PairWorkload&) const = default;
};

/// gemm||all_reduce: both, independent of each other.
struct ConcurrentPair {
  std::int64_t m = 0, n = 0, k = 0;
  Bytes bytes = 0;
  DataType dtype = DataType::bf16;
  bool operator==(const ConcurrentPair&) const = default;
};

/// One decoder layer in prefill of one causal sequence; sizes of the unsharded model, tensor-parallel over all GPUs.
/// `dtype` is that of the GEMMs' inputs; their outputs are bf16.
struct LayerWorkload {
  std::int64_t tokens = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0;
  DataType dtype = DataType::bf16;
  bool sequence_parallel = false;
  std::int64_t experts = 0, experts_per_token = 0;  ///< 0: dense; else `intermediate` is the width of each expert
  double expert_imbalance = 1;                      ///< rows of the busiest expert over the mean
  std::int64_t shared_intermediate = 0;             ///< width of a dense MLP beside the experts; 0: none
  bool operator==(const LayerWorkload&) const = default;
};

/// The forward pass of attention over one sequence whose `tokens` lie evenly on all GPUs (context parallel), as
/// AttentionShape says; all heads on every GPU.
struct AttentionWorkload {
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_dim = 0;
  AttentionMask mask = AttentionMask::causal;
  bool operator==(const AttentionWorkload&) const = default;
};

using Workload = std::variant<GemmWorkload, CollectiveWorkload, CopyWorkload, PairWorkload, ConcurrentPair,
                              LayerWorkload, AttentionWorkload>;

// --- Schedule choices: which program runs it -------------------------------------------------------------------

struct Serial {
  bool operator==(const Serial&) const = default;
};

struct Decomposition {
  int chunks = 1;
  bool operator==(const Decomposition&) const = default;
};

enum class AsyncInput { copied, symmetric };
/// How gemm+reduce_scatter sums: every rank's partial products are sent to their owner and added up there, or
/// accumulators go round.
enum class AsyncForm { all_to_all, rotating };
struct AsyncTp {
  AsyncInput input = AsyncInput::copied;
  AsyncForm form = AsyncForm::all_to_all;
  bool operator==(const AsyncTp&) const = default;
};

enum class FirstLaunched { collective, gemm };
struct Concurrent {
  FirstLaunched first = FirstLaunched::collective;
  bool operator==(const Concurrent&) const = default;
};

struct Signaling {
  std::vector<int> groups;  ///< in waves; empty: searched
  bool operator==(const Signaling&) const = default;
};

enum class FiccoCompute { uniform, hetero };
enum class FiccoGemm { fused, unfused };
enum class FiccoChunks { rows, rows_and_columns };  ///< "1d", "2d"
enum class FiccoTransport { copy_engine, collective };
struct Ficco {
  FiccoCompute compute = FiccoCompute::uniform;
  FiccoGemm gemm = FiccoGemm::fused;
  FiccoChunks chunks = FiccoChunks::rows;
  FiccoTransport transport = FiccoTransport::copy_engine;
  bool operator==(const Ficco&) const = default;
};

struct TokenSplit {
  std::optional<std::int64_t> first;  ///< tokens of split 1; empty: searched
  bool fused_norm = false;
  int comm_ctas = 8;                   ///< of the fused kernel
  std::optional<int> mlp_comm_ctas{};  ///< of the one after an MLP; empty: as after attention
  bool operator==(const TokenSplit&) const = default;
};

/// What lets a piece's transfers (gemm+X) or tiles (X+gemm) begin, besides its data.
enum class HybridTrigger {
  kernel_end,    ///< nothing
  tile_group,    ///< its data are tiles of one GEMM, which is never cut
  kernel_start,  ///< the next GEMM has its first CTA: transfers fill what a GEMM leaves
};
/// Who moves the bytes: NCCL on SMs; copy engines that read from a peer or write to it; a copy kernel that reads.
enum class HybridMover { nccl, pull, push, peer_kernel };
/// How the work is cut: row chunks of all ranks' shards at once; each shard by itself, in row chunks; or columns (of k
/// where the GEMM comes last, of n where it comes first).
enum class HybridPieces { chunks, shards, columns };
enum class HybridLanes { one, each_peer };
/// A schedule by its choices: the named families are some of the points of this space, the others have no name.
struct Hybrid {
  HybridTrigger trigger = HybridTrigger::kernel_end;
  HybridMover mover = HybridMover::nccl;
  HybridPieces pieces = HybridPieces::chunks;
  int count = 2;                         ///< chunks: of all, of each shard, or column slices
  HybridLanes lanes = HybridLanes::one;  ///< streams of the copies: peer after peer, or all peers at once
  bool ahead = false;                    ///< all of what comes first is launched before the rest; else piece by piece
  bool urgent = false;                   ///< transfers have the highest priority
  int gemm_sms = 0;                      ///< limit of the GEMM; 0: none
  bool kernel_barrier = false;           ///< a GEMM starts only once the transfers beside it have all their SMs
  bool operator==(const Hybrid&) const = default;
};

/// What travels: the keys and values to the queries, or the queries to the keys and values and their results back.
enum class AttentionExchange { keys_values, queries };
struct Staged {
  std::optional<int> stages;  ///< empty: searched
  AttentionExchange exchange = AttentionExchange::keys_values;
  bool kernel_barrier = true;  ///< attention starts once the exchange beside it has started
  int sm_margin = 0;           ///< SMs that attention leaves free
  bool operator==(const Staged&) const = default;
};

struct Best {
  bool operator==(const Best&) const = default;
};

using Family =
    std::variant<Serial, Decomposition, AsyncTp, Concurrent, Signaling, Ficco, TokenSplit, Hybrid, Staged, Best>;

struct ScheduleChoice {
  Family family;
  int max_ctas = 0;  ///< NCCL's maxCTAs with minCTAs 1; 0: the library's default
  Launch launch = Launch::graph;
  bool operator==(const ScheduleChoice&) const = default;
};

/// Times of the whole GEMM or the whole NCCL collective alone on that machine, where the user has measured them.
struct Measured {
  std::optional<double> gemm_us, collective_us;
  bool operator==(const Measured&) const = default;
};

struct Case {
  std::string id;
  int gpus = 1;
  Workload workload;
  ScheduleChoice schedule;
  Measured measured;
  bool operator==(const Case&) const = default;
};

// --- Words and facts -------------------------------------------------------------------------------------------

/// The word for it in a case: "gemm+reduce_scatter", "transformer_layer", ….
std::string_view op_of(const Workload& workload);
std::string_view family_of(const ScheduleChoice& choice);

/// For people: "gemm+all_reduce m=8192 n=8192 k=3584 bf16", "decomposition, chunks 4, max_ctas 8".
std::string describe(const Workload& workload);
std::string describe(const ScheduleChoice& choice);

CollectiveKind collective_of(PairOp op);
bool collective_comes_first(PairOp op);

/// Largest accepted extent of a matrix (the libraries' index type) and size of one buffer (more than any GPU has).
inline constexpr std::int64_t max_extent = (std::int64_t{1} << 31) - 1;
inline constexpr Bytes max_buffer_bytes = Bytes{1} << 38;
inline constexpr std::int64_t max_experts = 4096;

/// Throws InputError that names the field ("workload.m") where a size is impossible whatever the schedule: not
/// positive, above the limits, fewer than two GPUs for a transfer between GPUs, an element cut in two.
void check_sizes(const Workload& workload, int gpus);

}  // namespace weft::scenarios

namespace weft {

template <>
struct NamesOf<scenarios::CopyPattern> {
  using enum scenarios::CopyPattern;
  static constexpr std::array names{std::pair{one_peer, std::string_view{"one_peer"}},
                                    std::pair{all_peers, std::string_view{"all_peers"}}};
};
template <>
struct NamesOf<scenarios::PairOp> {
  using enum scenarios::PairOp;
  static constexpr std::array names{std::pair{gemm_all_reduce, std::string_view{"gemm+all_reduce"}},
                                    std::pair{gemm_reduce_scatter, std::string_view{"gemm+reduce_scatter"}},
                                    std::pair{gemm_all_to_all, std::string_view{"gemm+all_to_all"}},
                                    std::pair{all_gather_gemm, std::string_view{"all_gather+gemm"}},
                                    std::pair{all_to_all_gemm, std::string_view{"all_to_all+gemm"}}};
};
template <>
struct NamesOf<scenarios::AsyncInput> {
  using enum scenarios::AsyncInput;
  static constexpr std::array names{std::pair{copied, std::string_view{"copied"}},
                                    std::pair{symmetric, std::string_view{"symmetric"}}};
};
template <>
struct NamesOf<scenarios::AsyncForm> {
  using enum scenarios::AsyncForm;
  static constexpr std::array names{std::pair{all_to_all, std::string_view{"all_to_all"}},
                                    std::pair{rotating, std::string_view{"rotating"}}};
};
template <>
struct NamesOf<scenarios::FirstLaunched> {
  using enum scenarios::FirstLaunched;
  static constexpr std::array names{std::pair{collective, std::string_view{"collective"}},
                                    std::pair{gemm, std::string_view{"gemm"}}};
};
template <>
struct NamesOf<scenarios::HybridTrigger> {
  using enum scenarios::HybridTrigger;
  static constexpr std::array names{std::pair{kernel_end, std::string_view{"kernel_end"}},
                                    std::pair{tile_group, std::string_view{"tile_group"}},
                                    std::pair{kernel_start, std::string_view{"kernel_start"}}};
};
template <>
struct NamesOf<scenarios::HybridMover> {
  using enum scenarios::HybridMover;
  static constexpr std::array names{
      std::pair{nccl, std::string_view{"nccl"}}, std::pair{pull, std::string_view{"pull"}},
      std::pair{push, std::string_view{"push"}}, std::pair{peer_kernel, std::string_view{"peer_kernel"}}};
};
template <>
struct NamesOf<scenarios::HybridPieces> {
  using enum scenarios::HybridPieces;
  static constexpr std::array names{std::pair{chunks, std::string_view{"chunks"}},
                                    std::pair{shards, std::string_view{"shards"}},
                                    std::pair{columns, std::string_view{"columns"}}};
};
template <>
struct NamesOf<scenarios::HybridLanes> {
  using enum scenarios::HybridLanes;
  static constexpr std::array names{std::pair{one, std::string_view{"one"}},
                                    std::pair{each_peer, std::string_view{"each_peer"}}};
};
template <>
struct NamesOf<scenarios::AttentionExchange> {
  using enum scenarios::AttentionExchange;
  static constexpr std::array names{std::pair{keys_values, std::string_view{"keys_values"}},
                                    std::pair{queries, std::string_view{"queries"}}};
};
template <>
struct NamesOf<scenarios::FiccoCompute> {
  using enum scenarios::FiccoCompute;
  static constexpr std::array names{std::pair{uniform, std::string_view{"uniform"}},
                                    std::pair{hetero, std::string_view{"hetero"}}};
};
template <>
struct NamesOf<scenarios::FiccoGemm> {
  using enum scenarios::FiccoGemm;
  static constexpr std::array names{std::pair{fused, std::string_view{"fused"}},
                                    std::pair{unfused, std::string_view{"unfused"}}};
};
template <>
struct NamesOf<scenarios::FiccoChunks> {
  using enum scenarios::FiccoChunks;
  static constexpr std::array names{std::pair{rows, std::string_view{"1d"}},
                                    std::pair{rows_and_columns, std::string_view{"2d"}}};
};
template <>
struct NamesOf<scenarios::FiccoTransport> {
  using enum scenarios::FiccoTransport;
  static constexpr std::array names{std::pair{copy_engine, std::string_view{"copy_engine"}},
                                    std::pair{collective, std::string_view{"collective"}}};
};

}  // namespace weft
