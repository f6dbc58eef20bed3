// hybrid: any sensible combination of the choices that the named families fix (see Hybrid in schedule_choice.hpp): how
// the work is cut (hybrid_cut.hpp), who moves it (hybrid_transfers.hpp), and, here, what a transfer or a GEMM waits
// for. Every piece has its part of the GEMM and of the transfers.
//
//   X+gemm   transfers 0 | transfers 1 | …   gemm i follows transfers i
//   gemm+X   gemm 0 | gemm 1 | …             transfers i follow gemm i
//
//   kernel_end    pieces are kernels, which follow the ends of each other
//   kernel_start  besides, transfers i + 1 (X+gemm) or i - 1 (gemm+X) wait for the start of gemm i
//   tile_group    one GEMM; its tiles wait for the flag of their rows, or its rows are sent as soon as they are there
//
// Where the GEMMs add up what others have computed, all is one launch, or one GEMM looks for flags of shards, the
// program is another one (hybrid_rotation.hpp, fused_rotation.hpp, one_launch.hpp, flagged_shards.hpp).
#include <algorithm>

#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/flagged_shards.hpp"
#include "scenarios/families/fused_rotation.hpp"
#include "scenarios/families/hybrid_rotation.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/one_launch.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::families {
namespace {

using Sent = HybridTransfers::Sent;

class HybridProgram {
 public:
  HybridProgram(Program& program, const Case& request, const PairWorkload& pair, const Machine& machine)
      : program_(program),
        pair_(pair),
        hybrid_(std::get<Hybrid>(request.schedule.family)),
        gemm_first_(!collective_comes_first(pair.op)),
        rows_(rows_of_busiest(pair, unit_of_rows(hybrid_, request.gpus), words_of_unit(hybrid_, request.gpus))),
        cut_(program_, hybrid_, request.gpus, rows_, gemm_first_),
        buffers_(add_buffers(program_, pair, hybrid_, request.gpus, rows_)),
        transfers_(program_, request, pair, cut_, buffers_) {
    if (!has_one_gemm() && !stores(hybrid_)) return;
    const std::int64_t rows_of_gemm = has_one_gemm() ? rows_ : rows_ / cut_.pieces();
    const std::int64_t band_rows = has_one_gemm() ? rows_ / hybrid_.count : rows_of_gemm;
    kernel_ = fastest_tiles({rows_of_gemm, pair.n, pair.k},
                            {.band_rows = band_rows,
                             .dtype = pair.dtype,
                             .scheduler = tiles_of(hybrid_, machine),
                             .columns = TileColumns::ragged},
                            machine);
    program_.set_machine(machine.name);
  }

  void add() && {
    transfers_.enter();
    gemm_first_ ? build_producer() : build_consumer();
    transfers_.leave();
    program_.set_meaning(meaning());
  }

 private:
  bool has_one_gemm() const { return hybrid_.trigger == HybridTrigger::tile_group; }
  bool waits_for_starts() const { return hybrid_.trigger == HybridTrigger::kernel_start; }

  Meaning meaning() const {
    const bool is_cyclic = hybrid_.pieces == HybridPieces::chunks;
    Meaning meaning = meaning_of(pair_, rows_, gemm_first_ ? buffers_.a : buffers_.input, buffers_.b,
                                 gemm_first_ ? buffers_.result : buffers_.c);
    if (is_cyclic && pair_.op != PairOp::gemm_all_reduce) meaning.chunks = hybrid_.count;
    return meaning;
  }

  // --- GEMMs ---------------------------------------------------------------------------------------------------

