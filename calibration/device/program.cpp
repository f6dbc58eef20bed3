#include "calibration/device/program.hpp"

#include <sched.h>

#include <algorithm>

#include "calibration/device/expert_kernels.hpp"
#include "calibration/device/layer_kernels.hpp"
#include "calibration/device/merge_kernels.hpp"
#include "calibration/device/require_hopper.hpp"
#include "calibration/device/sms_of_gpu.hpp"
#include "calibration/device/sum_kernels.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/transports.hpp"

namespace weft::calibration::device {
namespace {

int held_sms(const Work& work) {
  return match(
      work, [](const OneOf<Delay, Wait> auto& holder) { return holder.held_sms; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Barrier> auto&) { return 0; });
}

/// Null where there is no matrix product to plan.
const Gemm* gemm_of(const Work& work) {
  return match(
      work, [](const Gemm& gemm) { return &gemm; },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) -> const Gemm* { return nullptr; });
}

}  // namespace

Program::Program(const Schedule& schedule, const RankView& ranks, Resources& resources, const RunOptions& options)
    : schedule_(schedule),
      rank_(ranks.rank()),
      ranks_(ranks.ranks()),
      resources_(resources),
      is_absent_(options.absent_rank == rank_),
      signals_(schedule, rank_, resources.symmetric, resources.wait_note, options.time_limit_s * share_of_one_wait),
      start_(make_event(Timed::no)) {
  load_waiting_kernels();
  allocate_buffers();
  check_delays();
  for (std::size_t i = 0; i < schedule.streams.size(); ++i)
    streams_.push_back(resources.streams.get(static_cast<int>(i), schedule.streams[i].priority));
  plan_edges();
  plan_gemms();
  plan_grouped_gemms();
  plan_attentions();
}

void Program::allocate_buffers() {
  const auto bytes = [](const Buffer& buffer) { return buffer.rows * buffer.columns * bytes_of(buffer.dtype); };
  buffers_.assign(schedule_.buffers.size(), PeerAddresses(index(ranks_), nullptr));
  const std::vector<bool> in_window = buffers_in_windows(schedule_);
  // Symmetric ones first: they throw on all ranks, local ones perhaps on one.
  for (std::size_t id = 0; id < buffers_.size(); ++id)
    if (const Buffer& buffer = schedule_.buffers[id]; in_window[id])
      buffers_[id][index(rank_)] = resources_.windows.allocate(bytes(buffer));
    else if (buffer.memory == Memory::symmetric)
      buffers_[id] = resources_.symmetric.allocate(bytes(buffer));
  for (std::size_t id = 0; id < buffers_.size(); ++id)
    if (const Buffer& buffer = schedule_.buffers[id]; buffer.memory == Memory::local)
      buffers_[id][index(rank_)] = resources_.arena.allocate(bytes(buffer));
}

void Program::check_delays() const {
  const int sms = sms_of_gpu();
  for (const Operation& operation : schedule_.operations)
    if (const int held = held_sms(operation.work); held > sms)
      throw ExecutionError("operation \"" + operation.name + "\" holds " + std::to_string(held) + " SMs, the GPU has " +
                           std::to_string(sms));
}

GemmMatrices Program::matrices_of(const Gemm& gemm) const {
  GemmMatrices matrices{matrix(gemm.b), {}};
  for (const RowBlock& block : row_blocks(gemm)) {
    RowBlockMatrices& rows =
        matrices.blocks.emplace_back(RowBlockMatrices{matrix(block.a), matrix(block.c), block.c.place != 0});
    if (block.addend) rows.addend = matrix(*block.addend);
    if (block.a_from) rows.a_from = matrix(*block.a_from);
    for (const Slice& replica : block.replicas)
      (replica.place != 0 ? rows.replicas_on_peers : rows.replicas).push_back(matrix(replica));
  }
  return matrices;
}

void Program::plan_gemms() {
  workspaces_.resize(streams_.size(), nullptr);
  for (std::size_t id = 0; id < schedule_.operations.size(); ++id) {
    const Operation& operation = schedule_.operations[id];
    const Gemm* gemm = gemm_of(operation.work);
    if (gemm == nullptr || has_no_rows(operation.work, rank_, ranks_)) continue;
    if (gemm->kernel) {
      own_gemms_.try_emplace(static_cast<OperationId>(id),
                             plan_own_gemm(schedule_, static_cast<OperationId>(id), rank_, *gemm, matrices_of(*gemm),
                                           tile_edges_[static_cast<OperationId>(id)], signals_, resources_.arena));
      continue;
    }
    const DataType factors = schedule_.buffers[index(gemm->b.buffer)].dtype;
    if (factors == DataType::fp8) require_fp8();
    void*& workspace = workspaces_[index(operation.stream)];
    if (workspace == nullptr) workspace = resources_.arena.allocate(static_cast<Bytes>(matmul_workspace_bytes));
    const auto operand = [this](const Slice& slice) {
      const Matrix whole = matrix(slice);
      return MatrixOperand{whole.data, whole.stride};
    };
    const auto addend = gemm->addend ? std::optional(operand(*gemm->addend)) : std::nullopt;
    matmuls_.try_emplace(static_cast<OperationId>(id), resources_.library.get(), size_on_rank(*gemm, rank_, ranks_),
                         operand(gemm->a), operand(gemm->b), operand(gemm->c), addend, gemm->max_sms, factors);
  }
}

