// Which program runs a workload: a family and what it leaves open. Each struct of a family lists its keys once, for
// reading and writing (fields.hpp); what the family does stands in families/NAME.cpp, which defines its `rules`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/fields.hpp"

namespace weft::scenarios {

struct FamilyRules;

/// Whose kernel computes a GEMM: the library's, or one of models/schedule/own_kernels.hpp.
enum class GemmSource {
  library,
  own_256_pairs,  ///< tiles of 128 x 256, in clusters of two
  own_256,
  own_128_pairs,
  own_128,
  own_256_pairs_grid,
  own_256_grid,
  own_128_pairs_grid,
  own_128_grid,
  own_192_pairs,
  own_192,
  own_192_pairs_grid,
  own_192_grid,
  own_256_pairs_stream_k,
  own_256_stream_k,
  own_192_pairs_stream_k,
  own_192_stream_k,
  own_128_pairs_stream_k,
  own_128_stream_k,
};

struct Serial {
  static const FamilyRules rules;
  GemmSource gemm = GemmSource::library;
  static void describe(auto& io, auto& choice) {
    io.optional("gemm", choice.gemm, GemmSource::library, "whose kernel computes an op that is a GEMM alone");
  }
  bool operator==(const Serial&) const = default;
};

struct Decomposition {
  static const FamilyRules rules;
  int chunks = 1;
  static void describe(auto& io, auto& choice) { io.required("chunks", choice.chunks, chunk_counts); }
  bool operator==(const Decomposition&) const = default;
};

enum class AsyncInput { copied, symmetric };
/// How gemm+reduce_scatter sums: every rank's partial products are sent to their owner and added up there, or
/// accumulators go round.
enum class AsyncForm { all_to_all, rotating };
struct AsyncTp {
  static const FamilyRules rules;
  AsyncInput input = AsyncInput::copied;
  AsyncForm form = AsyncForm::all_to_all;
  static void describe(auto& io, auto& choice) {
    io.stated("input", choice.input, AsyncInput::copied);
    io.optional("form", choice.form, AsyncForm::all_to_all);
  }
  bool operator==(const AsyncTp&) const = default;
};

enum class FirstLaunched { collective, gemm };
struct Concurrent {
  static const FamilyRules rules;
  FirstLaunched first = FirstLaunched::collective;
  static void describe(auto& io, auto& choice) { io.required("first", choice.first, "which is launched first"); }
  bool operator==(const Concurrent&) const = default;
};

/// Of the tiles of a kernel that signals: models/schedule/schedule.hpp says what they do.
enum class SignalingTiles { grid, static_persistent };
inline TileScheduler scheduler_of(SignalingTiles tiles) {
  return tiles == SignalingTiles::grid ? TileScheduler::grid : TileScheduler::static_persistent;
}

struct Signaling {
  static const FamilyRules rules;
  std::vector<int> groups;  ///< in waves; empty: searched
  /// Empty: searched with the groups, else a grid, which lets collectives in between tiles, and static_persistent where
  /// copy engines move the data.
  std::optional<SignalingTiles> scheduler = {};
  static void describe(auto& io, auto& choice) {
    io.searched("groups", choice.groups, {counts, "waves of each group"});
    io.optional("scheduler", choice.scheduler, std::nullopt, "of the GEMM's tiles, where it can be chosen");
  }
  bool operator==(const Signaling&) const = default;
};

enum class FiccoCompute { uniform, hetero };
enum class FiccoGemm { fused, unfused };
enum class FiccoChunks { rows, rows_and_columns };  ///< "1d", "2d"
enum class FiccoTransport { copy_engine, collective };
struct Ficco {
  static const FamilyRules rules;
  FiccoCompute compute = FiccoCompute::uniform;
  FiccoGemm gemm = FiccoGemm::fused;
  FiccoChunks chunks = FiccoChunks::rows;
  FiccoTransport transport = FiccoTransport::copy_engine;
  static void describe(auto& io, auto& choice) {
    io.required("compute", choice.compute);
    io.required("gemm", choice.gemm);
    io.required("chunks", choice.chunks);
    io.required("transport", choice.transport);
  }
  bool operator==(const Ficco&) const = default;
};

struct TokenSplit {
  static const FamilyRules rules;
  std::optional<std::int64_t> first = {};  ///< tokens of split 1; empty: searched
  bool fused_norm = false;
  int comm_ctas = 8;                   ///< of the fused kernel
  std::optional<int> mlp_comm_ctas{};  ///< of the one after an MLP; empty: as after attention
  static void describe(auto& io, auto& choice) {
    io.searched("first", choice.first, {extents, "tokens of the first split"});
    io.stated("fused_norm", choice.fused_norm, false);
    io.stated("comm_ctas", choice.comm_ctas, 8, {counts, "CTAs of the fused kernel"});
    io.optional("mlp_comm_ctas", choice.mlp_comm_ctas, std::nullopt,
                {counts, "the same after the MLP; left out: comm_ctas"});
  }
  bool operator==(const TokenSplit&) const = default;
};

/// What lets a piece's transfers (gemm+X) or tiles (X+gemm) begin, besides its data.
enum class HybridTrigger {
  kernel_end,    ///< nothing
  tile_group,    ///< its data are tiles of a GEMM, which is cut no further
  kernel_start,  ///< the next GEMM has all its CTAs: transfers fill what a GEMM leaves
  one_launch,    ///< nothing, since all is one launch of a GEMM that fetches or stores, and in which the ranks meet
};
/// Who moves the bytes: NCCL on SMs; copy engines that read from a peer or write to it; a copy kernel that reads; the
/// GEMM itself, which stores its tiles on the peers that want them, or fetches its rows from the peers that have them.
enum class HybridMover { nccl, pull, push, peer_kernel, store, fetch };
/// How the work is cut: row chunks of all ranks' shards at once; each shard by itself, in row chunks; or columns (of k
/// where the GEMM comes last, of n where it comes first).
enum class HybridPieces { chunks, shards, columns };
enum class HybridLanes { one, each_peer };
/// Where a gemm+X reduces without NCCL: when the partial sums of the ranks are added up, and by whom.
enum class HybridSums {
  at_end,      ///< all at once after the last transfer, each rank its shard; an all-reduce then sends the sums
  by_piece,    ///< each piece as soon as it has come, and the sums of an all-reduce are sent on at once
  everywhere,  ///< each piece too, but every rank gets all partial sums and adds them up itself: one trip, more bytes
  in_gemm,     ///< by GEMMs, each to what came from the rank before: accumulators go round (hybrid_rotation.hpp,
               ///< fused_rotation.hpp)
};
/// A schedule by its choices: the named families are some of the points of this space, the others have no name.
struct Hybrid {
  static const FamilyRules rules;
  HybridTrigger trigger = HybridTrigger::kernel_end;
  HybridMover mover = HybridMover::nccl;
  HybridPieces pieces = HybridPieces::chunks;
  int count = 2;                         ///< chunks: of all, of each shard, or column slices
  HybridLanes lanes = HybridLanes::one;  ///< streams of the copies: peer after peer, or all peers at once
  bool ahead = false;                    ///< all of what comes first is launched before the rest; else piece by piece
  bool urgent = false;                   ///< transfers have the highest priority
  int gemm_sms = 0;                      ///< limit of the GEMM; 0: none
  bool kernel_barrier = false;           ///< a GEMM starts only once the transfers beside it have all their SMs
  HybridSums sums = HybridSums::at_end;
  bool late_sums = false;  ///< sums of pieces come after the last GEMM, while the last piece travels
  static void describe(auto& io, auto& choice) {
    io.required("trigger", choice.trigger, "what a transfer, or a tile, waits for besides its data");
    io.required("mover", choice.mover, "who moves the bytes");
    io.required("pieces", choice.pieces, "how the work is cut");
    io.required("count", choice.count, {piece_counts, "pieces, or pieces of each shard"});
    io.optional("lanes", choice.lanes, HybridLanes::one, "streams of the copies");
    io.optional("ahead", choice.ahead, false, "all of what comes first is launched before the rest");
    io.optional("urgent", choice.urgent, false, "transfers have the highest priority");
    io.optional("gemm_sms", choice.gemm_sms, 0, {counts, "of the GEMM; left out: all"});
    io.optional("kernel_barrier", choice.kernel_barrier, false,
                "a GEMM starts once the transfers beside it have their SMs");
    io.optional("sums", choice.sums, HybridSums::at_end, "when and where what copies bring is added up");
    io.optional("late_sums", choice.late_sums, false, "pieces are added up after the last GEMM");
  }
  bool operator==(const Hybrid&) const = default;
};

/// What may run a pair inside of a layer.
using PairFamily = std::variant<Decomposition, Signaling, AsyncTp, Hybrid>;
/// How a GEMM and its collective overlap inside of a layer.
struct PairSchedule {
  PairFamily family;
  int max_ctas = 0;  ///< of this pair: NCCL's maxCTAs with minCTAs 1; 0: the library's default
  bool operator==(const PairSchedule&) const = default;
};
/// A layer whose pairs run each in its own way; one that is left out runs its GEMM and its collective one after the
/// other.
struct Pairs {
  static const FamilyRules rules;
  std::optional<PairSchedule> qkv = {}, o = {}, gate_up = {}, down = {};
  static void describe(auto& io, auto& choice) {
    io.pair_schedule("qkv", choice.qkv, "the all-gather and the projection to queries, keys and values");
    io.pair_schedule("o", choice.o, "attention's output projection and what reduces it");
    io.pair_schedule("gate_up", choice.gate_up, "the all-gather and the first GEMM of the MLP");
    io.pair_schedule("down", choice.down, "the last GEMM of the MLP and what reduces it");
  }
  bool operator==(const Pairs&) const = default;
};

/// What travels: the keys and values to the queries, or the queries to the keys and values and their results back.
enum class AttentionExchange { keys_values, queries };
struct Staged {
  static const FamilyRules rules;
  std::optional<int> stages;  ///< empty: searched
  AttentionExchange exchange = AttentionExchange::keys_values;
  bool kernel_barrier = true;  ///< attention starts once the exchange beside it has started
  int sm_margin = 0;           ///< SMs that attention leaves free
  static void describe(auto& io, auto& choice) {
    io.searched("stages", choice.stages, piece_counts);
    io.stated("exchange", choice.exchange, AttentionExchange::keys_values, "what travels");
    io.stated("kernel_barrier", choice.kernel_barrier, true,
              "attention starts once the exchange beside it has started");
    io.stated("sm_margin", choice.sm_margin, 0, {at_most_counts, "SMs that attention leaves free"});
  }
  bool operator==(const Staged&) const = default;
};

/// The fastest of the others.
struct Best {
  static const FamilyRules rules;
  std::vector<std::string> among{};  ///< names of families; empty: all that the op has
  bool runnable = false;             ///< of those that run today
  static void describe(auto& io, auto& choice) {
    io.families("among", choice.among, "families that are compared; left out: all that the op has");
    io.optional("runnable", choice.runnable, false, "only what weft run executes");
  }
  bool operator==(const Best&) const = default;
};

/// In the order in which candidates are listed.
using Family =
    std::variant<Serial, Decomposition, Signaling, AsyncTp, Concurrent, Ficco, TokenSplit, Staged, Hybrid, Pairs, Best>;

/// Whose host code enqueues the operations of an eager launch: a process for each GPU, or (one_thread) a single thread
/// that enqueues each operation for one GPU after another.
enum class Host { pytorch, cuda, vllm_eager, one_thread };

/// What does the collectives: the library, all-reduces told to be in the switch (nccl_nvls) or as it chooses; the
/// library on windows of symmetric memory, by its kernels (nccl_symmetric) or, what is not added up, by copy engines
/// (nccl_copy_engine); kernels of one's own over peer access (all-reduces in one shot, as PyTorch also has them, or
/// in two as ours are) or the switch's multicast; or nothing, as a baseline without communication.
enum class Collectives { nccl, nccl_nvls, nccl_symmetric, nccl_copy_engine, one_shot, two_shot, multimem, none };

struct ScheduleChoice {
  Family family = {};
  int max_ctas = 0;  ///< NCCL's maxCTAs with minCTAs 1; 0: the library's default
  Launch launch = Launch::graph;
  bool urgent = true;       ///< streams that carry transfers have the highest priority; else all are ordinary ones
  int max_connections = 0;  ///< CUDA_DEVICE_MAX_CONNECTIONS; 0: the driver's default
  Host host = Host::pytorch;
  Collectives collectives = Collectives::nccl;
  Implementation implementation = Implementation::weft;
  /// Besides the family and its keys. A hybrid chooses its transfers' priority itself, under the same key.
  static void describe(auto& io, auto& choice) {
    io.optional("max_ctas", choice.max_ctas, 0, {counts, "NCCL's maxCTAs; left out: its default"});
    io.optional("launch", choice.launch, Launch::graph);
    io.optional("host", choice.host, Host::pytorch, "whose host code enqueues an eager launch");
    io.optional("collectives", choice.collectives, Collectives::nccl, "what does the collectives");
    io.optional("implementation", choice.implementation, Implementation::weft, "whose kernels and graphs run it");
    io.optional("max_connections", choice.max_connections, 0,
                {counts, "CUDA_DEVICE_MAX_CONNECTIONS; left out: the driver's default"});
    if (!std::holds_alternative<Hybrid>(choice.family))
      io.optional("urgent", choice.urgent, true, "false: collectives and copies on streams of ordinary priority");
  }
  bool operator==(const ScheduleChoice&) const = default;
};

std::string_view family_of(const ScheduleChoice& choice);

/// For people: "decomposition, chunks 4, max_ctas 8".
std::string describe(const ScheduleChoice& choice);

}  // namespace weft::scenarios