  Gemm limited(Gemm gemm) const {
    gemm.max_sms = hybrid_.gemm_sms;
    return gemm;
  }
  Gemm piece_gemm(int piece) const {
    const int chunk = cut_.chunk_of(piece);
    const BufferId a = buffers_.a, b = buffers_.b, c = buffers_.c;
    if (cut_.by_shard()) {
      const int step = cut_.step_of(piece);
      const int shard = gemm_first_ ? step : transfers_.sender(step);
      const Slice from = gemm_first_ || step != 0 ? cut_.part(a, shard, chunk) : transfers_.input_for(0, chunk);
      if (stores(hybrid_)) {
        Gemm gemm = limited(gemm_of(from, program_.whole(b), transfers_.landing_on_peer(step, chunk)));
        gemm.kernel = kernel_;
        gemm.order = own_order;
        return gemm;
      }
      const Slice to = gemm_first_ && step == 0 ? transfers_.landing(0, chunk) : cut_.part(c, shard, chunk);
      return limited(gemm_of(from, program_.whole(b), to));
    }
    if (!cut_.by_column()) return limited(gemm_of(cut_.whole(a, chunk), program_.whole(b), cut_.whole(c, chunk)));
    if (gemm_first_) {  // a slice of n
      const std::int64_t slice = pair_.n / hybrid_.count;
      return limited(gemm_of(program_.whole(a), program_.rows(b, chunk * slice, slice), cut_.whole(c, chunk)));
    }
    Gemm gemm = limited(gemm_of(cut_.whole(a, chunk), cut_.whole(b, chunk), program_.whole(c)));  // a slice of k
    if (chunk > 0) gemm.addend = gemm.c;
    return gemm;
  }
  /// Tiles in bands of the rows of a chunk, each a group.
  Gemm one_gemm() const {
    Gemm gemm = limited(gemm_of(program_.whole(buffers_.a), program_.whole(buffers_.b), program_.whole(buffers_.c)));
    gemm.kernel = kernel_;
    const TileGrid grid = tile_grid(kernel_, {rows_, pair_.n, pair_.k});
    gemm.order.swizzle = static_cast<int>(grid.rows / hybrid_.count);
    gemm.tile_groups.assign(static_cast<std::size_t>(hybrid_.count), grid.tiles() / hybrid_.count);
    if (stores(hybrid_)) gemm.order.swizzle = rows_of_band_that_shares(gemm.order.swizzle);
    return gemm;
  }
  /// Rows of tiles of a group are divided by it, so that its waves are wide and high and share operands.
  static int rows_of_band_that_shares(int rows_of_group) {
    for (int rows = own_order.swizzle; rows >= 4; rows -= 2)
      if (rows_of_group % rows == 0) return rows;
    return rows_of_group;
  }
  OperationId add_gemm(int piece) {
    return program_.add(main_stream, "gemm " + std::to_string(piece), piece_gemm(piece));
  }

  // --- X+gemm --------------------------------------------------------------------------------------------------

  void build_consumer() {
    if (has_one_gemm()) return build_flagged();
    std::vector<Sent> sent;
    const int ahead = hybrid_.ahead ? cut_.pieces() : hybrid_.kernel_barrier ? 1 : 0;  // pieces
    for (int piece = 0; piece < cut_.pieces(); ++piece) {
      while (static_cast<int>(sent.size()) < std::min(cut_.pieces(), piece + ahead + 1))
        sent.push_back(transfers_.add(static_cast<int>(sent.size())));
      transfers_.copy_own(piece);
      transfers_.wait_for_arrival(piece, sent[static_cast<std::size_t>(piece)]);
      if (hybrid_.kernel_barrier && piece + 1 < cut_.pieces())
        wait_for_starts_of(sent[static_cast<std::size_t>(piece) + 1]);
      const OperationId gemm = add_gemm(piece);
      if (waits_for_starts()) transfers_.wait(After{gemm, Point::all_ctas_started});
    }
  }
  void build_flagged() {
    for (int piece = 0; piece < cut_.pieces(); ++piece) transfers_.copy_own(piece);
    Gemm gemm = one_gemm();
    for (int piece = 0; piece < cut_.pieces(); ++piece)
      gemm.waits.push_back(
          {.tile_group = piece, .counter = transfers_.flag_of(piece), .value = transfers_.signals_of(piece)});
    if (!hybrid_.ahead) program_.add(main_stream, "gemm", gemm);
    for (int piece = 0; piece < cut_.pieces(); ++piece) transfers_.add(piece);
    if (hybrid_.ahead) program_.add(main_stream, "gemm", gemm);
  }

  // --- gemm+X --------------------------------------------------------------------------------------------------

