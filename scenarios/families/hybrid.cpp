// hybrid: any sensible combination of the choices that the named families fix (see Hybrid in workload.hpp).
//
// The work is cut into pieces, each with its part of the GEMM and of the transfers. With copies a piece's transfers are
// parcels, one for each peer; shards have one parcel each.
//
//   X+gemm   transfers 0 | transfers 1 | …   gemm i follows transfers i
//   gemm+X   gemm 0 | gemm 1 | …             transfers i follow gemm i
//
//   kernel_end    pieces are kernels, which follow the ends of each other
//   kernel_start  besides, transfers i + 1 (X+gemm) or i - 1 (gemm+X) wait for the start of gemm i
//   tile_group    one GEMM; its tiles wait for the flag of their rows, or its rows are sent as soon as they are there
//
// A pull finds its peer's rows ready after a barrier of all ranks (gemm+X; inputs are always ready). A push raises a
// flag on its peer (X+gemm), or is known to have arrived at the last barrier (gemm+X). What is reduced without NCCL is
// added up by a kernel; an all-reduce then sends the sums in the same way. Rows of chunks are owned block-cyclically,
// as in a decomposition; those of shards and columns are not.
#include <numeric>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/schedule/layout.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::families {
namespace {

bool copies(const Hybrid& hybrid) { return hybrid.mover != HybridMover::nccl; }
bool pushes(const Hybrid& hybrid) { return hybrid.mover == HybridMover::push; }
bool uses_sms(const Hybrid& hybrid) {
  return hybrid.mover == HybridMover::nccl || hybrid.mover == HybridMover::peer_kernel;
}

/// What the rows must be a multiple of: each rank has as many of every piece, and a tile group whole tiles.
std::int64_t unit_of_rows(const Hybrid& hybrid, int gpus) {
  if (hybrid.pieces == HybridPieces::columns) return gpus;
  return std::int64_t{hybrid.count} *
         (hybrid.trigger == HybridTrigger::tile_group ? std::lcm(gpus, tile_extent) : gpus);
}

class HybridProgram {
 public:
  HybridProgram(const Case& request, const PairWorkload& pair, const Machine& machine)
      : program_(request),
        pair_(pair),
        choice_(std::get<Hybrid>(request.schedule.family)),
        max_ctas_(request.schedule.max_ctas),
        gpus_(request.gpus),
        count_(choice_.count),
        rows_(rows_of_busiest(pair, unit_of_rows(choice_, gpus_), "gpus x count")),
        gemm_first_(!collective_comes_first(pair.op)),
        reduces_(pair.op == PairOp::gemm_all_reduce || pair.op == PairOp::gemm_reduce_scatter) {
    add_streams();
    add_buffers();
    if (has_one_gemm()) {
      kernel_ = fastest_tiles({rows_, pair.n, pair.k}, rows_ / count_, pair.dtype, machine);
      program_.set_machine(machine.name);
    }
  }

  Schedule build() && {
    if (copies(choice_)) {
      program_.add(main_stream, "enter", Barrier{});
      for (const StreamId lane : lanes_) program_.wait(lane, main_stream);
    }
    gemm_first_ ? build_producer() : build_consumer();
    program_.set_meaning(meaning());
    return std::move(program_).finish();
  }

 private:
  bool has_one_gemm() const { return choice_.trigger == HybridTrigger::tile_group; }
  bool by_shard() const { return choice_.pieces == HybridPieces::shards; }
  bool by_column() const { return choice_.pieces == HybridPieces::columns; }
  int row_count_of_pieces() const { return by_column() ? 1 : count_; }
  int pieces() const { return by_shard() ? gpus_ * count_ : count_; }
  int chunk_of(int piece) const { return by_shard() ? piece % count_ : piece; }
  /// Of a piece of shards: 0 is the own one, which needs no transfer and so is the first to be read and the last to be
  /// written.
  int step_of(int piece) const { return gemm_first_ ? (piece / count_ + 1) % gpus_ : piece / count_; }
  /// Whose shard the parcel of a step belongs to here: that of the peer that it is pulled from or pushed by.
  int sender(int step) const { return pushes(choice_) || gemm_first_ ? -step : step; }