void Program::plan_grouped_gemms() {
  for (std::size_t id = 0; id < schedule_.operations.size(); ++id)
    match(
        schedule_.operations[id].work,
        [&](const GroupedGemm& gemm) {
          require_hopper("a grouped GEMM");
          own_grouped_gemms_.try_emplace(static_cast<OperationId>(id), matrix(gemm.a), matrix(gemm.b), matrix(gemm.c),
                                         size_of(gemm, ranks_), gemm.kernel, resources_.arena);
        },
        [](const OneOf<Gemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                       Signal, Wait, Barrier, Delay> auto&) {});
}

void Program::plan_attentions() {
  for (std::size_t id = 0; id < schedule_.operations.size(); ++id)
    match(
        schedule_.operations[id].work,
        [&](const OneOf<Attention, PartialAttention> auto& attention) {
          require_hopper("attention");
          plan_attention(attention, static_cast<OperationId>(id));
        },
        [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Signal, Wait,
                       Barrier, Delay> auto&) {});
}

void Program::plan_attention(const Attention& attention, OperationId id) {
  const Matrix qkv = matrix(attention.qkv);
  AttentionOperands operands{
      .rows = static_cast<const std::byte*>(qkv.data) - attention.prefix * qkv.stride * bytes_of(DataType::bf16),
      .row_stride = qkv.stride,
      .output = matrix(attention.output),
      .cached = attention.cached ? matrix(*attention.cached) : Matrix{},
      .prefix = attention.prefix,
      .tokens = qkv.rows / attention.sequences,
      .sequences = attention.sequences,
      .heads = attention.heads,
      .kv_heads = attention.kv_heads,
      .head_dim = attention.head_dim};
  if (const auto shares = even_shares(attention, qkv.rows, sms_of_gpu())) {
    attentions_.try_emplace(id, std::in_place_type<OwnDecodeAttention>, operands, *shares, resources_.arena);
    return;
  }
  operands.tiles = attention_tiles(attention, qkv.rows, sms_of_gpu());
  operands.keys_are_read_once = reads_keys_once(attention, qkv.rows);
  attentions_.try_emplace(id, std::in_place_type<OwnAttention>, operands, attention.max_sms, resources_.arena);
}

void Program::plan_attention(const PartialAttention& attention, OperationId id) {
  const PartialAttentionOperands operands{.queries = matrix(attention.queries),
                                          .keys_values = matrix(attention.keys_values),
                                          .output = matrix(attention.output),
                                          .log_sum_exp = matrix(attention.log_sum_exp),
                                          .heads = attention.heads,
                                          .kv_heads = attention.kv_heads,
                                          .head_dim = attention.head_dim,
                                          .parts = attention.parts[index(rank_)]};
  partial_attentions_.try_emplace(id, operands, attention.max_sms, resources_.arena);
}

Matrix Program::matrix(const Slice& slice) const {
  return {address(slice, rank_), row_count(slice.rows, rank_, ranks_), slice.columns,
          schedule_.buffers[index(slice.buffer)].columns};
}

/// The slice as rank `rank` means it.
void* Program::address(const Slice& slice, int rank) const {
  const Buffer& buffer = schedule_.buffers[index(slice.buffer)];
  const std::int64_t first = first_row(slice.rows, rank, ranks_) * buffer.columns + slice.first_column;
  void* data = buffers_[index(slice.buffer)][index((rank + slice.place + ranks_) % ranks_)];
  return static_cast<std::byte*>(data) + first * bytes_of(buffer.dtype);
}

/// Of the slice's buffer.
Bytes Program::row_bytes(const Slice& slice) const {
  const Buffer& buffer = schedule_.buffers[index(slice.buffer)];
  return buffer.columns * bytes_of(buffer.dtype);
}

PeerBuffer Program::on_all_ranks(const Slice& slice) const {
  PeerBuffer buffer;
  for (int rank = 0; rank < ranks_; ++rank) buffer.of_rank[rank] = address(slice, rank);
  return buffer;
}

