// ficco: every rank sends each peer one chunk in every step, over all links at once; W steps for W GPUs.
//
//   s0:      enter | [gemm own] | [copy own 0] | gemm 0 | [scatter 0 …] | [copy own 1] | gemm 1 | … | leave
//   peer i:          pull of rank + i, step 0 | pull of rank + i, step 1 | …
//   or s1:           all_gather 0 | all_gather 1 | …
//
// What a step's chunk is: 1/W of the rows of a shard (1d), or all its rows and 1/W of the columns (2d): then a GEMM
// works on a slice of k and accumulates. Who computes the own shard: each step its chunk of it, copied in (uniform), or
// one GEMM before all steps (hetero). How a step computes: one GEMM over all its chunks, which arrive in one block
// (fused), or one for each chunk (unfused). Rows of a block lie apart in the result. So they are computed into a block
// as well and copied from there: after each step, or in 2d, where they are complete only then, after the last. Only
// uniform 2d needs no such copies: its block has the rows of the result in their order.
#include <algorithm>

#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/rank_rows.hpp"

namespace weft::scenarios::families {
namespace {

class FiccoProgram {
 public:
  FiccoProgram(const Case& request, const Ficco& choice, int steps, const PairWorkload& pair,
               std::vector<std::int64_t> rows_of_rank)
      : program_(request),
        pair_(pair),
        choice_(choice),
        max_ctas_(request.schedule.max_ctas),
        gpus_(request.gpus),
        steps_(steps),
        rows_of_rank_(std::move(rows_of_rank)),
        rows_(rows_of_rank_.front()),
        chunk_rows_(chunk_rows_of(0)),
        chunk_columns_(pair.k / (cuts_rows() ? 1 : steps)) {
    add_buffers();
    add_streams();
  }

  Schedule build() && {
    program_.add(main_stream, "enter", Barrier{});
    for (const StreamId stream : transfer_streams_) program_.wait(stream, main_stream);
    if (!is_uniform()) program_.add(main_stream, "gemm own", own_gemm());
    for (int step = 0; step < steps_; ++step) {
      uses_collective() ? all_gather(step) : pull(step);
      if (is_fused())
        compute_block(step);
      else
        compute_chunks(step);
    }
    program_.add(main_stream, "leave", Barrier{});
    program_.set_meaning({.op = std::string(name_of(pair_.op)),
                          .m = is_uneven(rows_of_rank_) ? pair_.m : rows_,
                          .n = pair_.n,
                          .k = pair_.k,
                          .a = input_,
                          .b = b_,
                          .result = c_,
                          .rows_of_rank = is_uneven(rows_of_rank_) ? rows_of_rank_ : std::vector<std::int64_t>{}});
    return std::move(program_).finish();
  }

 private:
  bool is_uniform() const { return choice_.compute == FiccoCompute::uniform; }
  bool is_fused() const { return choice_.gemm == FiccoGemm::fused; }
  bool cuts_rows() const { return choice_.chunks == FiccoChunks::rows; }
  bool uses_collective() const { return choice_.transport == FiccoTransport::collective; }
  /// Do chunks arrive in blocks of one step, or each at its place in the full input?
  bool arrives_in_blocks() const { return is_fused() || uses_collective(); }
  /// Does a block hold the own chunk as well?
  bool block_has_own() const { return is_uniform() || uses_collective(); }
  bool needs_scatter() const { return is_fused() && (cuts_rows() || !is_uniform()); }
  int first_computed() const { return is_uniform() ? 0 : 1; }  ///< in steps: chunks of rank + this and on

  std::int64_t shard_rows_of(int rank) const { return rows_of_rank_[static_cast<std::size_t>(rank)] / gpus_; }
  std::int64_t chunk_rows_of(int rank) const { return shard_rows_of(rank) / (cuts_rows() ? steps_ : 1); }
  int chunks_of_block() const { return block_has_own() ? gpus_ : gpus_ - 1; }
  std::int64_t block_rows() const { return chunks_of_block() * chunk_rows_; }