  void add_streams() {
    const int lanes = choice_.lanes == HybridLanes::each_peer ? gpus_ - 1 : 1;
    for (int lane = 0; lane < lanes; ++lane)
      lanes_.push_back(program_.add_stream("s" + std::to_string(lane + 1), choice_.urgent ? highest_priority : 0));
  }
  StreamId lane_of(int step) const { return lanes_[static_cast<std::size_t>(step - 1) % lanes_.size()]; }

  void add_buffers() {
    const Memory pulled = pushes(choice_) || !copies(choice_) ? Memory::local : Memory::symmetric;
    const Memory pushed = pushes(choice_) ? Memory::symmetric : Memory::local;
    const DataType dtype = pair_.dtype;
    b_ = program_.add_buffer("b", pair_.n, pair_.k, dtype);
    a_ = program_.add_buffer("a", rows_, pair_.k, dtype, gemm_first_ ? Memory::local : pushed);
    c_ = program_.add_buffer("c", rows_, pair_.n, DataType::bf16, gemm_first_ ? pulled : Memory::local);
    switch (pair_.op) {
      case PairOp::all_gather_gemm:
        input_ = program_.add_buffer("shard", rows_ / gpus_, pair_.k, dtype, pulled);
        break;
      case PairOp::all_to_all_gemm:
        input_ = program_.add_buffer("send", rows_, pair_.k, dtype, pulled);
        break;
      case PairOp::gemm_all_to_all:
        result_ = program_.add_buffer("result", rows_, pair_.n, DataType::bf16, pushed);
        break;
      case PairOp::gemm_reduce_scatter:
        result_ = program_.add_buffer("result", rows_ / gpus_, pair_.n);
        break;
      case PairOp::gemm_all_reduce:
        result_ = copies(choice_) ? program_.add_buffer("result", rows_, pair_.n, DataType::bf16, Memory::symmetric)
                                  : c_;  // in place
        break;
    }
    if (copies(choice_) && reduces_)
      partials_ = program_.add_buffer("partials", rows_, pair_.n, DataType::bf16, pushed);
  }

  Meaning meaning() const {
    const bool is_cyclic = choice_.pieces == HybridPieces::chunks;
    return {.op = std::string(name_of(pair_.op)),
            .m = rows_,
            .n = pair_.n,
            .k = pair_.k,
            .a = gemm_first_ ? a_ : input_,
            .b = b_,
            .result = gemm_first_ ? result_ : c_,
            .chunks = is_cyclic && pair_.op != PairOp::gemm_all_reduce ? count_ : 1};
  }

  // --- Slices --------------------------------------------------------------------------------------------------

  static Slice at(Slice slice, int place) {
    slice.place = place;
    return slice;
  }
  Slice columns(Slice slice, int chunk) const {
    if (!by_column()) return slice;
    slice.columns /= count_;
    slice.first_column = chunk * slice.columns;
    return slice;
  }
  /// The chunk's rows that belong to rank + `peer`, of a buffer with all rows.
  Slice part(BufferId buffer, int peer, int chunk) const {
    Slice slice = program_.shard(buffer, peer);
    if (by_shard()) slice = program_.shard(buffer, peer, chunk, count_);
    if (choice_.pieces == HybridPieces::chunks)
      slice.rows = ShardRows{.rank_offset = peer, .first = chunk * (rows_ / count_), .of_rows = rows_ / count_};
    return columns(slice, chunk);
  }
  /// The chunk's rows of the block in which the partial sums of rank + `peer` lie.
  Slice slot(int peer, int chunk) const {
    return columns(by_column() ? program_.shard(partials_, peer) : program_.shard(partials_, peer, chunk, count_),
                   chunk);
  }
  /// The chunk's rows of a buffer that has only the own ones.
  Slice own_part(BufferId buffer, int chunk) const {
    const std::int64_t rows = rows_ / gpus_ / row_count_of_pieces();
    return columns(program_.rows(buffer, by_column() ? 0 : chunk * rows, rows), chunk);
  }
  /// All rows of a chunk.
  Slice whole(BufferId buffer, int chunk) const {
    const std::int64_t rows = program_.buffer(buffer).rows / row_count_of_pieces();
    return columns(program_.rows(buffer, by_column() ? 0 : chunk * rows, rows), chunk);
  }
  /// Input rows of this rank that rank + `peer` multiplies.
  Slice input_for(int peer, int chunk) const {
    return pair_.op == PairOp::all_to_all_gemm ? part(input_, peer, chunk) : own_part(input_, chunk);
  }
  /// Where what rank + `peer` computed for this one goes.
  Slice landing(int peer, int chunk) const { return reduces_ ? slot(peer, chunk) : part(result_, peer, chunk); }