  void build_producer() {
    std::vector<OperationId> gemms;
    if (has_one_gemm()) {
      Gemm gemm = one_gemm();
      if (stores(hybrid_)) transfers_.let_store(gemm, hybrid_.count);
      gemms.push_back(program_.add(main_stream, "gemm", gemm));
    }
    const int ahead = hybrid_.ahead ? cut_.pieces() : waits_for_starts() ? 1 : 0;  // pieces
    for (int piece = 0; piece < cut_.pieces(); ++piece) {
      while (!has_one_gemm() && static_cast<int>(gemms.size()) < std::min(cut_.pieces(), piece + ahead + 1))
        gemms.push_back(add_gemm(static_cast<int>(gemms.size())));
      const Sent sent = send(piece, gemms);
      if (hybrid_.kernel_barrier) wait_for_starts_of(sent);
    }
    for (int piece = 0; piece < cut_.pieces(); ++piece) transfers_.copy_own(piece);
  }
  Sent send(int piece, const std::vector<OperationId>& gemms) {
    const auto index = static_cast<std::size_t>(piece);
    if (cut_.by_shard() && cut_.step_of(piece) == 0) return {};
    transfers_.wait(has_one_gemm() ? After{gemms.front(), Point::tile_group, piece} : After{gemms[index]});
    if (waits_for_starts() && index + 1 < gemms.size())
      transfers_.wait(After{gemms[index + 1], Point::all_ctas_started});
    transfers_.add_computed(piece);
    return transfers_.add(piece);
  }
  void wait_for_starts_of(const Sent& sent) {
    for (const OperationId id : sent.first) program_.wait(main_stream, After{id, Point::all_ctas_started});
  }

  Program& program_;
  const PairWorkload& pair_;
  Hybrid hybrid_;
  bool gemm_first_;
  std::int64_t rows_;  ///< m
  HybridCut cut_;
  HybridBuffers buffers_;
  HybridTransfers transfers_;
  GemmKernel kernel_;
};

std::optional<InputError> why_not_one_launch(const Hybrid& hybrid, const PairWorkload& pair) {
  const auto expected = [](const char* key, const std::string& what) {
    return InputError("schedule." + std::string(key), "expected " + what);
  };
  if (!is_one_launch(hybrid)) return expected("trigger", "one_launch with mover fetch");
  const HybridMover mover = collective_comes_first(pair.op) ? HybridMover::fetch : HybridMover::store;
  if (hybrid.mover != mover)
    return expected("mover", std::string(name_of(mover)) + " with trigger one_launch: the GEMM moves the bytes");
  if (hybrid.pieces != HybridPieces::shards) return expected("pieces", "shards with trigger one_launch");
  if (reduces(pair.op) != sums_in_gemm(hybrid))
    return expected("sums", std::string(reduces(pair.op) ? "in_gemm" : "at_end") + " with trigger one_launch");
  if (hybrid.lanes != HybridLanes::one || hybrid.ahead)
    return expected("trigger", "another than one_launch with lanes or ahead: there is one stream");
  if (pair.n % tile_extent != 0) return expected("trigger", "another than one_launch: tiles have 128 columns");
  return std::nullopt;
}

}  // namespace