namespace weft {

template <>
struct NamesOf<scenarios::Host> {
  using enum scenarios::Host;
  static constexpr std::array names{
      std::pair{pytorch, std::string_view{"pytorch"}}, std::pair{cuda, std::string_view{"cuda"}},
      std::pair{vllm_eager, std::string_view{"vllm_eager"}}, std::pair{one_thread, std::string_view{"one_thread"}}};
};
template <>
struct NamesOf<scenarios::Collectives> {
  using enum scenarios::Collectives;
  static constexpr std::array names{std::pair{nccl, std::string_view{"nccl"}},
                                    std::pair{nccl_nvls, std::string_view{"nccl_nvls"}},
                                    std::pair{nccl_symmetric, std::string_view{"nccl_symmetric"}},
                                    std::pair{nccl_copy_engine, std::string_view{"nccl_copy_engine"}},
                                    std::pair{one_shot, std::string_view{"one_shot"}},
                                    std::pair{two_shot, std::string_view{"two_shot"}},
                                    std::pair{multimem, std::string_view{"multimem"}},
                                    std::pair{none, std::string_view{"none"}}};
};
template <>
struct NamesOf<scenarios::GemmSource> {
  using enum scenarios::GemmSource;
  static constexpr std::array names{std::pair{library, std::string_view{"library"}},
                                    std::pair{own_256_pairs, std::string_view{"own_256_pairs"}},
                                    std::pair{own_256, std::string_view{"own_256"}},
                                    std::pair{own_128_pairs, std::string_view{"own_128_pairs"}},
                                    std::pair{own_128, std::string_view{"own_128"}},
                                    std::pair{own_256_pairs_grid, std::string_view{"own_256_pairs_grid"}},
                                    std::pair{own_256_grid, std::string_view{"own_256_grid"}},
                                    std::pair{own_128_pairs_grid, std::string_view{"own_128_pairs_grid"}},
                                    std::pair{own_128_grid, std::string_view{"own_128_grid"}},
                                    std::pair{own_192_pairs, std::string_view{"own_192_pairs"}},
                                    std::pair{own_192, std::string_view{"own_192"}},
                                    std::pair{own_192_pairs_grid, std::string_view{"own_192_pairs_grid"}},
                                    std::pair{own_192_grid, std::string_view{"own_192_grid"}},
                                    std::pair{own_256_pairs_stream_k, std::string_view{"own_256_pairs_stream_k"}},
                                    std::pair{own_256_stream_k, std::string_view{"own_256_stream_k"}},
                                    std::pair{own_192_pairs_stream_k, std::string_view{"own_192_pairs_stream_k"}},
                                    std::pair{own_192_stream_k, std::string_view{"own_192_stream_k"}},
                                    std::pair{own_128_pairs_stream_k, std::string_view{"own_128_pairs_stream_k"}},
                                    std::pair{own_128_stream_k, std::string_view{"own_128_stream_k"}}};
};
template <>
struct NamesOf<scenarios::SignalingTiles> {
  using enum scenarios::SignalingTiles;
  static constexpr std::array names{std::pair{grid, std::string_view{"grid"}},
                                    std::pair{static_persistent, std::string_view{"static_persistent"}}};
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
template <>
struct NamesOf<scenarios::HybridTrigger> {
  using enum scenarios::HybridTrigger;
  static constexpr std::array names{
      std::pair{kernel_end, std::string_view{"kernel_end"}}, std::pair{tile_group, std::string_view{"tile_group"}},
      std::pair{kernel_start, std::string_view{"kernel_start"}}, std::pair{one_launch, std::string_view{"one_launch"}}};
};
template <>
struct NamesOf<scenarios::HybridMover> {
  using enum scenarios::HybridMover;
  static constexpr std::array names{
      std::pair{nccl, std::string_view{"nccl"}},   std::pair{pull, std::string_view{"pull"}},
      std::pair{push, std::string_view{"push"}},   std::pair{peer_kernel, std::string_view{"peer_kernel"}},
      std::pair{store, std::string_view{"store"}}, std::pair{fetch, std::string_view{"fetch"}}};
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
struct NamesOf<scenarios::HybridSums> {
  using enum scenarios::HybridSums;
  static constexpr std::array names{
      std::pair{at_end, std::string_view{"at_end"}}, std::pair{by_piece, std::string_view{"by_piece"}},
      std::pair{everywhere, std::string_view{"everywhere"}}, std::pair{in_gemm, std::string_view{"in_gemm"}}};
};
template <>
struct NamesOf<scenarios::AttentionExchange> {
  using enum scenarios::AttentionExchange;
  static constexpr std::array names{std::pair{keys_values, std::string_view{"keys_values"}},
                                    std::pair{queries, std::string_view{"queries"}}};
};

}  // namespace weft