  // --- Transfers -----------------------------------------------------------------------------------------------

  /// What goes to the peer of a step (push) or comes from it (pull).
  Copy parcel(int step, int chunk) const {
    const CopyPath path = choice_.mover == HybridMover::peer_kernel ? CopyPath::sms : CopyPath::copy_engine;
    if (gemm_first_)
      return pushes(choice_) ? Copy{part(c_, step, chunk), at(landing(0, chunk), step), path}
                             : Copy{at(part(c_, 0, chunk), -step), landing(-step, chunk), path};
    return pushes(choice_) ? Copy{input_for(step, chunk), at(part(a_, 0, chunk), step), path}
                           : Copy{at(input_for(0, chunk), step), part(a_, step, chunk), path};
  }
  /// The same of the sums of an all-reduce.
  Copy sum_parcel(int step, int chunk) const {
    Copy copy = parcel(step, chunk);
    copy.source = at(part(result_, pushes(choice_) ? 0 : -step, chunk), pushes(choice_) ? 0 : -step);
    copy.destination = at(part(result_, pushes(choice_) ? 0 : -step, chunk), pushes(choice_) ? step : 0);
    return copy;
  }
  std::string suffix(int piece) const { return " " + std::to_string(piece); }
  std::string suffix(int piece, int step) const { return suffix(piece) + " with rank + " + std::to_string(step); }

  std::vector<int> steps_of(int piece) const {
    if (by_shard()) return step_of(piece) == 0 ? std::vector<int>{} : std::vector{step_of(piece)};
    std::vector<int> steps(static_cast<std::size_t>(gpus_ - 1));
    std::iota(steps.begin(), steps.end(), 1);
    return steps;
  }

  /// A piece's transfers, one list a piece; the first one on each lane, and the last.
  struct Transfers {
    std::vector<OperationId> first, last;
  };
  Transfers collective(int piece) {
    const auto slice = [&](BufferId buffer) { return whole(buffer, piece); };
    const Collective work{.kind = collective_of(pair_.op),
                          .input = slice(gemm_first_ ? c_ : input_),
                          .output = slice(gemm_first_ ? result_ : a_),
                          .transport = Transport::nccl,
                          .max_ctas = max_ctas_};
    const OperationId id = program_.add(lanes_.front(), std::string(name_of(work.kind)) + suffix(piece), work);
    if (flags_rows()) raise(piece, lanes_.front(), 0);
    return {{id}, {id}};
  }
  Transfers parcels(int piece) {
    Transfers transfers;
    const char* const verb = pushes(choice_) ? "push" : "pull";
    for (const int step : steps_of(piece)) {
      const StreamId lane = lane_of(step);
      const OperationId id = program_.add(lane, verb + suffix(piece, step), parcel(step, chunk_of(piece)));
      if (transfers.first.empty() || lanes_.size() > 1) transfers.first.push_back(id);
      transfers.last.push_back(id);
      if (pushes(choice_) ? !gemm_first_ : flags_rows()) raise(piece, lane, pushes(choice_) ? step : 0);
    }
    if (lanes_.size() == 1 && !transfers.last.empty()) transfers.last = {transfers.last.back()};
    return transfers;
  }
  Transfers transfer(int piece) { return copies(choice_) ? parcels(piece) : collective(piece); }