std::optional<InputError> why_not(const Hybrid& hybrid, const PairWorkload& pair, int gpus) {
  const bool is_nccl = hybrid.mover == HybridMover::nccl, by_tiles = hybrid.trigger == HybridTrigger::tile_group;
  const bool collective_first = collective_comes_first(pair.op);
  const auto expected = [](const char* key, const std::string& what) {
    return InputError("schedule." + std::string(key), "expected " + what);
  };
  if (is_one_launch(hybrid) || hybrid.mover == HybridMover::fetch)
    if (auto why = why_not_one_launch(hybrid, pair)) return why;
  if (stores(hybrid) && !is_one_launch(hybrid)) {
    if (collective_first)
      return expected("mover", "one of nccl, pull, push and peer_kernel: a GEMM stores its results");
    const bool needs_chunks = hybrid.sums == HybridSums::everywhere;
    const bool follows_tiles = needs_chunks || sums_in_gemm(hybrid);
    if (needs_chunks != (hybrid.pieces == HybridPieces::chunks) || hybrid.pieces == HybridPieces::columns ||
        hybrid.trigger != (follows_tiles ? HybridTrigger::tile_group : HybridTrigger::kernel_end))
      return expected("pieces",
                      "shards with trigger kernel_end, with sums in_gemm shards and with sums everywhere chunks with "
                      "trigger tile_group");
    if (hybrid.lanes != HybridLanes::one || hybrid.ahead)
      return expected("mover", "nccl, pull, push or peer_kernel with lanes or ahead: what is stored has no stream");
    if (pair.n % tile_extent != 0) return expected("mover", "another than store: tiles have 128 columns");
  }
  if (is_nccl && hybrid.pieces != HybridPieces::chunks)
    return expected("pieces", "chunks: NCCL moves contiguous rows of all ranks");
  if (is_nccl && hybrid.lanes != HybridLanes::one) return expected("lanes", "one for NCCL");
  if (!uses_sms(hybrid) && hybrid.urgent)
    return expected("urgent", "false: copy engines have no priority over kernels");
  if (!uses_sms(hybrid) && hybrid.kernel_barrier) return expected("kernel_barrier", "false: copy engines need no SMs");
  if (hybrid.kernel_barrier && (hybrid.trigger != HybridTrigger::kernel_end || hybrid.ahead))
    return expected("kernel_barrier", "false but with trigger kernel_end and without ahead");
  if (hybrid.trigger == HybridTrigger::kernel_start && hybrid.ahead)
    return expected("ahead", "false with trigger kernel_start");
  if (by_tiles && !sums_in_gemm(hybrid) && hybrid.pieces != HybridPieces::chunks) {
    if (!is_flagged_in_shards(hybrid, pair.op))
      return expected("pieces",
                      "chunks with trigger tile_group, bands of tile rows, or shards where copy engines pull what one "
                      "GEMM multiplies");
    if (hybrid.lanes != HybridLanes::one) return expected("lanes", "one: tiles run in the order in which rows come");
    if (hybrid.ahead) return expected("ahead", "false: the GEMM follows nothing");
  }
  if (by_tiles && hybrid.ahead && !collective_first)
    return expected("ahead", "false with trigger tile_group: there is one GEMM");
  if (by_tiles && collective_first && uses_sms(hybrid) && hybrid.gemm_sms == 0)
    return expected("gemm_sms", "a limit: a GEMM whose tiles wait on every SM leaves none for what they wait for");
  if (by_tiles && (pair.m % (std::int64_t{hybrid.count} * tile_extent) != 0 || pair.n % tile_extent != 0))
    return expected("count", "chunks of whole tiles of 128 rows and columns");
  if (hybrid.sums != HybridSums::at_end) {
    if (is_nccl || !reduces(pair.op)) return expected("sums", "at_end but where copies bring partial sums");
    if (hybrid.pieces == HybridPieces::shards && !sums_in_gemm(hybrid))
      return expected("sums", "at_end or in_gemm with pieces shards: each has one owner");
    if (hybrid.sums == HybridSums::everywhere && pair.op != PairOp::gemm_all_reduce)
      return expected("sums", "at_end or by_piece: a reduce-scatter's ranks need their own rows only");
  }
  if (sums_in_gemm(hybrid)) {
    const auto expected_with = [&](const char* key, const std::string& value) {
      return expected(key, value + " with sums in_gemm: accumulators go from each rank to the next");
    };
    if (hybrid.pieces != HybridPieces::shards) return expected_with("pieces", "shards");
    if (hybrid.trigger == HybridTrigger::kernel_start)
      return expected_with("trigger", "kernel_end, tile_group or one_launch");
    if (by_tiles && !pushes(hybrid) && !stores(hybrid))
      return expected("mover", "push or store with trigger tile_group and sums in_gemm");
    if (hybrid.lanes != HybridLanes::one) return expected_with("lanes", "one");
    if (hybrid.ahead) return expected_with("ahead", "false");
    if (hybrid.kernel_barrier) return expected_with("kernel_barrier", "false");
    if (hybrid.urgent) return expected_with("urgent", "false");
  }
  if (hybrid.late_sums) {
    if (!sums_pieces(hybrid)) return expected("late_sums", "false but where kernels add up pieces");
    if (by_tiles) return expected("late_sums", "false with trigger tile_group: that GEMM leaves room for sums");
    if (hybrid.sums == HybridSums::by_piece && pair.op == PairOp::gemm_all_reduce)
      return expected("late_sums", "false where sums of pieces travel: they would all travel after the last GEMM");
  }
  if (const std::int64_t columns = collective_first ? pair.k : pair.n;
      hybrid.pieces == HybridPieces::columns && columns % hybrid.count != 0)
    return expected("count", "a divisor of the " + std::to_string(columns) + " columns");
  return why_not_cut(pair, unit_of_rows(hybrid, gpus), words_of_unit(hybrid, gpus));
}