  void add_buffers() {
    const bool all_to_all = pair_.op == PairOp::all_to_all_gemm;
    input_ = program_.add_buffer(all_to_all ? "send" : "shard", all_to_all ? pair_.m : rows_ / gpus_, pair_.k,
                                 pair_.dtype, uses_collective() ? Memory::local : Memory::symmetric);
    arrived_ = arrives_in_blocks() ? program_.add_buffer("arrived", steps_ * block_rows(), chunk_columns_, pair_.dtype)
                                   : program_.add_buffer("arrived", rows_, pair_.k, pair_.dtype);
    b_ = program_.add_buffer("b", pair_.n, pair_.k, pair_.dtype);
    if (needs_scatter()) block_result_ = program_.add_buffer("block result", block_rows(), pair_.n);
    c_ = program_.add_buffer("c", rows_, pair_.n);
  }

  void add_streams() {
    if (uses_collective()) {
      transfer_streams_ = {program_.add_stream("s1", highest_priority)};
      return;
    }
    for (int peer = 1; peer < gpus_; ++peer)
      transfer_streams_.push_back(program_.add_stream("peer " + std::to_string(peer), 0));
  }

  // --- Slices --------------------------------------------------------------------------------------------------

  /// The columns of a slice of k that the step works on.
  Slice columns_of_step(Slice slice, int step) const {
    if (!cuts_rows()) slice.first_column = step * chunk_columns_;
    slice.columns = chunk_columns_;
    return slice;
  }
  /// Rows of the step's chunk of rank + `peer` in a buffer of all shards.
  Slice place_of(BufferId buffer, int peer, int step) const {
    if (is_uneven(rows_of_rank_))
      return program_.rows_by_rank(buffer, [&](int rank) {
        const std::int64_t shard = (rank + peer) % gpus_ * shard_rows_of(rank);
        return RowRange{shard + (cuts_rows() ? step * chunk_rows_of(rank) : 0), chunk_rows_of(rank)};
      });
    return cuts_rows() ? program_.shard(buffer, peer, step, steps_) : program_.shard(buffer, peer);
  }
  /// Rows of the chunk of rank + `peer` in a block that begins at row `first`: chunks in the order of the ranks, or
  /// without the own one in the order of the peers.
  Slice place_in_block(BufferId buffer, int peer, std::int64_t first) const {
    if (is_uneven(rows_of_rank_))
      return program_.rows_by_rank(buffer, [&](int rank) {
        const int place = block_has_own() ? (rank + peer) % gpus_ : peer - 1;
        return RowRange{first + place * chunk_rows_of(rank), chunk_rows_of(rank)};
      });
    Slice slice = program_.rows(buffer, first + (peer - 1) * chunk_rows_, chunk_rows_);
    if (block_has_own()) slice.rows = ShardRows{.rank_offset = peer, .first = first, .of_rows = block_rows()};
    return slice;
  }
  /// What a rank sends to the executing one in a step of an all-to-all.
  Slice sent_rows(int step) const {
    if (!is_uneven(rows_of_rank_)) return place_of(input_, 0, step);
    return program_.rows_by_rank(input_, [&](int rank) {
      return RowRange{rows_before(rows_of_rank_, rank) + (cuts_rows() ? step * chunk_rows_of(rank) : 0),
                      chunk_rows_of(rank)};
    });
  }
  /// The step's chunk of the own rows on rank + `peer`.
  Slice source(int peer, int step) const {
    Slice slice = pair_.op == PairOp::all_to_all_gemm ? sent_rows(step)
                  : cuts_rows()                       ? program_.rows(input_, step * chunk_rows_, chunk_rows_)
                                                      : program_.whole(input_);
    slice.place = peer;
    return columns_of_step(slice, step);
  }
  Slice arrived(int peer, int step) const {
    return arrives_in_blocks() ? place_in_block(arrived_, peer, step * block_rows())
                               : columns_of_step(place_of(arrived_, peer, step), step);
  }
  Slice block_of(BufferId buffer, std::int64_t first) const {
    if (!is_uneven(rows_of_rank_)) return program_.rows(buffer, first, block_rows());
    return program_.rows_by_rank(buffer, [&](int rank) {
      return RowRange{first, chunks_of_block() * chunk_rows_of(rank)};
    });
  }
  Slice arrived_block(int step) const { return block_of(arrived_, step * block_rows()); }