  /// Tiles of one GEMM look for the rows of a piece.
  bool flags_rows() const { return has_one_gemm() && !gemm_first_; }
  /// Says on rank + `place` that a transfer of the piece has arrived there.
  void raise(int piece, StreamId stream, int place) {
    const CounterId flag = flag_of(piece);
    const std::string name = "flag " + std::to_string(++signals_);
    program_.add(stream, name, Signal{.counter = flag, .place = place, .path = SignalPath::kernel});
  }
  CounterId flag_of(int piece) {
    while (static_cast<int>(flags_.size()) <= piece)
      flags_.push_back(program_.add_counter({"piece" + suffix(static_cast<int>(flags_.size())), false}));
    return flags_[static_cast<std::size_t>(piece)];
  }
  std::int64_t signals_of(int piece) const {
    return copies(choice_) ? static_cast<std::int64_t>(steps_of(piece).size()) : 1;
  }

  // --- GEMMs ---------------------------------------------------------------------------------------------------

  Gemm limited(Gemm gemm) const {
    gemm.max_sms = choice_.gemm_sms;
    return gemm;
  }
  Gemm piece_gemm(int piece) const {
    const int chunk = chunk_of(piece);
    if (by_shard()) {
      const int step = step_of(piece);
      const int shard = gemm_first_ ? step : sender(step);
      const Slice a = gemm_first_ || step != 0 ? part(a_, shard, chunk) : input_for(0, chunk);
      const Slice c = gemm_first_ && step == 0 ? landing(0, chunk) : part(c_, shard, chunk);
      return limited(gemm_of(a, program_.whole(b_), c));
    }
    if (!by_column()) return limited(gemm_of(whole(a_, chunk), program_.whole(b_), whole(c_, chunk)));
    if (gemm_first_) {  // a slice of n
      const std::int64_t slice = pair_.n / count_;
      return limited(gemm_of(program_.whole(a_), program_.rows(b_, chunk * slice, slice), whole(c_, chunk)));
    }
    Gemm gemm = limited(gemm_of(whole(a_, chunk), whole(b_, chunk), program_.whole(c_)));  // a slice of k
    gemm.accumulate = chunk > 0;
    return gemm;
  }
  /// Tiles in bands of the rows of a chunk, each a group.
  Gemm one_gemm() const {
    Gemm gemm = limited(gemm_of(program_.whole(a_), program_.whole(b_), program_.whole(c_)));
    gemm.kernel = kernel_;
    const TileGrid grid = tile_grid(kernel_, {rows_, pair_.n, pair_.k});
    gemm.order.swizzle = static_cast<int>(grid.rows / count_);
    gemm.tile_groups.assign(static_cast<std::size_t>(count_), grid.tiles() / count_);
    return gemm;
  }
  OperationId add_gemm(int piece) { return program_.add(main_stream, "gemm" + suffix(piece), piece_gemm(piece)); }

  /// Rows that stay on this GPU, and that a kernel can neither read nor write at their place.
  void copy_own(int piece) {
    if (!copies(choice_) || by_shard()) return;
    const int chunk = chunk_of(piece);
    const Copy copy =
        gemm_first_ ? Copy{part(c_, 0, chunk), landing(0, chunk)} : Copy{input_for(0, chunk), part(a_, 0, chunk)};
    program_.add(main_stream, "copy own" + suffix(piece), copy);
  }

  // --- X+gemm --------------------------------------------------------------------------------------------------

