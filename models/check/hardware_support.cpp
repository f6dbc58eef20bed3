#include "models/check/hardware_support.hpp"

#include <algorithm>

#include "models/base/text.hpp"
#include "models/check/machine_support.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/transports.hpp"

namespace weft {
namespace {

/// Looks at one operation of a valid schedule; every refusal is an InputError on its field.
class Support {
 public:
  Support(const Schedule& schedule, std::size_t index)
      : schedule_(schedule), operation_(schedule.operations[index]), index_(index) {}

  void check() const {
    for (const After& after : operation_.after) check(after);
    match(operation_.work,
          [this](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound,
                             Attention, PartialAttention, Signal, Wait, Barrier, Delay> auto& work) { check(work); });
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError("operations[" + std::to_string(index_) + "] \"" + operation_.name + "\"",
                     "expected what the hardware executor supports, got " + what);
  }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }

  void check(const After& after) const {
    const Operation& followed = schedule_.operations[static_cast<std::size_t>(after.operation)];
    switch (after.point) {
      case Point::end:
        return;
      case Point::tile_group:  // validation sees to it that a kernel of its own has them
        if (!is_for_hopper(followed.work)) refuse("following a tile group of the library's kernel");
        return;
      case Point::all_ctas_started:
        if (counts_its_ctas(followed.work)) return;
        if (schedule_.launch == Launch::eager) refuse("following a kernel's start without a graph");
        if (!has_kernel_everywhere(followed.work)) refuse("following the start of what is no kernel on every rank");
        return;
      case Point::first_cta_started:
        if (counts_its_ctas(followed.work)) return;
        break;
    }
    refuse("following " + std::string(name_of(after.point)) + " of a kernel that does not count its CTAs");
  }
  bool has_rows_everywhere(const Work& work) const {
    for (int rank = 0; rank < schedule_.gpus; ++rank)
      if (has_no_rows(work, rank, schedule_.gpus)) return false;
    return true;
  }
  static bool sends_or_receives_everywhere(const GroupedExchange& exchange) {
    for (std::size_t rank = 0; rank < exchange.rows.size(); ++rank) {
      const auto sends = [](const RowRange& rows) { return rows.count > 0; };
      const auto receives = [&](const std::vector<RowRange>& of_sender) { return of_sender[rank].count > 0; };
      if (std::ranges::none_of(exchange.rows[rank], sends) && std::ranges::none_of(exchange.rows, receives))
        return false;
    }
    return true;
  }
  /// Copy engines run none; of several the first is followed.
  bool has_kernel_everywhere(const Work& work) const {
    return match(
        work, [](const Collective& collective) { return collective.transport != Transport::nccl_copy_engine; },
        [&](const Gemm&) { return has_rows_everywhere(work); },
        [&](const GroupedExchange& exchange) { return sends_or_receives_everywhere(exchange); },
        [](const OneOf<GroupedGemm, AllReduceNorm, MemoryBound, Attention, PartialAttention, Wait, Barrier,
                       Delay> auto&) { return true; },
        [](const Copy& copy) { return copy.path == CopyPath::sms; },
        [](const Signal& signal) { return signal.path == SignalPath::kernel; });
  }

  void check_layout(const Slice& slice) const {
    const Layout& layout = buffer(slice).layout;
    if (layout.kind != LayoutKind::row_major) refuse("layout " + std::string(name_of(layout.kind)));
  }
  void check_own(const Slice& slice) const {
    if (slice.place != 0) refuse("a slice on another rank");
    check_layout(slice);
  }
  DataType dtype(const Slice& slice) const { return buffer(slice).dtype; }
  void check_bf16(const Slice& slice) const {
    if (dtype(slice) != DataType::bf16) refuse("dtype " + std::string(name_of(dtype(slice))));
  }
  void check_own_bf16_or_fp8(const Slice& slice) const {
    check_own(slice);
    if (dtype(slice) != DataType::fp8) check_bf16(slice);
  }
  void check_own_bf16(const Slice& slice) const {
    check_own(slice);
    check_bf16(slice);
  }

