#include "scenarios/families/hybrid_transfers.hpp"

namespace weft::scenarios::families {
namespace {

std::string suffix(int piece) { return " " + std::to_string(piece); }
std::string suffix(int piece, int step) { return suffix(piece) + " with rank + " + std::to_string(step); }

}  // namespace

HybridBuffers add_buffers(Program& program, const PairWorkload& pair, const Hybrid& hybrid, int gpus,
                          std::int64_t rows) {
  const bool gemm_first = !collective_comes_first(pair.op);
  const bool is_sent = pushes(hybrid) || stores(hybrid);
  const Memory pulled = is_sent || !sends_parcels(hybrid) ? Memory::local : Memory::symmetric;
  const Memory pushed = is_sent ? Memory::symmetric : Memory::local;
  HybridBuffers buffers;
  buffers.b = program.add_buffer("b", pair.n, pair.k, pair.dtype);
  buffers.a = program.add_buffer("a", rows, pair.k, pair.dtype, gemm_first ? Memory::local : pushed);
  const bool stores_elsewhere = stores(hybrid) && hybrid.sums != HybridSums::everywhere;
  if (!stores_elsewhere)
    buffers.c = program.add_buffer("c", rows, pair.n, DataType::bf16, gemm_first ? pulled : Memory::local);
  switch (pair.op) {
    case PairOp::all_gather_gemm:
      buffers.input = program.add_buffer("shard", rows / gpus, pair.k, pair.dtype, pulled);
      break;
    case PairOp::all_to_all_gemm:
      buffers.input = program.add_buffer("send", rows, pair.k, pair.dtype, pulled);
      break;
    case PairOp::gemm_all_to_all:
      buffers.result = program.add_buffer("result", rows, pair.n, DataType::bf16, pushed);
      break;
    case PairOp::gemm_reduce_scatter:
      buffers.result = program.add_buffer("result", rows / gpus, pair.n);
      break;
    case PairOp::gemm_all_reduce:
      buffers.result = sends_parcels(hybrid)
                           ? program.add_buffer("result", rows, pair.n, DataType::bf16, Memory::symmetric)
                           : buffers.c;  // in place
      break;
  }
  if (!sends_parcels(hybrid) || !reduces(pair.op)) return buffers;
  if (stores(hybrid) && hybrid.sums == HybridSums::everywhere) {
    for (int peer = 1; peer < gpus; ++peer)
      buffers.stored.push_back(
          program.add_buffer("stored by rank - " + std::to_string(peer), rows, pair.n, DataType::bf16, pushed));
  } else {
    const std::int64_t copies_of_rows = hybrid.sums == HybridSums::everywhere ? gpus : 1;
    buffers.partials = program.add_buffer("partials", copies_of_rows * rows, pair.n, DataType::bf16, pushed);
  }
  return buffers;
}

HybridTransfers::HybridTransfers(Program& program, const Case& request, const PairWorkload& pair, const HybridCut& cut,
                                 const HybridBuffers& buffers)
    : program_(program),
      op_(pair.op),
      hybrid_(std::get<Hybrid>(request.schedule.family)),
      max_ctas_(request.schedule.max_ctas),
      gpus_(request.gpus),
      cut_(cut),
      buffers_(buffers),
      gemm_first_(!collective_comes_first(pair.op)),
      reduces_(reduces(pair.op)) {
  const bool sends = !stores(hybrid_) || sends_sums();
  const int lanes = !sends ? 0 : hybrid_.lanes == HybridLanes::each_peer ? gpus_ - 1 : 1;
  // A sum that waits for SMs holds up every kernel behind it. The barriers between copies are more urgent, so that they
  // do not come behind it.
  const bool before_sums = sums_pieces(hybrid_) && hybrid_.mover != HybridMover::peer_kernel;
  const int priority = hybrid_.urgent || before_sums ? highest_priority : 0;
  for (int lane = 0; lane < lanes; ++lane)
    lanes_.push_back(program_.add_stream("s" + std::to_string(lane + 1), priority));
  if (sums_pieces(hybrid_)) sums_ = program_.add_stream("sums", highest_priority + 1);
}

void HybridTransfers::enter() {
  if (!sends_parcels(hybrid_)) return;
  program_.add(main_stream, "enter", Barrier{});
  for (const StreamId lane : lanes_) program_.wait(lane, main_stream);
}

HybridTransfers::Sent HybridTransfers::add(int piece) {
  return sends_parcels(hybrid_) ? add_parcels(piece) : add_collective(piece);
}

HybridTransfers::Sent HybridTransfers::add_collective(int piece) {
  const Collective work{.kind = collective_of(op_),
                        .input = cut_.whole(gemm_first_ ? buffers_.c : buffers_.input, piece),
                        .output = cut_.whole(gemm_first_ ? buffers_.result : buffers_.a, piece),
                        .transport = Transport::nccl,
                        .max_ctas = max_ctas_};
  const OperationId id = program_.add(lanes_.front(), std::string(name_of(work.kind)) + suffix(piece), work);
  if (flags_rows()) raise(piece, lanes_.front(), 0);
  return {{id}, {id}};
}

HybridTransfers::Sent HybridTransfers::add_parcels(int piece) {
  Sent sent;
  if (stores(hybrid_)) {
    if (sums_pieces(hybrid_)) sum_piece(piece, sent);
    return sent;
  }
  const char* const verb = pushes(hybrid_) ? "push" : "pull";
  for (const int step : cut_.steps_of(piece)) {
    const StreamId lane = lane_of(step);
    const OperationId id = program_.add(lane, verb + suffix(piece, step), parcel(step, cut_.chunk_of(piece)));
    if (sent.first.empty() || lanes_.size() > 1) sent.first.push_back(id);
    sent.last.push_back(id);
    if (pushes(hybrid_) ? !gemm_first_ : flags_rows()) raise(piece, lane, pushes(hybrid_) ? step : 0);
  }
  if (lanes_.size() == 1 && !sent.last.empty()) sent.last = {sent.last.back()};
  if (sums_pieces(hybrid_)) sum_piece(piece, sent);
  return sent;
}

/// What goes to the peer of a step (push) or comes from it (pull).
Copy HybridTransfers::parcel(int step, int chunk) const {
  const CopyPath path = path_of(hybrid_);
  const auto part = [&](BufferId buffer, int peer) {
    return hybrid_.sums == HybridSums::everywhere ? cut_.whole(buffer, chunk) : cut_.part(buffer, peer, chunk);
  };
  if (gemm_first_)
    return pushes(hybrid_) ? Copy{part(buffers_.c, step), at(landing(0, chunk), step), path}
                           : Copy{at(part(buffers_.c, 0), -step), landing(-step, chunk), path};
  return pushes(hybrid_) ? Copy{input_for(step, chunk), at(part(buffers_.a, 0), step), path}
                         : Copy{at(input_for(0, chunk), step), part(buffers_.a, step), path};
}

/// The same of the sums of an all-reduce.
Copy HybridTransfers::sum_parcel(int step, int chunk) const {
  const int owner = pushes(hybrid_) ? 0 : -step;
  Copy copy = parcel(step, chunk);
  copy.source = at(cut_.part(buffers_.result, owner, chunk), owner);
  copy.destination = at(cut_.part(buffers_.result, owner, chunk), pushes(hybrid_) ? step : 0);
  return copy;
}

Slice HybridTransfers::input_for(int peer, int chunk) const {
  return op_ == PairOp::all_to_all_gemm ? cut_.part(buffers_.input, peer, chunk) : cut_.own_part(buffers_.input, chunk);
}

Slice HybridTransfers::landing(int peer, int chunk) const {
  return reduces_ ? cut_.slot(buffers_.partials, peer, chunk) : cut_.part(buffers_.result, peer, chunk);
}

Slice HybridTransfers::landing_on_peer(int step, int chunk) const { return at(landing(0, chunk), step); }

void HybridTransfers::let_store(Gemm& gemm, int groups) {
  for (int peer = 1; peer < gpus_; ++peer)
    gemm.replicas.push_back(program_.whole(buffers_.stored[static_cast<std::size_t>(peer) - 1], peer));
  for (int group = 0; group < groups; ++group)
    for (int peer = 1; peer < gpus_; ++peer)
      gemm.signals.push_back({.tile_group = group, .counter = flag_of(group), .place = peer});
}

void HybridTransfers::wait(const After& after) {
  if (stores(hybrid_)) {
    if (sums_pieces(hybrid_)) program_.wait(sums_, after);
    return;
  }
  for (const StreamId lane : lanes_) program_.wait(lane, after);
}

void HybridTransfers::add_computed(int piece) {
  if (!sends_parcels(hybrid_) || pushes(hybrid_) || stores(hybrid_)) return;
  const OperationId computed = program_.add(lanes_.front(), "computed" + suffix(piece), Barrier{.channel = 1});
  for (std::size_t lane = 1; lane < lanes_.size(); ++lane) program_.wait(lanes_[lane], After{computed});
}

void HybridTransfers::wait_for_arrival(int piece, const Sent& sent) {
  if (!pushes(hybrid_)) {
    for (const OperationId id : sent.last) program_.wait(main_stream, After{id});
  } else if (signals_of(piece) > 0) {
    program_.add(main_stream, "arrived" + suffix(piece), Wait{.counter = flag_of(piece), .value = signals_of(piece)});
  }
}

void HybridTransfers::copy_own(int piece) {
  if (!sends_parcels(hybrid_) || cut_.by_shard() || sums_pieces(hybrid_)) return;
  const int chunk = cut_.chunk_of(piece);
  const Copy copy = gemm_first_ ? Copy{cut_.part(buffers_.c, 0, chunk), landing(0, chunk)}
                                : Copy{input_for(0, chunk), cut_.part(buffers_.a, 0, chunk)};
  program_.add(main_stream, "copy own" + suffix(piece), copy);
}

/// Says on rank + `place` that a transfer of the piece has arrived there.
void HybridTransfers::raise(int piece, StreamId stream, int place) {
  const CounterId flag = flag_of(piece);
  const std::string name = "flag " + std::to_string(++signals_);
  const SignalPath path = is_copied_word(piece) ? SignalPath::copied_word : SignalPath::kernel;
  program_.add(stream, name, Signal{.counter = flag, .place = place, .path = path});
}

/// The engine that pushes a piece in one copy can tell of it as well; a kernel would wait for an SM that leaves it
/// room. Not where tiles wait, since none of them could set the word back.
bool HybridTransfers::is_copied_word(int piece) const {
  return pushes(hybrid_) && !uses_sms(hybrid_) && !flags_rows() && signals_of(piece) == 1;
}

CounterId HybridTransfers::flag_of(int piece) {
  for (auto next = static_cast<int>(flags_.size()); next <= piece; ++next)
    flags_.push_back(program_.add_counter({"piece" + suffix(next), is_copied_word(next)}));
  return flags_[static_cast<std::size_t>(piece)];
}

std::int64_t HybridTransfers::signals_of(int piece) const {
  return sends_parcels(hybrid_) ? static_cast<std::int64_t>(cut_.steps_of(piece).size()) : 1;
}

void HybridTransfers::join_lanes() {
  for (const StreamId lane : lanes_) program_.wait(main_stream, lane);
}

void HybridTransfers::leave() {
  if (!sends_parcels(hybrid_)) return;
  sum_late();
  join_lanes();
  if (sums_pieces(hybrid_)) program_.wait(main_stream, sums_);
  // Sums that no rank has sent need no meeting: before a rank writes into what others read it enters.
  if (!sums_pieces(hybrid_) || sends_sums()) program_.add(main_stream, "leave", Barrier{});
  if (reduces_ && !sums_pieces(hybrid_)) sum_at_end();
}

/// Where the own rows of a chunk are added up.
Slice HybridTransfers::own_sums(int chunk) const {
  return sends_sums() ? cut_.part(buffers_.result, 0, chunk) : cut_.own_part(buffers_.result, chunk);
}

/// `own` and the peers' partial sums of a chunk, added up.
void HybridTransfers::add_sum(int chunk, Slice own, Slice sums, StreamId stream) {
  MemoryBound sum{MemoryKernel::add, {own}, {sums}};
  for (int peer = 1; peer < gpus_; ++peer)
    sum.reads.push_back(buffers_.stored.empty()
                            ? cut_.slot(buffers_.partials, peer, chunk)
                            : cut_.whole(buffers_.stored[static_cast<std::size_t>(peer) - 1], chunk));
  program_.add(stream, "sum" + suffix(chunk), sum);
}

void HybridTransfers::add_sum_of_piece(int chunk, StreamId stream) {
  if (hybrid_.sums == HybridSums::everywhere)
    return add_sum(chunk, cut_.whole(buffers_.c, chunk), cut_.whole(buffers_.result, chunk), stream);
  add_sum(chunk, cut_.part(buffers_.c, 0, chunk), own_sums(chunk), stream);
}

/// Behind the last GEMM, so that no sum takes the place of one of its CTAs.
void HybridTransfers::sum_late() {
  for (const Arrived& piece : unsummed_) {
    for (const OperationId id : piece.after) program_.wait(main_stream, After{id});
    add_sum_of_piece(piece.chunk, main_stream);
  }
}

/// Adds up what a piece brought, and sends the sums of an all-reduce whose ranks have added up their shards only.
void HybridTransfers::sum_piece(int piece, const Sent& sent) {
  Arrived arrived{cut_.chunk_of(piece), sent.last};
  if (!hybrid_.late_sums || pushes(hybrid_))
    for (const OperationId id : sent.last) program_.wait(sums_, After{id});
  if (pushes(hybrid_)) arrived.after = {program_.add(sums_, "arrived" + suffix(piece), Barrier{.channel = 2})};
  if (hybrid_.late_sums) return unsummed_.push_back(std::move(arrived));
  if (stores(hybrid_))
    program_.add(sums_, "stored" + suffix(piece), Wait{.counter = flag_of(piece), .value = gpus_ - 1});
  const int chunk = arrived.chunk;
  add_sum_of_piece(chunk, sums_);
  if (!sends_sums()) return;
  if (!pushes(hybrid_)) program_.add(sums_, "summed" + suffix(piece), Barrier{.channel = 2});
  for (int step = 1; step < gpus_; ++step) program_.add(sums_, "sum of" + suffix(chunk, step), sum_parcel(step, chunk));
}

/// Adds the partial sums of all ranks up, and sends the sums of an all-reduce.
void HybridTransfers::sum_at_end() {
  for (int chunk = 0; chunk < hybrid_.count; ++chunk)
    add_sum(chunk, cut_.slot(buffers_.partials, 0, chunk), own_sums(chunk), main_stream);
  if (!sends_sums()) return;
  program_.add(main_stream, "summed", Barrier{});
  for (const StreamId lane : lanes_) program_.wait(lane, main_stream);
  for (int step = 1; step < gpus_; ++step)
    for (int chunk = 0; chunk < hybrid_.count; ++chunk)
      program_.add(lane_of(step), "sum of" + suffix(chunk, step), sum_parcel(step, chunk));
  join_lanes();
  program_.add(main_stream, "done", Barrier{});
}

}  // namespace weft::scenarios::families