  void build_consumer() {
    if (has_one_gemm()) {
      build_flagged();
    } else {
      std::vector<Transfers> transfers;
      const int ahead = choice_.ahead ? pieces() : choice_.kernel_barrier ? 1 : 0;  // pieces
      for (int piece = 0; piece < pieces(); ++piece) {
        while (static_cast<int>(transfers.size()) < std::min(pieces(), piece + ahead + 1))
          transfers.push_back(transfer(static_cast<int>(transfers.size())));
        copy_own(piece);
        wait_for_arrival(piece, transfers[static_cast<std::size_t>(piece)]);
        if (choice_.kernel_barrier && piece + 1 < pieces())
          for (const OperationId id : transfers[static_cast<std::size_t>(piece) + 1].first)
            program_.wait(main_stream, After{id, Point::all_ctas_started});
        const OperationId gemm = add_gemm(piece);
        if (choice_.trigger == HybridTrigger::kernel_start)
          for (const StreamId lane : lanes_) program_.wait(lane, After{gemm, Point::first_cta_started});
      }
    }
    if (!copies(choice_)) return;
    join_lanes();
    program_.add(main_stream, "leave", Barrier{});
  }
  void wait_for_arrival(int piece, const Transfers& transfers) {
    if (!pushes(choice_)) {
      for (const OperationId id : transfers.last) program_.wait(main_stream, After{id});
    } else if (signals_of(piece) > 0) {
      program_.add(main_stream, "arrived" + suffix(piece), Wait{.counter = flag_of(piece), .value = signals_of(piece)});
    }
  }
  void build_flagged() {
    for (int piece = 0; piece < pieces(); ++piece) copy_own(piece);
    Gemm gemm = one_gemm();
    for (int piece = 0; piece < pieces(); ++piece)
      gemm.waits.push_back({.tile_group = piece, .counter = flag_of(piece), .value = signals_of(piece)});
    if (!choice_.ahead) program_.add(main_stream, "gemm", gemm);
    for (int piece = 0; piece < pieces(); ++piece) transfer(piece);
    if (choice_.ahead) program_.add(main_stream, "gemm", gemm);
  }

  // --- gemm+X --------------------------------------------------------------------------------------------------

  void build_producer() {
    std::vector<OperationId> gemms;
    if (has_one_gemm()) gemms.push_back(program_.add(main_stream, "gemm", one_gemm()));
    const int ahead = choice_.ahead ? pieces() : choice_.trigger == HybridTrigger::kernel_start ? 1 : 0;  // pieces
    for (int piece = 0; piece < pieces(); ++piece) {
      while (!has_one_gemm() && static_cast<int>(gemms.size()) < std::min(pieces(), piece + ahead + 1))
        gemms.push_back(add_gemm(static_cast<int>(gemms.size())));
      const Transfers sent = send(piece, gemms);
      if (choice_.kernel_barrier)
        for (const OperationId id : sent.first) program_.wait(main_stream, After{id, Point::all_ctas_started});
    }
    for (int piece = 0; piece < pieces(); ++piece) copy_own(piece);
    if (!copies(choice_)) return;
    join_lanes();
    program_.add(main_stream, "leave", Barrier{});
    if (reduces_) reduce();
  }
  Transfers send(int piece, const std::vector<OperationId>& gemms) {
    const auto index = static_cast<std::size_t>(piece);
    const After ready = has_one_gemm() ? After{gemms.front(), Point::tile_group, piece} : After{gemms[index]};
    if (by_shard() && step_of(piece) == 0) return {};
    for (const StreamId lane : lanes_) program_.wait(lane, ready);
    if (choice_.trigger == HybridTrigger::kernel_start && index + 1 < gemms.size())
      for (const StreamId lane : lanes_) program_.wait(lane, After{gemms[index + 1], Point::first_cta_started});
    if (copies(choice_) && !pushes(choice_)) {
      const OperationId computed = program_.add(lanes_.front(), "computed" + suffix(piece), Barrier{.channel = 1});
      for (std::size_t lane = 1; lane < lanes_.size(); ++lane) program_.wait(lanes_[lane], After{computed});
    }
    return transfer(piece);
  }
  void join_lanes() {
    for (const StreamId lane : lanes_) program_.wait(main_stream, lane);
  }

  /// Adds the partial sums of all ranks up, and sends the sums of an all-reduce.
  void reduce() {
    const bool is_scattered = pair_.op == PairOp::gemm_reduce_scatter;
    for (int chunk = 0; chunk < count_; ++chunk) {
      MemoryBound sum{MemoryKernel::add, {}, {is_scattered ? own_part(result_, chunk) : part(result_, 0, chunk)}};
      for (int peer = 0; peer < gpus_; ++peer) sum.reads.push_back(slot(peer, chunk));
      program_.add(main_stream, "sum" + suffix(chunk), sum);
    }
    if (is_scattered) return;
    program_.add(main_stream, "summed", Barrier{});
    for (const StreamId lane : lanes_) program_.wait(lane, main_stream);
    for (int step = 1; step < gpus_; ++step)
      for (int chunk = 0; chunk < count_; ++chunk)
        program_.add(lane_of(step), "sum of" + suffix(chunk, step), sum_parcel(step, chunk));
    join_lanes();
    program_.add(main_stream, "done", Barrier{});
  }