  // --- Operations ----------------------------------------------------------------------------------------------

  Gemm own_gemm() const {
    if (is_uneven(rows_of_rank_))
      return gemm_of(program_.rows_by_rank(input_,
                                           [&](int rank) {
                                             return RowRange{rows_before(rows_of_rank_, rank), shard_rows_of(rank)};
                                           }),
                     program_.whole(b_), program_.rows_by_rank(c_, [&](int rank) {
                       return RowRange{rank * shard_rows_of(rank), shard_rows_of(rank)};
                     }));
    const Slice own = pair_.op == PairOp::all_to_all_gemm ? program_.shard(input_, 0) : program_.whole(input_);
    return gemm_of(own, program_.whole(b_), program_.shard(c_, 0));
  }
  Gemm step_gemm(const Slice& a, const Slice& c, int step) const {
    Gemm gemm = gemm_of(a, columns_of_step(program_.whole(b_), step), c);
    if (!cuts_rows() && step > 0) gemm.addend = gemm.c;
    return gemm;
  }

  void pull(int step) {
    for (int peer = 1; peer < gpus_; ++peer)
      program_.add(transfer_streams_[peer - 1], "pull" + suffix(step, peer),
                   Copy{source(peer, step), arrived(peer, step)});
    if (is_uniform())
      program_.add(main_stream, "copy own " + std::to_string(step), Copy{source(0, step), arrived(0, step)});
  }
  void all_gather(int step) {
    program_.add(transfer_streams_.front(), "all_gather " + std::to_string(step),
                 Collective{.kind = CollectiveKind::all_gather,
                            .input = source(0, step),
                            .output = arrived_block(step),
                            .transport = Transport::nccl,
                            .max_ctas = max_ctas_});
  }

  void compute_block(int step) {
    for (const StreamId stream : transfer_streams_) program_.wait(main_stream, stream);
    const Slice c = block_of(needs_scatter() ? block_result_ : c_, 0);
    program_.add(main_stream, "gemm " + std::to_string(step), step_gemm(arrived_block(step), c, step));
    const bool is_complete = cuts_rows() || step == steps_ - 1;
    if (!needs_scatter() || !is_complete) return;
    for (int peer = first_computed(); peer < gpus_; ++peer)
      program_.add(main_stream, "scatter" + suffix(step, peer),
                   Copy{place_in_block(block_result_, peer, 0), place_of(c_, peer, step)});
  }
  void compute_chunks(int step) {
    if (uses_collective()) program_.wait(main_stream, transfer_streams_.front());
    for (int peer = first_computed(); peer < gpus_; ++peer) {
      if (!uses_collective() && peer > 0) program_.wait(main_stream, transfer_streams_[peer - 1]);
      program_.add(main_stream, "gemm" + suffix(step, peer),
                   step_gemm(arrived(peer, step), place_of(c_, peer, step), step));
    }
  }

  static std::string suffix(int step, int peer) {
    return " " + std::to_string(step) + " of rank + " + std::to_string(peer);
  }