void Program::initialise(std::uint64_t seed) const {
  signals_.clear(origin());
  for (BufferId id = 0; id < static_cast<BufferId>(buffers_.size()); ++id) {
    const Buffer& buffer = schedule_.buffers[index(id)];
    fill_normal(this->buffer(id), buffer.dtype, 0, buffer.rows * buffer.columns, data_key(seed, id, rank_), origin());
  }
}

void Program::enqueue(const EnqueueHooks& hooks) const {
  WEFT_CHECK(cudaEventRecord(start_.get(), origin()));
  if (!start_signals_.empty())
    WEFT_CHECK(cudaStreamWaitEvent(stream_of_start_signals(), start_.get(), cudaEventWaitDefault));
  for (const StreamId stream : forks_)
    WEFT_CHECK(cudaStreamWaitEvent(streams_[index(stream)], start_.get(), cudaEventWaitDefault));
  for (std::size_t i = 0; i < schedule_.operations.size(); ++i) {
    const auto id = static_cast<OperationId>(i);
    const cudaStream_t stream = streams_[index(schedule_.operations[i].stream)];
    for (const OperationId followed : waits_[i])
      WEFT_CHECK(cudaStreamWaitEvent(stream, ends_[index(followed)].get(), cudaEventWaitDefault));
    wait_for_counts(id, schedule_.operations[i].stream);
    if (hooks.before) hooks.before(id);
    if (const auto begin = begins_.find(id); begin != begins_.end())
      WEFT_CHECK(cudaEventRecord(begin->second.get(), stream));
    const Captured before = start_signals_.contains(id) ? captured_on(stream) : Captured{};
    enqueue_work(id, stream);
    signal_starts(id, before, stream);
    if (hooks.after) hooks.after(id);
    if (ends_[i]) WEFT_CHECK(cudaEventRecord(ends_[i].get(), stream));
  }
  for (const OperationId last : joins_)
    WEFT_CHECK(cudaStreamWaitEvent(origin(), ends_[index(last)].get(), cudaEventWaitDefault));
  for (const auto& [followed, signals] : start_signals_)
    for (const StartSignal& signal : signals)
      WEFT_CHECK(cudaStreamWaitEvent(origin(), signal.end.get(), cudaEventWaitDefault));
}

void Program::wait() const {
  wait_until([this] { return cudaStreamQuery(origin()); });
}

void Program::wait_for(const Event& event) const {
  wait_until([&event] { return cudaEventQuery(event.get()); });
}

void Program::wait_until(const std::function<cudaError_t()>& query) const {
  for (std::int64_t turn = 1;; ++turn) {
    const cudaError_t result = query();
    if (result != cudaErrorNotReady) WEFT_CHECK(result);
    if (result == cudaSuccess || turn % 1000 == 0) {
      resources_.wait_note.check(schedule_);
      resources_.communicators.check_health();
    }
    if (result == cudaSuccess) return;
    sched_yield();
  }
}

void Program::enqueue_work(OperationId id, cudaStream_t stream) const {
  match(schedule_.operations[index(id)].work,
        [&](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                        PartialAttention, Signal, Wait, Barrier, Delay> auto& work) { enqueue(work, id, stream); });
}

void Program::enqueue(const Gemm& gemm, OperationId id, cudaStream_t stream) const {
  if (is_absent_ && ranks_meet(gemm)) return;
  if (has_no_rows(schedule_.operations[index(id)].work, rank_, ranks_)) return signal_all_groups(gemm, id, stream);
  if (gemm.kernel) return own_gemms_.at(id).enqueue(stream);
  matmuls_.at(id).enqueue(workspaces_[index(schedule_.operations[index(id)].stream)], stream);
}

/// Of a rank without rows, for whose tiles nobody has to wait.
void Program::signal_all_groups(const Gemm& gemm, OperationId id, cudaStream_t stream) const {
  for (const TileSignal& signal : gemm.signals) add_signal(signals_.counter(signal.counter, signal.place), 1, stream);
  if (const auto edges = tile_edges_.find(id); edges != tile_edges_.end())
    for (const TileEdge& edge : edges->second) add_signal(edge.counter, 1, stream);
}

