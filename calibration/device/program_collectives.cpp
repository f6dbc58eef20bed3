// How a program's collectives and exchanges are connected and enqueued: the library's, and those of kernels of our own.
#include "calibration/device/exchange_plan.hpp"
#include "calibration/device/nccl_windows.hpp"
#include "calibration/device/program.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/transports.hpp"

namespace weft::calibration::device {
namespace {

ncclDataType_t nccl_type(DataType type) {
  switch (type) {
    case DataType::bf16:
      return ncclBfloat16;
    case DataType::fp16:
      return ncclFloat16;
    case DataType::fp32:
      return ncclFloat32;
    case DataType::fp8:
      return ncclUint8;  // is only moved
  }
  throw ExecutionError("a collective of a type that NCCL does not know");
}

}  // namespace

void Program::connect() {
  for (const Operation& operation : schedule_.operations)
    match(
        operation.work,
        [&](const Collective& collective) {
          if (!facts(collective).by_library) return;
          const NcclSetting setting = setting_for(collective);
          resources_.communicators.connect(setting);
          if (needs_window(collective.transport))
            resources_.windows.register_with(resources_.communicators.get(setting));
        },
        [&](const GroupedExchange& exchange) {
          if (facts(exchange).by_library) resources_.communicators.connect(setting_for(exchange));
        },
        [](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait,
                       Barrier, Delay> auto&) {});
}

void Program::enqueue_peer_collective(const Collective& collective, OperationId id, cudaStream_t stream) const {
  const Slice& full = full_slice(collective);
  const Bytes bytes =
      row_count(full.rows, ranks_) * full.columns * bytes_of(schedule_.buffers[index(full.buffer)].dtype);
  device::enqueue({.kind = collective.kind,
                   .input = on_all_ranks(collective.input),
                   .output = on_all_ranks(collective.output),
                   .share_octets = bytes / ranks_ / 16,
                   .ctas = peer_ctas(collective),
                   .flags = signals_.flags(id)},
                  signals_.limit(id), stream);
}

void Program::enqueue(const AllReduceNorm& norm, OperationId id, cudaStream_t stream) const {
  if (is_absent_) return;
  const Matrix residual = matrix(norm.residual);
  device::enqueue({.partial = on_all_ranks(norm.partial),
                   .normed = on_all_ranks(norm.normed),
                   .residual = residual.data,
                   .rows = residual.rows,
                   .columns = residual.columns,
                   .ctas = norm.ctas,
                   .flags = signals_.flags(id)},
                  signals_.limit(id), stream);
}

void Program::enqueue(const GroupedExchange& exchange, OperationId id, cudaStream_t stream) const {
  if (is_absent_) return;
  if (exchange.transport == Transport::nccl) return send_and_receive(exchange, stream);
  const Matrix output = matrix(exchange.output);
  const PeerBuffer input = on_all_ranks(exchange.input);
  if (exchange.kind == GroupedKind::cast) {
    PeerPulls pulls = cast_pulls(exchange, rank_, input, output.data, row_bytes(exchange.output));
    pulls.ctas = peer_ctas(exchange), pulls.flags = signals_.flags(id);
    return device::enqueue(pulls, signals_.limit(id), stream);
  }
  const auto& of_input = exchange.input_log_sum_exp;
  const auto& of_output = exchange.output_log_sum_exp;
  PeerReduce reduce = peer_reduce(exchange, rank_, input, of_input ? on_all_ranks(*of_input) : PeerBuffer{},
                                  {output, of_output ? matrix(*of_output) : Matrix{}});
  reduce.ctas = peer_ctas(exchange), reduce.flags = signals_.flags(id);
  device::enqueue(reduce, signals_.limit(id), stream);
}

/// A rank's rows to itself, too, are sent and received.
void Program::send_and_receive(const GroupedExchange& cast, cudaStream_t stream) const {
  const ncclComm_t communicator = resources_.communicators.get(setting_for(cast));
  const std::byte* input = static_cast<const std::byte*>(matrix(cast.input).data);
  auto* received = static_cast<std::byte*>(matrix(cast.output).data);
  const Bytes bytes_of_row = row_bytes(cast.input);
  const auto bytes = [&](const RowRange& rows) { return static_cast<std::size_t>(rows.count * bytes_of_row); };
  WEFT_CHECK(ncclGroupStart());
  for (int peer = 0; peer < ranks_; ++peer) {
    const RowRange& sent = cast.rows[index(rank_)][index(peer)];
    if (sent.count > 0)
      WEFT_CHECK(ncclSend(input + sent.first * bytes_of_row, bytes(sent), ncclUint8, peer, communicator, stream));
    const std::size_t arriving = bytes(cast.rows[index(peer)][index(rank_)]);
    if (arriving > 0) WEFT_CHECK(ncclRecv(received, arriving, ncclUint8, peer, communicator, stream));
    received += arriving;
  }
  WEFT_CHECK(ncclGroupEnd());
}

void Program::enqueue(const Collective& collective, OperationId id, cudaStream_t stream) const {
  if (is_absent_) return;
  if (collective.transport == Transport::peer_kernel) return enqueue_peer_collective(collective, id, stream);
  const Matrix input = matrix(collective.input), output = matrix(collective.output);
  const auto count_in = static_cast<std::size_t>(input.rows * input.columns);
  const auto count_out = static_cast<std::size_t>(output.rows * output.columns);
  const DataType dtype = schedule_.buffers[index(collective.input.buffer)].dtype;
  const ncclDataType_t type = nccl_type(dtype);
  const ncclComm_t communicator = resources_.communicators.get(setting_for(collective));
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      WEFT_CHECK(ncclAllReduce(input.data, output.data, count_in, type, ncclSum, communicator, stream));
      return;
    case CollectiveKind::all_gather:
      WEFT_CHECK(ncclAllGather(input.data, output.data, count_in, type, communicator, stream));
      return;
    case CollectiveKind::reduce_scatter:
      WEFT_CHECK(ncclReduceScatter(input.data, output.data, count_out, type, ncclSum, communicator, stream));
      return;
    case CollectiveKind::all_to_all:
      if (collective.transport == Transport::nccl_copy_engine)
        return all_to_all_of_nccl(input.data, output.data, count_in / static_cast<std::size_t>(ranks_), type,
                                  communicator, stream);
      exchange_blocks(input.data, output.data, input.rows * input.columns / ranks_, dtype, communicator, stream);
      return;
  }
}

// Grouped sends and receives, as PyTorch's all_to_all_single does them: NCCL's own ncclAlltoAll may choose another
// algorithm, and what is measured here should be what a PyTorch program gets.
void Program::exchange_blocks(const void* input, void* output, std::int64_t count, DataType dtype,
                              ncclComm_t communicator, cudaStream_t stream) const {
  const std::int64_t block_bytes = count * bytes_of(dtype);
  const ncclDataType_t type = nccl_type(dtype);
  WEFT_CHECK(ncclGroupStart());
  for (int peer = 0; peer < ranks_; ++peer) {
    const auto elements = static_cast<std::size_t>(count);
    WEFT_CHECK(ncclSend(static_cast<const std::byte*>(input) + peer * block_bytes, elements, type, peer, communicator,
                        stream));
    WEFT_CHECK(
        ncclRecv(static_cast<std::byte*>(output) + peer * block_bytes, elements, type, peer, communicator, stream));
  }
  WEFT_CHECK(ncclGroupEnd());
}

}  // namespace weft::calibration::device
