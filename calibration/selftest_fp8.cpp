#include "calibration/selftest_fp8.hpp"

#include <string>

#include "models/schedule/transports.hpp"

namespace weft::calibration {
namespace {

constexpr StreamId compute = 0, communication = 1;
constexpr std::int64_t m = 4096, n = 3072, k = 2048;

struct Shape {
  std::int64_t rows = 0, columns = 0;
};

/// Buffers one by one, operations on two streams, and what they compute.
class Fp8Schedule {
 public:
  Fp8Schedule(const std::string& name, int gpus) {
    schedule_.name = "fp8: " + name + ", gpus=" + std::to_string(gpus);
    schedule_.family = "serial";
    schedule_.gpus = gpus;
    schedule_.streams = {{"compute", 0}, {"communication", -5}};
  }
  Slice add(const std::string& name, Shape shape, DataType dtype = DataType::fp8, Memory memory = Memory::local) {
    schedule_.buffers.push_back(
        {.name = name, .rows = shape.rows, .columns = shape.columns, .dtype = dtype, .memory = memory, .layout = {}});
    return {static_cast<BufferId>(schedule_.buffers.size()) - 1, 0, RowRange{0, shape.rows}, 0, shape.columns};
  }
  OperationId then(const std::string& name, Work work, StreamId stream = compute, std::vector<OperationId> after = {}) {
    std::vector<After> edges;
    for (const OperationId followed : after) edges.push_back({followed, Point::end, 0});
    schedule_.operations.push_back({name, stream, edges, std::move(work)});
    return static_cast<OperationId>(schedule_.operations.size()) - 1;
  }
  Schedule that_computes(Meaning meaning) && {
    schedule_.meaning = std::move(meaning);
    return std::move(schedule_);
  }
  Schedule that_runs() && {
    schedule_.family = "token_split";  // of a layer, whose numbers no reference has
    return std::move(schedule_);
  }