  void check(const Gemm& gemm) const {
    check_own_bf16_or_fp8(gemm.b);
    if (gemm.kernel && dtype(gemm.b) == DataType::fp8) refuse("fp8 for a GEMM kernel of ours, which multiplies bf16");
    for (const RowBlock& block : row_blocks(gemm)) {
      check_own_bf16_or_fp8(block.a);
      check_bf16(block.c);
      if (block.addend) check_own_bf16(*block.addend);
      if (block.a_from) check_bf16(*block.a_from), check_layout(*block.a_from);
    }
    if (gemm.kernel) return check_own_kernel(gemm);
    check_own(gemm.c);
    if (dtype(gemm.b) == DataType::fp8) check_fp8_product(gemm);
  }
  /// cuBLASLt's conditions for fp8 (its documentation of cublasLtMatmul): sizes and rows in multiples of 16 bytes, of
  /// the result, too. The rows of a are free.
  void check_fp8_product(const Gemm& gemm) const {
    constexpr std::int64_t unit = 16;
    const MatrixSize size = size_of(gemm, schedule_.gpus);
    if (size.n % unit != 0 || size.k % unit != 0)
      refuse("a product of fp8 with n = " + std::to_string(size.n) + " and k = " + std::to_string(size.k) +
             ", which are no multiples of " + std::to_string(unit));
    for (const Slice* slice : {&gemm.a, &gemm.b, &gemm.c}) check_aligned(*slice);
    if (gemm.addend) check_aligned(*gemm.addend);
  }
  void check_own_kernel(const Gemm& gemm) const {
    const GemmKernel& kernel = *gemm.kernel;
    if (ranks_meet(gemm) && !has_rows_everywhere(operation_.work))
      refuse("ranks that meet in a GEMM of which one has no rows");
    if (!is_own_kernel(kernel)) refuse("a GEMM kernel that weft does not have");
    if (kernel.scheduler == TileScheduler::grid && gemm.max_sms > 0) refuse("a limit of SMs for a grid of tiles");
    for (int rank = 0; rank < schedule_.gpus; ++rank)
      check_clusters(kernel, tile_grid(kernel, size_of_block_on_rank(gemm, rank, schedule_.gpus)).rows, gemm.order);
    for (const RowBlock& block : row_blocks(gemm)) {
      for (const Slice* slice : {&block.a, &gemm.b, &block.c}) check_aligned(*slice);
      if (block.addend) check_aligned(*block.addend);
      if (block.a_from) {
        check_octets(*block.a_from);
        if (kernel.scheduler == TileScheduler::grid) refuse("rows fetched by a grid of tiles");
      }
      if (block.replicas.size() > max_own_replicas) refuse("more replicas than " + std::to_string(max_own_replicas));
      for (const Slice& replica : block.replicas) check_bf16(replica), check_aligned(replica);
    }
  }
  void check_clusters(const GemmKernel& kernel, std::int64_t tile_rows, const TileOrder& order) const {
    if (kernel.cluster_m == 2 && (tile_rows % 2 != 0 || order.swizzle % 2 != 0))
      refuse("clusters of two tiles one below the other in " + std::to_string(tile_rows) + " rows of tiles, " +
             std::to_string(order.swizzle) + " at a time");
  }
  /// Of 16 bytes, which a thread and the tensor memory accelerator move at a time.
  std::int64_t unit_of(const Slice& slice) const { return 16 / bytes_of(dtype(slice)); }
  void check_aligned(const Slice& slice) const {
    if (buffer(slice).columns % unit_of(slice) != 0 || slice.first_column % unit_of(slice) != 0)
      refuse("rows of \"" + buffer(slice).name + "\" that are not aligned to 16 bytes");
  }
  [[noreturn]] void refuse(Transport transport) const {
    const std::string what = "transport " + std::string(name_of(transport));
    if (transport == Transport::one_shot) refuse(what + ", as no kernel of ours reduces in one shot");
    if (transport == Transport::multicast) refuse(what + ", as no kernel of ours uses it");
    if (transport == Transport::nccl_nvls) refuse(what + ", which NCCL takes by itself or not at all");
    refuse(what);
  }
  void check(const Collective& collective) const {
    if (collective.transport == Transport::peer_kernel) return check_peer_collective(collective);
    if (collective.transport != Transport::nccl && !needs_window(collective.transport)) refuse(collective.transport);
    for (const Slice* slice : {&collective.input, &collective.output}) {
      if (slice->place != 0) refuse("a slice on another rank");
      if (needs_window(collective.transport) && buffer(*slice).memory != Memory::symmetric)
        refuse("a collective by " + std::string(name_of(collective.transport)) + " on local memory");
    }
    check_sum(collective);
    if (collective.cluster != 0) refuse("a collective with a cluster size of its own");
    if (collective.kind == CollectiveKind::all_to_all && collective.input == collective.output)
      refuse("an all_to_all in place");
  }
  /// Bytes can be moved; NCCL would round a sum of fp8 at every rank, to 4 bits, and nobody asks for that.
  void check_sum(const Collective& collective) const {
    const bool sums =
        collective.kind == CollectiveKind::all_reduce || collective.kind == CollectiveKind::reduce_scatter;
    if (sums && dtype(collective.input) == DataType::fp8)
      refuse("a sum of fp8, which would be rounded to 4 bits at every rank");
  }
  /// Kernels of our own load from peers, and an all-reduce stores to them, in 16 bytes.
  void check_peer_collective(const Collective& collective) const {
    check_sum(collective);
    for (const Slice* slice : {&collective.input, &collective.output}) {
      if (slice->place != 0) refuse("a slice on another rank");
      if (dtype(*slice) != DataType::fp8) check_bf16(*slice);
      if (slice->columns != buffer(*slice).columns) refuse("a collective by peer_kernel on a part of the columns");
      const bool is_read_by_peers = slice == &collective.input || collective.kind == CollectiveKind::all_reduce;
      if (is_read_by_peers && buffer(*slice).memory != Memory::symmetric)
        refuse("a collective by peer_kernel on local memory");
    }
    const Slice& full = full_slice(collective);
    const std::int64_t unit = unit_of(full);
    if (row_count(full.rows, schedule_.gpus) * full.columns / schedule_.gpus % unit != 0 || full.columns % unit != 0)
      refuse("a collective by peer_kernel of shares that are no multiples of 16 bytes");
    if (collective.kind != CollectiveKind::all_reduce && collective.input == collective.output)
      refuse("a collective by peer_kernel in place");
  }
  /// No library has one: without a kernel ours is chosen.
  void check(const GroupedGemm& gemm) const {
    if (dtype(gemm.b) == DataType::fp8) refuse("fp8 for a grouped GEMM, whose kernels multiply bf16");
    for (const Slice* slice : {&gemm.a, &gemm.b, &gemm.c}) check_own_bf16(*slice), check_aligned(*slice);
    if (gemm.kernel && (!is_own_kernel(*gemm.kernel) || gemm.kernel->scheduler == TileScheduler::stream_k))
      refuse("a grouped GEMM's kernel that weft does not have");
  }
  void check(const AllReduceNorm& norm) const {
    if (norm.transport != Transport::peer_kernel) refuse(norm.transport);
    for (const Slice* slice : {&norm.partial, &norm.residual, &norm.normed})
      check_own_bf16(*slice), check_row_kernel(*slice);
    if (norm.partial.columns != buffer(norm.partial).columns) refuse("a norm on a part of the columns");
  }
  void check_octets(const Slice& slice) const {
    check_aligned(slice);
    if (slice.columns % unit_of(slice) != 0) refuse("rows that are no multiples of 16 bytes");
  }
  /// A CTA of these keeps a row in registers.
  void check_row_kernel(const Slice& slice) const {
    check_octets(slice);
    if (slice.columns > max_norm_columns)
      refuse("rows that are longer than " + std::to_string(max_norm_columns) + " columns");
  }
  /// The library only moves rows; ours loads whole ones from the peers. The order in which they are stored is nothing
  /// to either.
  void check(const GroupedExchange& exchange) const {
    const bool adds = exchange.kind == GroupedKind::reduce;
    for (const Slice* slice : {&exchange.input, &exchange.output}) {
      if (slice->place != 0) refuse("a slice on another rank");
      if (adds || dtype(*slice) != DataType::fp8) check_bf16(*slice);
      check_whole_rows(*slice, "a grouped exchange");
      if (exchange.transport == Transport::peer_kernel) check_aligned(*slice);
    }
    if (exchange.transport == Transport::nccl && adds) refuse("a grouped exchange by nccl that adds");
    if (exchange.transport == Transport::nccl) return;
    check_read_by_peers(exchange.input, "a grouped exchange");
    if (!exchange.input_log_sum_exp) return;
    for (const Slice* slice : {&*exchange.input_log_sum_exp, &*exchange.output_log_sum_exp}) {
      check_logarithms(*slice, exchange.input);
      check_whole_rows(*slice, "a grouped exchange");
    }
    check_read_by_peers(*exchange.input_log_sum_exp, "a grouped exchange");
  }
  void check_whole_rows(const Slice& slice, const std::string& what) const {
    if (slice.columns != buffer(slice).columns) refuse(what + " on a part of the columns");
    if (differ_by_rank(slice.rows)) refuse(what + " whose rows differ by rank");
  }
  void check_read_by_peers(const Slice& slice, const std::string& what) const {
    if (buffer(slice).memory != Memory::symmetric) refuse(what + " on local memory");
  }
  /// A head's columns are merged by the threads of one warp, eight by each.
  void check_logarithms(const Slice& slice, const Slice& results) const {
    check_own(slice);
    if (buffer(slice).dtype != DataType::fp32) refuse("log_sum_exp in " + std::string(name_of(buffer(slice).dtype)));
    const std::int64_t head_columns = results.columns / slice.columns;
    if (slice.columns * head_columns != results.columns || head_columns % 8 != 0 || 256 % head_columns != 0)
      refuse("a merge of " + std::to_string(slice.columns) + " heads in " + std::to_string(results.columns) +
             " columns");
  }
  void check(const Copy& copy) const {
    check_layout(copy.source);
    check_layout(copy.destination);
    if (copy.path == CopyPath::sms) check_copy_by_sms(copy);
  }
  void check_copy_by_sms(const Copy& copy) const {
    if (dtype(copy.source) != DataType::fp8) return check_bf16(copy.source);
    check_octets(copy.source), check_octets(copy.destination);
  }
  /// Validation sees to it that results and their logarithms alternate.
  void check_merge(const MemoryBound& work) const {
    check_counts(work, 2 * max_merged, 2);
    for (const std::vector<Slice>* slices : {&work.reads, &work.writes})
      for (std::size_t i = 0; i < slices->size(); i += 2) {
        check_own_bf16((*slices)[i]);
        check_aligned((*slices)[i]);
        check_logarithms((*slices)[i + 1], (*slices)[i]);
      }
  }
  void check(const MemoryBound& work) const {
    if (work.kernel == MemoryKernel::log_sum_exp_merge) return check_merge(work);
    check_types(work);
    switch (work.kernel) {
      case MemoryKernel::fill:
      case MemoryKernel::add:
        return check_counts(work, max_summands, 1);
      case MemoryKernel::partial_sum:
        return check_counts(work, 1, 1);
      case MemoryKernel::rms_norm:
        check_rows(work), check_groups(work.reads[0]);
        return check_counts(work, 1, 1);
      case MemoryKernel::add_rms_norm:
        check_rows(work), check_groups(work.reads[0]);
        return check_counts(work, 2, 2);
      case MemoryKernel::swiglu:
        check_aligned(work.reads[0]), check_octets(work.writes[0]);
        return check_counts(work, 1, 1);
      case MemoryKernel::rotary:
        check_octets(work.reads[0]), check_octets(work.writes[0]);
        return check_counts(work, 1, 1);
      case MemoryKernel::gather:
      case MemoryKernel::scatter:
        check_moved(work);
        return check_counts(work, max_moved, max_moved);
      case MemoryKernel::top_k:
        if (work.reads[0].columns > max_top_k_columns)
          refuse("top_k of " + std::to_string(work.reads[0].columns) + " columns");
        return check_counts(work, 1, 1);
      case MemoryKernel::weighted_sum:
        check_octets(work.reads[0]), check_octets(work.writes[0]);
        return check_counts(work, 2, 1);
      case MemoryKernel::quantize:
        if (dtype(work.writes[0]) != DataType::fp8)
          refuse("quantize to " + std::string(name_of(dtype(work.writes[0]))));
        check_octets(work.reads[0]), check_octets(work.writes[0]);
        return check_counts(work, 1, 1);
      case MemoryKernel::pytorch_sum:
      case MemoryKernel::log_sum_exp_merge:
        break;
    }
    refuse("memory kernel " + std::string(name_of(work.kernel)));
  }
  /// bf16, but for rows that are only moved, and for what a GEMM of fp8 reads next.
  void check_types(const MemoryBound& work) const {
    const bool moves = work.kernel == MemoryKernel::gather || work.kernel == MemoryKernel::scatter;
    for (const Slice& slice : work.reads) {
      if (slice.place != 0) refuse("a slice on another rank");
      if (&slice != &work.reads.front() || !is_norm(work.kernel)) check_layout(slice);
      if (!moves || dtype(slice) != DataType::fp8) check_bf16(slice);
    }
    for (const Slice& slice : work.writes) {
      const bool is_result = &slice == &work.writes.front() && stores_fp8(work.kernel);
      moves || is_result ? check_own_bf16_or_fp8(slice) : check_own_bf16(slice);
      if (moves && dtype(slice) != dtype(work.reads[0])) refuse_type_change(work, slice);
    }
    for (const Slice& slice : work.reads)
      if (moves && dtype(slice) != dtype(work.reads[0])) refuse_type_change(work, slice);
  }
  [[noreturn]] void refuse_type_change(const MemoryBound& work, const Slice& slice) const {
    refuse(std::string(name_of(work.kernel)) + " of " + std::string(name_of(dtype(work.reads[0]))) + " and " +
           std::string(name_of(dtype(slice))));
  }
  static bool is_norm(MemoryKernel kernel) {
    return kernel == MemoryKernel::rms_norm || kernel == MemoryKernel::add_rms_norm;
  }
  static bool stores_fp8(MemoryKernel kernel) {
    return is_norm(kernel) || kernel == MemoryKernel::swiglu || kernel == MemoryKernel::quantize;
  }
  void check_counts(const MemoryBound& work, std::size_t reads, std::size_t writes) const {
    const auto refuse_count = [&](std::size_t count, const std::string& of_what) {
      refuse(std::to_string(count) + of_what + " of " + std::string(name_of(work.kernel)));
    };
    if (work.reads.size() > reads) refuse_count(work.reads.size(), " reads");
    if (work.writes.size() > writes) refuse_count(work.writes.size(), " writes");
  }
  /// Ours moves whole rows.
  void check_moved(const MemoryBound& work) const {
    for (const std::vector<Slice>* slices : {&work.reads, &work.writes})
      for (const Slice& slice : *slices) {
        check_octets(slice);
        if (slice.columns != work.reads[0].columns)
          refuse(std::string(name_of(work.kernel)) + " of rows of " + std::to_string(work.reads[0].columns) + " and " +
                 std::to_string(slice.columns) + " columns");
      }
  }
  /// The kernel's argument holds where they end.
  void check_groups(const Slice& slice) const {
    const std::size_t groups = buffer(slice).layout.group_tiles.size();
    if (groups > max_norm_groups) refuse("a norm of " + std::to_string(groups) + " groups of tiles");
  }
  void check_rows(const MemoryBound& work) const {
    for (const Slice& slice : work.reads) check_row_kernel(slice);
    for (const Slice& slice : work.writes) check_row_kernel(slice);
  }
  void check(const Attention& attention) const {
    for (const Slice* slice : {&attention.qkv, &attention.output}) {
      check_own_bf16(*slice);
      check_aligned(*slice);
    }
    if (attention.cached) check_own_bf16(*attention.cached), check_aligned(*attention.cached);
    check_head_dim(attention.head_dim);
  }
  void check(const PartialAttention& attention) const {
    for (const Slice* slice : {&attention.queries, &attention.keys_values, &attention.output}) {
      check_own_bf16(*slice);
      check_aligned(*slice);
      if (differ_by_rank(slice->rows)) refuse("partial attention whose rows differ by rank");
    }
    check_head_dim(attention.head_dim);
    check_logarithms(attention.log_sum_exp, attention.output);
    for (const std::vector<AttentionPart>& of_rank : attention.parts)
      if (of_rank.size() > max_attention_parts)
        refuse(std::to_string(of_rank.size()) + " parts of attention on one rank");
  }
  void check_head_dim(int head_dim) const {
    if (head_dim != 64 && head_dim != 128) refuse("attention with heads of " + std::to_string(head_dim));
  }
  void check(const Signal& signal) const {
    if (signal.path == SignalPath::stream_write)
      refuse("signal path " + std::string(name_of(signal.path)) + ", which takes longer than a kernel");
  }
  void check(const Wait& wait) const {
    if (wait.path != WaitPath::spinning_kernel)
      refuse("wait path " + std::string(name_of(wait.path)) + ", which takes longer than a kernel");
    if (wait.held_sms > 0) refuse("a wait that holds SMs");
  }
  void check(const Barrier&) const {}
  void check(const Delay&) const {}