  Program program_;
  const PairWorkload& pair_;
  Ficco choice_;
  int max_ctas_;
  int gpus_;
  int steps_;
  std::vector<std::int64_t> rows_of_rank_;
  std::int64_t rows_;  ///< of the rank that has most, as are the chunk's
  std::int64_t chunk_rows_, chunk_columns_;
  BufferId input_ = 0, arrived_ = 0, b_ = 0, block_result_ = 0, c_ = 0;
  std::vector<StreamId> transfer_streams_;  ///< of rank + 1, rank + 2, …, or one for NCCL
};

/// Copy engines can do every point, NCCL not.
void check_transport(const Ficco& choice, PairOp op) {
  const std::vector<Ficco> points = ficco_points(op);
  if (std::find(points.begin(), points.end(), choice) != points.end()) return;
  const std::string why = op != PairOp::all_gather_gemm
                              ? "the chunks of a step of all_to_all+gemm lie apart in each rank's rows"
                          : choice.chunks != FiccoChunks::rows ? "NCCL gathers whole rows, and 2d cuts them"
                                                               : "NCCL's all-gather puts the own chunk, which hetero "
                                                                 "fused leaves out, between the received ones";
  throw InputError("schedule.transport", "expected copy_engine (" + why + "), got collective");
}

}  // namespace

std::vector<Ficco> ficco_points(PairOp op) {
  std::vector<Ficco> points;
  if (!collective_comes_first(op)) return points;
  for (const FiccoCompute compute : {FiccoCompute::uniform, FiccoCompute::hetero})
    for (const FiccoGemm gemm : {FiccoGemm::fused, FiccoGemm::unfused})
      for (const FiccoChunks chunks : {FiccoChunks::rows, FiccoChunks::rows_and_columns}) {
        points.push_back({compute, gemm, chunks, FiccoTransport::copy_engine});
        const bool skips_own_chunk = compute == FiccoCompute::hetero && gemm == FiccoGemm::fused;
        if (op == PairOp::all_gather_gemm && chunks == FiccoChunks::rows && !skips_own_chunk)
          points.push_back({compute, gemm, chunks, FiccoTransport::collective});
      }
  return points;
}

Schedule build_undivided_ficco(const Case& request) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm, PairOp::all_to_all_gemm});
  const Ficco whole{FiccoCompute::uniform, FiccoGemm::fused, FiccoChunks::rows_and_columns,
                    std::get<Ficco>(request.schedule.family).transport};
  return FiccoProgram(request, whole, 1, pair, rows_of_ranks(pair, request.gpus, request.gpus, "gpus")).build();
}

namespace {

struct FiccoRules {
  static constexpr std::string_view name = "ficco";
  static constexpr std::string_view meaning = "chunks of all shards at once";
  static std::string in_words(const Ficco& choice) {
    std::string words = ",";
    for (const std::string_view word :
         {name_of(choice.compute), name_of(choice.gemm), name_of(choice.chunks), name_of(choice.transport)})
      words += ' ' + std::string(word);
    return words;
  }
  static Schedule build(const Case& request, const Machine& machine);
  static bool runs_nccl(const Ficco& choice, const Workload&) { return choice.transport == FiccoTransport::collective; }

  static std::vector<Ficco> candidates(const Workload& workload, int gpus, const SearchSpace&) {
    std::vector<Ficco> found;
    const auto* pair = std::get_if<PairWorkload>(&workload);
    if (pair == nullptr || pair->m % gpus != 0) return found;
    for (const Ficco& ficco : ficco_points(pair->op))
      if (ficco.chunks == FiccoChunks::rows ? pair->m % (std::int64_t{gpus} * gpus) == 0 : pair->k % gpus == 0)
        found.push_back(ficco);
    return found;
  }
};

Schedule FiccoRules::build(const Case& request, const Machine&) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm, PairOp::all_to_all_gemm});
  const auto& choice = std::get<Ficco>(request.schedule.family);
  check_transport(choice, pair.op);
  const bool cuts_rows = choice.chunks == FiccoChunks::rows;
  const std::int64_t gpus = request.gpus;
  const std::vector<std::int64_t> rows =
      rows_of_ranks(pair, request.gpus, cuts_rows ? gpus * gpus : gpus, cuts_rows ? "gpus x gpus" : "gpus");
  if (!cuts_rows && pair.k % gpus != 0)
    throw InputError("workload.k", "expected a multiple of gpus = " + std::to_string(gpus) + " for 2d chunks, got " +
                                       std::to_string(pair.k));
  return FiccoProgram(request, choice, request.gpus, pair, rows).build();
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Ficco::rules =
    FamilyRules::of<Ficco, families::FiccoRules>();