 private:
  Schedule schedule_;
};

constexpr DataType bf16 = DataType::bf16;

Slice piece(Slice whole, int number, int pieces) {
  const std::int64_t count = row_count(whole.rows, 1) / pieces;
  whole.rows = RowRange{number * count, count};
  return whole;
}
Slice columns(Slice whole, std::int64_t first, std::int64_t count) {
  whole.first_column = first, whole.columns = count;
  return whole;
}
Slice at(Slice slice, int place) {
  slice.place = place;
  return slice;
}
/// That of rank + `offset`, of one shard a rank.
Slice shard(Slice whole, int offset) {
  whole.rows = ShardRows{offset, 0, 1, 0, row_count(whole.rows, 1)};
  return whole;
}

Gemm product(const Slice& a, const Slice& b, const Slice& c) {
  Gemm gemm;
  gemm.a = a, gemm.b = b, gemm.c = c;
  return gemm;
}
Collective exchange(CollectiveKind kind, const Slice& input, const Slice& output,
                    Transport transport = Transport::nccl) {
  return {.kind = kind, .input = input, .output = output, .transport = transport};
}
MemoryBound kernel_of(MemoryKernel kernel, std::vector<Slice> reads, std::vector<Slice> writes) {
  return {.kernel = kernel, .reads = std::move(reads), .writes = std::move(writes)};
}
Meaning meaning_of(const std::string& op, const MatrixSize& size, const Slice& a, const Slice& b, const Slice& result,
                   int chunks = 1) {
  return {op, size.m, size.n, size.k, a.buffer, b.buffer, result.buffer, chunks};
}

// --- GEMMs -----------------------------------------------------------------------------------------------------------

Schedule gemm(const MatrixSize& size, int gpus, int max_sms = 0) {
  Fp8Schedule schedule("gemm m=" + std::to_string(size.m) + " n=" + std::to_string(size.n) +
                           " k=" + std::to_string(size.k) + (max_sms > 0 ? " on some SMs" : ""),
                       gpus);
  const Slice a = schedule.add("a", {size.m, size.k}), b = schedule.add("b", {size.n, size.k});
  const Slice c = schedule.add("c", {size.m, size.n}, bf16);
  Gemm work = product(a, b, c);
  work.max_sms = max_sms;
  schedule.then("gemm", work);
  return std::move(schedule).that_computes(meaning_of("gemm", size, a, b, c));
}

/// Parts of k, rows and columns of larger buffers: the second product is added to the first.
Schedule k_slices(int gpus) {
  Fp8Schedule schedule("gemm in two k slices of a copy", gpus);
  const Slice a = schedule.add("a", {m, k}), b = schedule.add("b", {n, k}), c = schedule.add("c", {m, n}, bf16);
  const Slice copied = schedule.add("copied a", {m, k});
  constexpr std::int64_t left = 1040;
  const auto part = [&](const Slice& whole, bool is_left) {
    return is_left ? columns(whole, 0, left) : columns(whole, left, k - left);
  };
  schedule.then("copy left", Copy{part(a, true), part(copied, true), CopyPath::copy_engine});
  schedule.then("copy right", Copy{part(a, false), part(copied, false), CopyPath::sms});
  schedule.then("left", product(part(copied, true), part(b, true), c));
  Gemm right = product(part(copied, false), part(b, false), c);
  right.addend = c;
  schedule.then("right", right);
  return std::move(schedule).that_computes(meaning_of("gemm", {m, n, k}, a, b, c));
}

/// What attention leaves is bf16.
Schedule quantize_then_gemm(int gpus) {
  Fp8Schedule schedule("quantize, then gemm", gpus);
  const Slice a = schedule.add("a", {m, k}, bf16), b = schedule.add("b", {n, k});
  const Slice c = schedule.add("c", {m, n}, bf16), quantized = schedule.add("quantized", {m, k});
  schedule.then("quantize", kernel_of(MemoryKernel::quantize, {a}, {quantized}));
  schedule.then("gemm", product(quantized, b, c));
  return std::move(schedule).that_computes(meaning_of("gemm", {m, n, k}, a, b, c));
}

// --- Kernels that store fp8 ------------------------------------------------------------------------------------------

Schedule stored_by(MemoryKernel kernel, const Shape& shape, DataType stored, int gpus) {
  const std::string op(name_of(kernel));
  Fp8Schedule schedule(op + " of " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + " to " +
                           std::string(name_of(stored)),
                       gpus);
  const bool is_swiglu = kernel == MemoryKernel::swiglu, adds = kernel == MemoryKernel::add_rms_norm;
  const Slice a = schedule.add("a", {shape.rows, (is_swiglu ? 2 : 1) * shape.columns}, bf16);
  const Slice result = schedule.add("result", shape, stored);
  if (!adds) {
    schedule.then(op, kernel_of(kernel, {a}, {result}));
    return std::move(schedule).that_computes(meaning_of(op, {shape.rows, shape.columns, 1}, a, a, result));
  }
  const Slice residual = schedule.add("residual", shape, bf16), kept = schedule.add("kept", shape, bf16);
  schedule.then(op, kernel_of(kernel, {a, residual}, {result, kept}));
  return std::move(schedule).that_computes(meaning_of(op, {shape.rows, shape.columns, 1}, a, residual, result));
}

Schedule gathered_twice(int gpus) {
  Fp8Schedule schedule("rows gathered twice", gpus);
  const Slice a = schedule.add("a", {1000, k}), result = schedule.add("result", {2000, k});
  schedule.then("gather", kernel_of(MemoryKernel::gather, {a, a}, {result}));
  return std::move(schedule).that_computes(meaning_of("gather", {2000, k, 1}, a, a, result));
}

std::vector<Schedule> kernels_that_store_fp8(int gpus) {
  std::vector<Schedule> schedules;
  for (const Shape& shape : {Shape{1, 16}, Shape{333, 2064}, Shape{4096, 8192}})
    for (const MemoryKernel kernel :
         {MemoryKernel::quantize, MemoryKernel::rms_norm, MemoryKernel::add_rms_norm, MemoryKernel::swiglu})
      schedules.push_back(stored_by(kernel, shape, DataType::fp8, gpus));
  for (const MemoryKernel kernel : {MemoryKernel::rms_norm, MemoryKernel::add_rms_norm, MemoryKernel::swiglu})
    schedules.push_back(stored_by(kernel, {333, 2064}, bf16, gpus));
  for (const DataType stored : {bf16, DataType::fp8})
    schedules.push_back(stored_by(MemoryKernel::swiglu, {64, 26'624}, stored, gpus));  // of Llama 405B on two GPUs
  schedules.push_back(gathered_twice(gpus));
  return schedules;
}

// --- Over the links --------------------------------------------------------------------------------------------------

Schedule moved_by(Transport transport, CollectiveKind kind, int gpus) {
  const std::string op(name_of(kind));
  Fp8Schedule schedule(op + " by " + std::string(name_of(transport)), gpus);
  const Memory memory = transport == Transport::nccl ? Memory::local : Memory::symmetric;
  const bool gathers = kind == CollectiveKind::all_gather;
  const Slice input = schedule.add("input", {gathers ? m / gpus : m, n}, DataType::fp8, memory);
  const Slice result = schedule.add("result", {m, n}, DataType::fp8, memory);
  Collective collective = exchange(kind, input, result, transport);
  if (transport == Transport::peer_kernel) collective.max_ctas = 16;
  schedule.then("collective", collective);
  return std::move(schedule).that_computes(meaning_of(op, {m, n, 1}, input, input, result));
}

/// An all-gather or all-to-all of fp8, then the GEMM, chunk by chunk.
Schedule then_gemm(CollectiveKind kind, int gpus, int chunks) {
  const std::string op = std::string(name_of(kind)) + "+gemm";
  Fp8Schedule schedule(op + " chunks=" + std::to_string(chunks), gpus);
  const Slice a = schedule.add("a", {kind == CollectiveKind::all_gather ? m / gpus : m, k});
  const Slice b = schedule.add("b", {n, k}), c = schedule.add("c", {m, n}, bf16),
              arrived = schedule.add("arrived", {m, k});
  for (int i = 0; i < chunks; ++i) {
    const std::string number = " " + std::to_string(i);
    const Slice rows = piece(arrived, i, chunks);
    const OperationId sent = schedule.then("collective" + number, exchange(kind, piece(a, i, chunks), rows),
                                           chunks == 1 ? compute : communication);
    schedule.then("gemm" + number, product(rows, b, piece(c, i, chunks)), compute, {sent});
  }
  return std::move(schedule).that_computes(meaning_of(op, {m, n, k}, a, b, c, chunks));
}

/// The GEMM of fp8, then a sum of bf16.
Schedule gemm_then(CollectiveKind kind, int gpus, int chunks) {
  const std::string op = "gemm+" + std::string(name_of(kind));
  Fp8Schedule schedule(op + " chunks=" + std::to_string(chunks), gpus);
  const Slice a = schedule.add("a", {m, k}), b = schedule.add("b", {n, k}), c = schedule.add("c", {m, n}, bf16);
  const Slice result = kind == CollectiveKind::all_reduce ? c : schedule.add("result", {m / gpus, n}, bf16);
  for (int i = 0; i < chunks; ++i) {
    const std::string number = " " + std::to_string(i);
    const Slice rows = piece(c, i, chunks);
    const OperationId made = schedule.then("gemm" + number, product(piece(a, i, chunks), b, rows));
    schedule.then("collective" + number, exchange(kind, rows, piece(result, i, chunks)),
                  chunks == 1 ? compute : communication, {made});
  }
  return std::move(schedule).that_computes(meaning_of(op, {m, n, k}, a, b, result, chunks));
}

/// As PyTorch's: pulls by copy engines and GEMMs alternate on two streams.
Schedule async_tp(int gpus) {
  Fp8Schedule schedule("async TP", gpus);
  const Slice own = schedule.add("shard", {m / gpus, k}), b = schedule.add("b", {n, k});
  const Slice c = schedule.add("c", {m, n}, bf16), gathered = schedule.add("gathered", {m, k});
  const Slice published = schedule.add("published shard", {m / gpus, k}, DataType::fp8, Memory::symmetric);
  schedule.then("enter", Barrier{});
  schedule.then("publish", Copy{own, published, CopyPath::copy_engine});
  const OperationId ready = schedule.then("published", Barrier{});
  schedule.then("gemm 0", product(own, b, shard(c, 0)));
  OperationId last = 0;
  for (int step = 1; step < gpus; ++step) {
    const StreamId stream = step % 2;
    const std::string number = " " + std::to_string(step);
    const Slice arrived = shard(gathered, step);
    schedule.then("pull" + number, Copy{at(published, step), arrived, CopyPath::copy_engine}, stream, {ready});
    const OperationId made = schedule.then("gemm" + number, product(arrived, b, shard(c, step)), stream);
    if (stream == communication) last = made;
  }
  schedule.then("leave", Barrier{}, compute, {last});
  return std::move(schedule).that_computes(meaning_of("all_gather+gemm", {m, n, k}, own, b, c));
}

std::vector<Schedule> between_gpus(int gpus) {
  using enum CollectiveKind;
  std::vector<Schedule> schedules;
  for (const CollectiveKind kind : {all_gather, all_to_all})
    for (const Transport transport :
         {Transport::nccl, Transport::peer_kernel, Transport::nccl_symmetric, Transport::nccl_copy_engine})
      if (!needs_window(transport) || does(transport, kind)) schedules.push_back(moved_by(transport, kind, gpus));
  for (const int chunks : {1, 2, 4}) {
    for (const CollectiveKind kind : {all_gather, all_to_all}) schedules.push_back(then_gemm(kind, gpus, chunks));
    for (const CollectiveKind kind : {all_reduce, reduce_scatter}) schedules.push_back(gemm_then(kind, gpus, chunks));
  }
  schedules.push_back(async_tp(gpus));
  return schedules;
}

// --- A decoder layer -------------------------------------------------------------------------------------------------

/// Sequence-parallel over several GPUs: rows of fp8 are gathered, partial sums of bf16 scattered.
Schedule decoder_layer(int gpus) {
  constexpr std::int64_t tokens = 1024, hidden = 2048, head_dim = 128;
  const int heads = 16 / gpus, kv_heads = 8 / gpus;
  const std::int64_t intermediate = 4096 / gpus, rows = tokens / gpus;
  Fp8Schedule schedule("decoder layer", gpus);
  const Slice residual = schedule.add("residual", {rows, hidden}, bf16);
  const Slice normed_rows = schedule.add("normed rows", {rows, hidden});
  const Slice normed = gpus > 1 ? schedule.add("normed", {tokens, hidden}) : normed_rows;
  const Slice qkv = schedule.add("qkv", {tokens, (heads + 2 * kv_heads) * head_dim}, bf16);
  const Slice attended = schedule.add("attended", {tokens, heads * head_dim}, bf16);
  const Slice quantized = schedule.add("quantized", {tokens, heads * head_dim});
  const Slice gate_up = schedule.add("gate_up", {tokens, 2 * intermediate}, bf16);
  const Slice activated = schedule.add("activated", {tokens, intermediate});
  const Slice partial = schedule.add("partial", {tokens, hidden}, bf16);
  const Slice sum = gpus > 1 ? schedule.add("sum", {rows, hidden}, bf16) : partial;
  const auto multiply = [&](const std::string& name, const Slice& input, const Slice& output) {
    const Slice weight = schedule.add(name + " weight", {output.columns, input.columns});
    schedule.then(name, product(input, weight, output));
  };
  const auto gather = [&](const std::string& name) {
    if (gpus > 1) schedule.then(name + " all_gather", exchange(CollectiveKind::all_gather, normed_rows, normed));
  };
  const auto reduce = [&](const std::string& name) {
    if (gpus > 1) schedule.then(name + " reduce_scatter", exchange(CollectiveKind::reduce_scatter, partial, sum));
    schedule.then(name + " norm", kernel_of(MemoryKernel::add_rms_norm, {sum, residual}, {normed_rows, residual}));
  };
  schedule.then("norm", kernel_of(MemoryKernel::rms_norm, {residual}, {normed_rows}));
  gather("attention");
  multiply("qkv", normed, qkv);
  const Slice turned = columns(qkv, 0, (heads + kv_heads) * head_dim);
  schedule.then("rotary", kernel_of(MemoryKernel::rotary, {turned}, {turned}));
  schedule.then("attention", Attention{qkv, attended, heads, kv_heads, static_cast<int>(head_dim)});
  schedule.then("quantize", kernel_of(MemoryKernel::quantize, {attended}, {quantized}));
  multiply("o", quantized, partial);
  reduce("attention");
  gather("mlp");
  multiply("gate_up", normed, gate_up);
  schedule.then("swiglu", kernel_of(MemoryKernel::swiglu, {gate_up}, {activated}));
  multiply("down", activated, partial);
  reduce("mlp");
  return std::move(schedule).that_runs();
}

/// After everything else, row 0 of the result gets 16 columns of row 1. Row 0 is always looked at.
Schedule spoilt(Schedule schedule) {
  const BufferId result = schedule.meaning->result;
  const auto row = [&](std::int64_t number) { return Slice{result, 0, RowRange{number, 1}, 0, 16}; };
  const auto last = static_cast<OperationId>(schedule.operations.size()) - 1;
  schedule.name += ", spoilt";
  schedule.operations.push_back({"spoil", compute, {{last, Point::end, 0}}, Copy{row(1), row(0)}});
  return schedule;
}

}  // namespace

std::vector<Schedule> fp8_schedules(int gpus) {
  std::vector<Schedule> schedules{
      gemm({m, n, k}, gpus),          gemm({m, n, k}, gpus, 64),     gemm({1, 16, 16}, gpus), gemm({17, 48, 80}, gpus),
      gemm({1023, 1040, 1008}, gpus), gemm({64, 8192, 14336}, gpus), k_slices(gpus),          quantize_then_gemm(gpus)};
  for (const Schedule& schedule : kernels_that_store_fp8(gpus)) schedules.push_back(schedule);
  if (gpus > 1)
    for (const Schedule& schedule : between_gpus(gpus)) schedules.push_back(schedule);
  schedules.push_back(decoder_layer(gpus));
  return schedules;
}

std::vector<Schedule> spoilt_fp8_schedules(int gpus) {
  std::vector<Schedule> schedules{spoilt(gemm({m, n, k}, gpus)), spoilt(k_slices(gpus)),
                                  spoilt(quantize_then_gemm(gpus)), spoilt(gathered_twice(gpus))};
  for (const MemoryKernel kernel :
       {MemoryKernel::quantize, MemoryKernel::rms_norm, MemoryKernel::add_rms_norm, MemoryKernel::swiglu})
    schedules.push_back(spoilt(stored_by(kernel, {333, 2064}, DataType::fp8, gpus)));
  if (gpus == 1) return schedules;
  schedules.push_back(spoilt(async_tp(gpus)));
  schedules.push_back(spoilt(then_gemm(CollectiveKind::all_gather, gpus, 1)));
  schedules.push_back(spoilt(moved_by(Transport::nccl, CollectiveKind::all_gather, gpus)));
  return schedules;
}

}  // namespace weft::calibration