void Program::enqueue(const Copy& copy, OperationId, cudaStream_t stream) const {
  const Matrix source = matrix(copy.source), destination = matrix(copy.destination);
  if (source.rows == 0) return;
  if (copy.path == CopyPath::sms) return copy_by_sms(copy, stream);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * bytes_of(schedule_.buffers[index(copy.source.buffer)].dtype));
  };
  const bool is_contiguous = source.stride == source.columns && destination.stride == destination.columns;
  if (is_contiguous)
    WEFT_CHECK(cudaMemcpyAsync(destination.data, source.data, bytes(source.rows * source.columns),
                               cudaMemcpyDeviceToDevice, stream));
  else
    WEFT_CHECK(cudaMemcpy2DAsync(destination.data, bytes(destination.stride), source.data, bytes(source.stride),
                                 bytes(source.columns), static_cast<std::size_t>(source.rows), cudaMemcpyDeviceToDevice,
                                 stream));
}

/// The sum of one matrix; bytes are only moved.
void Program::copy_by_sms(const Copy& copy, cudaStream_t stream) const {
  if (schedule_.buffers[index(copy.source.buffer)].dtype == DataType::fp8)
    return move_rows(moved({copy.source}), moved({copy.destination}), stream);
  add({{matrix(copy.source)}, 1}, matrix(copy.destination), stream);
}

/// As what moves them sees them: two bytes are one element.
std::vector<Matrix> Program::moved(const std::vector<Slice>& slices) const {
  std::vector<Matrix> all;
  for (const Slice& slice : slices) {
    const Bytes bytes = bytes_of(schedule_.buffers[index(slice.buffer)].dtype);
    Matrix& one = all.emplace_back(matrix(slice));
    one.columns = one.columns * bytes / 2, one.stride = one.stride * bytes / 2;
  }
  return all;
}

/// Of results that alternate with their logarithms.
void Program::merge(const MemoryBound& work, cudaStream_t stream) const {
  MergedResults sources;
  for (std::size_t i = 0; i < work.reads.size(); i += 2)
    sources.result[sources.count++] = {matrix(work.reads[i]), matrix(work.reads[i + 1])};
  log_sum_exp_merge(sources, {matrix(work.writes[0]), matrix(work.writes[1])}, stream);
}

void Program::enqueue(const MemoryBound& work, OperationId id, cudaStream_t stream) const {
  const Matrix destination = matrix(work.writes.front());
  const auto read = [&](std::size_t i) { return matrix(work.reads[i]); };
  const auto in_its_layout = [&](std::size_t i) {
    return stored_rows(read(i), schedule_.buffers[index(work.reads[i].buffer)].layout, ranks_);
  };
  const DataType stored = schedule_.buffers[index(work.writes.front().buffer)].dtype;
  switch (work.kernel) {
    case MemoryKernel::fill:
      return fill_zero(destination, stream);
    case MemoryKernel::partial_sum:
      return partial_sum(read(0), destination, stream);
    case MemoryKernel::rms_norm:
      return rms_norm(in_its_layout(0), destination, stored, stream);
    case MemoryKernel::add_rms_norm:
      return add_rms_norm(in_its_layout(0), read(1), destination, stored, matrix(work.writes[1]), stream);
    case MemoryKernel::swiglu:
      return swiglu(read(0), destination, stored, stream);
    case MemoryKernel::rotary:
      return rotary(read(0), destination, first_row(work.reads[0].rows, rank_, ranks_), stream);
    case MemoryKernel::add: {
      Sources sources;
      for (const Slice& slice : work.reads) sources.matrix[sources.count++] = matrix(slice);
      return add(sources, destination, stream);
    }
    case MemoryKernel::log_sum_exp_merge:
      return merge(work, stream);
    case MemoryKernel::gather:
    case MemoryKernel::scatter:
      return move_rows(moved(work.reads), moved(work.writes), stream);
    case MemoryKernel::top_k:
      return top_k(read(0), destination, stream);
    case MemoryKernel::weighted_sum:
      return weighted_sum(read(0), read(1), destination, stream);
    case MemoryKernel::quantize:
      return quantize(read(0), destination, stream);
    case MemoryKernel::pytorch_sum:
      break;
  }
  refuse(id);
}

void Program::enqueue(const Signal& signal, OperationId, cudaStream_t stream) const {
  if (!is_absent_) signals_.signal(signal, stream);
}

void Program::enqueue(const Wait& wait, OperationId id, cudaStream_t stream) const {
  if (!is_absent_) signals_.wait(id, wait.counter, stream);
}

void Program::enqueue(const Barrier&, OperationId id, cudaStream_t stream) const {
  if (!is_absent_) signals_.barrier(id, stream);
}

void Program::enqueue(const Delay& delay, OperationId, cudaStream_t stream) const {
  spin(delay.time_us, delay.held_sms, stream);
}

/// What hardware_support.cpp does not let through.
void Program::refuse(OperationId id) const {
  throw ExecutionError("operation \"" + schedule_.operations[index(id)].name + "\" should have been refused");
}

}  // namespace weft::calibration::device