  Program program_;
  const PairWorkload& pair_;
  Hybrid choice_;
  int max_ctas_;
  int gpus_, count_;
  std::int64_t rows_;  ///< m
  bool gemm_first_, reduces_;
  GemmKernel kernel_;
  BufferId a_ = 0, b_ = 0, c_ = 0, input_ = 0, result_ = 0, partials_ = 0;
  std::vector<StreamId> lanes_;
  std::vector<CounterId> flags_;
  int signals_ = 0;
};

}  // namespace

std::optional<InputError> why_not(const Hybrid& hybrid, const PairWorkload& pair, int gpus) {
  const bool is_nccl = hybrid.mover == HybridMover::nccl, by_tiles = hybrid.trigger == HybridTrigger::tile_group;
  const bool collective_first = collective_comes_first(pair.op);
  const auto expected = [](const char* key, const std::string& what) {
    return InputError("schedule." + std::string(key), "expected " + what);
  };
  if (is_nccl && hybrid.pieces != HybridPieces::chunks)
    return expected("pieces", "chunks: NCCL moves contiguous rows of all ranks");
  if (is_nccl && hybrid.lanes != HybridLanes::one) return expected("lanes", "one for NCCL");
  if (!uses_sms(hybrid) && hybrid.urgent)
    return expected("urgent", "false: copy engines have no priority over kernels");
  if (!uses_sms(hybrid) && hybrid.kernel_barrier)
    return expected("kernel_barrier", "false: copy engines need no SMs");
  if (hybrid.kernel_barrier && (hybrid.trigger != HybridTrigger::kernel_end || hybrid.ahead))
    return expected("kernel_barrier", "false but with trigger kernel_end and without ahead");
  if (hybrid.trigger == HybridTrigger::kernel_start && hybrid.ahead)
    return expected("ahead", "false with trigger kernel_start");
  if (by_tiles && hybrid.pieces != HybridPieces::chunks)
    return expected("pieces", "chunks with trigger tile_group: bands of tile rows");
  if (by_tiles && hybrid.ahead && !collective_first)
    return expected("ahead", "false with trigger tile_group: there is one GEMM");
  if (by_tiles && collective_first && uses_sms(hybrid) && hybrid.gemm_sms == 0)
    return expected("gemm_sms", "a limit: a GEMM whose tiles wait on every SM leaves none for what they wait for");
  if (by_tiles && (pair.m % (std::int64_t{hybrid.count} * tile_extent) != 0 || pair.n % tile_extent != 0))
    return expected("count", "chunks of whole tiles of 128 rows and columns");
  if (const std::int64_t columns = collective_first ? pair.k : pair.n;
      hybrid.pieces == HybridPieces::columns && columns % hybrid.count != 0)
    return expected("count", "a divisor of the " + std::to_string(columns) + " columns");
  return why_not_cut(pair, unit_of_rows(hybrid, gpus), "gpus x count");
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
    return words;
  }
  /// A tile group's tiles are those that are the fastest on `machine`.
  static Schedule build(const Case& request, const Machine& machine);
  static bool runs_nccl(const Hybrid& choice, const Workload&) { return choice.mover == HybridMover::nccl; }

  static std::vector<Hybrid> candidates(const Workload& workload, int gpus, const SearchSpace& space) {
    const auto* pair = std::get_if<PairWorkload>(&workload);
    return pair != nullptr && space.hybrids ? sensible_hybrids(*pair, gpus, space) : std::vector<Hybrid>{};
  }
};

Schedule HybridRules::build(const Case& request, const Machine& machine) {
  const PairWorkload& pair =
      pair_of(request, {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all,
                        PairOp::all_gather_gemm, PairOp::all_to_all_gemm});
  if (const auto why = why_not(std::get<Hybrid>(request.schedule.family), pair, request.gpus)) throw *why;
  return HybridProgram(request, pair, machine).build();
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Hybrid::rules = FamilyRules::of<Hybrid, families::HybridRules>();