namespace {

struct HybridRules {
  static constexpr std::string_view name = "hybrid";
  static constexpr std::string_view meaning = "choices of the families, combined";
  static std::string in_words(const Hybrid& choice) {
    std::string words = ", " + std::string(name_of(choice.trigger)) + ' ' + std::string(name_of(choice.mover)) + ", " +
                        std::string(name_of(choice.pieces)) + ' ' + std::to_string(choice.count);
    if (choice.lanes != HybridLanes::one) words += ", " + std::string(name_of(choice.lanes));
    if (choice.ahead) words += ", ahead";
    if (choice.urgent) words += ", urgent";
    if (choice.gemm_sms > 0) words += ", gemm_sms " + std::to_string(choice.gemm_sms);
    if (choice.kernel_barrier) words += ", kernel_barrier";
    if (choice.sums != HybridSums::at_end) words += ", summed " + std::string(name_of(choice.sums));
    if (choice.late_sums) words += " late";
    return words;
  }
  /// A tile group's tiles are those that are the fastest on `machine`.
  static void add_pair(Program& program, const Case& request, const Machine& machine);
  static bool runs_nccl(const Hybrid& choice, const Workload&) { return choice.mover == HybridMover::nccl; }

  static std::vector<Hybrid> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    const auto* pair = std::get_if<PairWorkload>(&workload);
    return pair != nullptr && space.hybrids ? sensible_hybrids(*pair, gpus, space) : std::vector<Hybrid>{};
  }
};

void add_flagged(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                 const Machine& machine) {
  const auto& hybrid = std::get<Hybrid>(request.schedule.family);
  const BlocksOfRanks blocks{request.gpus, hybrid.count};
  const GemmKernel kernel = tiles_of_flagged(pair, blocks, rows, tiles_of(hybrid, machine), machine);
  add_flagged_gemm(program, pair, blocks, rows, kernel, hybrid.gemm_sms);
  program.set_machine(machine.name);
}

void HybridRules::add_pair(Program& program, const Case& request, const Machine& machine) {
  const PairWorkload& pair =
      pair_of(request, {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all,
                        PairOp::all_gather_gemm, PairOp::all_to_all_gemm});
  const auto& hybrid = std::get<Hybrid>(request.schedule.family);
  if (const auto why = why_not(hybrid, pair, request.gpus)) throw *why;
  if (sums_in_gemm(hybrid) || is_one_launch(hybrid) || is_flagged_in_shards(hybrid, pair.op)) {
    const std::int64_t rows =
        rows_of_busiest(pair, unit_of_rows(hybrid, request.gpus), words_of_unit(hybrid, request.gpus));
    if (is_flagged_in_shards(hybrid, pair.op)) return add_flagged(program, request, pair, rows, machine);
    if (is_one_launch(hybrid)) return add_one_launch(program, request, pair, rows, machine);
    return hybrid.trigger == HybridTrigger::tile_group ? add_fused_rotation(program, request, pair, rows, machine)
                                                       : add_rotation(program, request, pair, rows);
  }
  HybridProgram(program, request, pair, machine).add();
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Hybrid::rules =
    FamilyRules::of<Hybrid, families::HybridRules>();