  const Schedule& schedule_;
  const Operation& operation_;
  std::size_t index_;
};

/// A copy writes 1 and adds nothing; the one wait sets it back, before the ranks meet in the next iteration.
template <class Refuse>
void check_word(const Counter& counter, const CounterUse& use, const Schedule& schedule, const Refuse& refuse) {
  if (use.signals.size() != 1 || use.total() != 1) refuse("a copied word that is not its only signal, of 1");
  const auto is_kernel = [](const CounterWait& wait) { return wait.tile_group < 0; };
  if (!counter.reset_by_wait || use.waits.size() != 1 || !is_kernel(use.waits.front()))
    refuse("a copied word that no wait in a stream resets");
  const auto ranks_meet = [](const Operation& operation) { return facts(operation.work).meetings > 0; };
  if (std::ranges::none_of(schedule.operations, ranks_meet)) refuse("a copied word in an iteration without a meeting");
}

/// A wait compares with all that each rank ever added, so it tells a part of an iteration from the whole only where one
/// rank adds. Outside of a graph signals come before it in the host's order: what is launched behind a wait may stand
/// behind it in its hardware queue.
void check_counter(const Counter& counter, const CounterUse& use, const Schedule& schedule) {
  const auto refuse = [&](const std::string& what) {
    throw InputError("counters \"" + counter.name + "\"", "expected what the hardware executor supports, got " + what);
  };
  const std::vector<std::int64_t> totals = use.totals_by_place(schedule.gpus);
  const bool has_one_source = std::ranges::count_if(totals, [](std::int64_t total) { return total > 0; }) == 1;
  for (const CounterWait& wait : use.waits) {
    if (!has_one_source && wait.value < use.total()) refuse("a wait for a part of what several ranks add");
    for (const CounterSignal& signal : use.signals)
      if (schedule.launch == Launch::eager && wait.operation < signal.operation)
        refuse("a wait that is launched before a signal");
  }
  if (counter.reset_by_wait && use.waits.size() > 1) refuse("several waits that reset it");
  if (std::ranges::any_of(use.signals, &CounterSignal::is_copied_word)) check_word(counter, use, schedule, refuse);
}

/// NCCL maps the memory of its windows itself, and tells nobody where the peers' lies.
void check_windows(const Schedule& schedule) {
  const std::vector<bool> in_window = buffers_in_windows(schedule);
  if (std::ranges::find(in_window, true) == in_window.end()) return;
  for (const Operation& operation : schedule.operations)
    for (const BufferId reached : reached_on_peers(schedule, operation))
      if (in_window[reached])
        throw InputError("buffers \"" + schedule.buffers[reached].name + "\"",
                         "expected what the hardware executor supports, got a window of NCCL that operation \"" +
                             operation.name + "\" reaches on a peer");
}

}  // namespace

std::optional<InputError> why_not_runnable(const Schedule& schedule) {
  try {
    if (schedule.operations.empty()) throw InputError("operations", "expected at least one");
    if (schedule.implementation != Implementation::weft)
      throw InputError("implementation", "expected weft, got " + std::string(name_of(schedule.implementation)));
    for (std::size_t i = 0; i < schedule.buffers.size(); ++i)
      if (is_packed(schedule.buffers[i]))
        throw InputError("buffers[" + std::to_string(i) + "].element_bits",
                         "expected none: weft run has no kernel that expands weights");
    for (std::size_t i = 0; i < schedule.operations.size(); ++i) Support(schedule, i).check();
    const std::vector<CounterUse> uses = counter_uses(schedule);
    for (std::size_t i = 0; i < uses.size(); ++i) check_counter(schedule.counters[i], uses[i], schedule);
    check_windows(schedule);
  } catch (const InputError& error) {
    return error;
  }
  return std::nullopt;
}

std::optional<InputError> why_not_runnable(const Schedule& schedule, const Machine& machine) {
  try {
    require_able(machine, schedule);
  } catch (const InputError& error) {
    return error;
  }
  return why_not_runnable(schedule);
}

}  // namespace weft
