#include "sim/meaning/in_units.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "models/schedule/row_order.hpp"
#include "models/schedule/sequence_order.hpp"

namespace weft::sim::meaning {
namespace {

/// Of a buffer: 2 x buffer for its rows, one more for its columns.
using Axis = std::size_t;
Axis rows_of(BufferId buffer) { return 2 * static_cast<Axis>(buffer); }
Axis columns_of(BufferId buffer) { return rows_of(buffer) + 1; }
Axis rows_of(const Slice& slice) { return rows_of(slice.buffer); }
Axis columns_of(const Slice& slice) { return columns_of(slice.buffer); }

/// Axes whose elements correspond, and what all lengths along them have in common.
class Axes {
 public:
  explicit Axes(std::size_t buffers) : like_(2 * buffers), unit_(2 * buffers, 0) {
    std::iota(like_.begin(), like_.end(), Axis{0});
  }
  void join(Axis a, Axis b) {
    const Axis from = root(a), into = root(b);
    if (from == into) return;
    like_[from] = into;
    unit_[into] = std::gcd(unit_[into], unit_[from]);
  }
  void join(const Slice& a, const Slice& b) {
    join(rows_of(a), rows_of(b));
    join(columns_of(a), columns_of(b));
  }
  /// `length` is cut into equal `parts`.
  void measure(Axis axis, std::int64_t length, std::int64_t parts) {
    std::int64_t& unit = unit_[root(axis)];
    unit = length % parts == 0 ? std::gcd(unit, length / parts) : 1;
  }
  void keep(Axis axis) { unit_[root(axis)] = 1; }
  void keep(const Slice& slice) { keep(rows_of(slice)), keep(columns_of(slice)); }
  std::int64_t unit(Axis axis) const { return std::max<std::int64_t>(1, unit_[root(axis)]); }

 private:
  Axis root(Axis axis) const {
    while (like_[axis] != axis) axis = like_[axis];
    return axis;
  }

  std::vector<Axis> like_;
  std::vector<std::int64_t> unit_;  // of the roots; 0: no length yet
};

// --- Which axes correspond -----------------------------------------------------------------------------------------

void join_all(Axes& axes, const std::vector<Slice>& reads, const std::vector<Slice>& writes) {
  for (const auto& slices : {reads, writes})
    for (const Slice& slice : slices) axes.join(slice, writes.front());
}

void keep_all(Axes& axes, const MemoryBound& work) {
  for (const auto& slices : {work.reads, work.writes})
    for (const Slice& slice : slices) axes.keep(slice);
}

bool have_equal_columns(const MemoryBound& work) {
  return std::ranges::all_of(work.reads, [&](const Slice& s) { return s.columns == work.writes.front().columns; }) &&
         std::ranges::all_of(work.writes, [&](const Slice& s) { return s.columns == work.writes.front().columns; });
}

void join_axes(Axes& axes, const MemoryBound& work) {
  switch (work.kernel) {
    case MemoryKernel::fill:
      return;
    case MemoryKernel::rotary:
    case MemoryKernel::top_k:
      return keep_all(axes, work);
    case MemoryKernel::gather:
    case MemoryKernel::scatter:  // elements one after the other, whatever the slices' shapes
      return have_equal_columns(work) ? join_all(axes, work.reads, work.writes) : keep_all(axes, work);
    case MemoryKernel::weighted_sum:  // a column of weights for each block of rows
      axes.join(work.reads[0], work.writes[0]);
      axes.join(rows_of(work.reads[1]), rows_of(work.writes[0]));
      return axes.keep(columns_of(work.reads[1]));
    case MemoryKernel::log_sum_exp_merge:  // results and the logarithms of sums that go with them, in turn
      for (std::size_t i = 0; i < work.reads.size(); ++i) axes.join(work.reads[i], work.writes[i % 2]);
      axes.join(rows_of(work.writes[0]), rows_of(work.writes[1]));
      return axes.keep(columns_of(work.writes[1]));
    case MemoryKernel::add:
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
    case MemoryKernel::swiglu:
    case MemoryKernel::partial_sum:
    case MemoryKernel::pytorch_sum:
    case MemoryKernel::quantize:
      return join_all(axes, work.reads, work.writes);
  }
}

void join_axes(Axes& axes, const Gemm& gemm) {
  for (const RowBlock& block : row_blocks(gemm)) {
    axes.join(rows_of(block.a), rows_of(block.c));
    axes.join(columns_of(block.a), columns_of(gemm.b));
    axes.join(rows_of(gemm.b), columns_of(block.c));
    if (block.addend) axes.join(*block.addend, block.c);
    if (block.a_from) axes.join(*block.a_from, block.a);
    for (const Slice& replica : block.replicas) axes.join(replica, block.c);
  }
}

void join_axes(Axes& axes, const GroupedExchange& exchange) {
  axes.join(exchange.input, exchange.output);
  if (!exchange.input_log_sum_exp) return;
  axes.join(*exchange.input_log_sum_exp, *exchange.output_log_sum_exp);
  axes.join(rows_of(*exchange.input_log_sum_exp), rows_of(exchange.input));
}

void join_axes(Axes& axes, const PartialAttention& attention) {
  axes.join(attention.queries, attention.output);
  axes.join(attention.keys_values, attention.output);
  axes.join(rows_of(attention.log_sum_exp), rows_of(attention.output));
  axes.keep(columns_of(attention.log_sum_exp));
}

void join_axes(Axes& axes, const Work& work) {
  const auto keep = [&](const auto&... slices) { (axes.keep(slices), ...); };
  match(
      work, [&](const OneOf<Gemm, GroupedExchange, MemoryBound, PartialAttention> auto& one) { join_axes(axes, one); },
      [&](const Collective& collective) { axes.join(collective.input, collective.output); },
      [&](const Copy& copy) { axes.join(copy.source, copy.destination); },
      [&](const GroupedGemm& gemm) { keep(gemm.a, gemm.b, gemm.c); },
      [&](const AllReduceNorm& norm) { keep(norm.partial, norm.residual, norm.normed); },
      [&](const Attention& attention) {
        keep(attention.qkv, attention.output);
        if (attention.cached) keep(*attention.cached);
      },
      [](const OneOf<Signal, Wait, Barrier, Delay> auto&) {});
}

bool has_gemm(const Meaning& meaning) {
  const auto form = result_form(meaning.op);
  return form && form->gemm != ResultForm::GemmPlace::none;
}

/// Into a block for each rank and chunk.
bool cuts_rows(std::string_view op) {
  const auto form = result_form(op);
  return form && form->collective && form->collective != CollectiveKind::all_reduce;
}

void join_axes(Axes& axes, const Meaning& meaning) {
  axes.join(rows_of(meaning.a), rows_of(meaning.result));
  if (meaning.attention) axes.join(rows_of(meaning.b), rows_of(meaning.a));
  if (has_gemm(meaning)) {
    axes.join(columns_of(meaning.a), columns_of(meaning.b));
    axes.join(rows_of(meaning.b), columns_of(meaning.result));
  } else {
    axes.join(columns_of(meaning.a), columns_of(meaning.result));
  }
  for (const Meaning& further : meaning.also) join_axes(axes, further);
}

// --- Every length along an axis ------------------------------------------------------------------------------------

/// Calls `visit(axis, length, parts)` with every number of rows or columns, which is cut into equal `parts`: once to
/// measure them, once to divide them.
template <class Visit>
class Lengths {
 public:
  Lengths(Schedule& schedule, const Visit& visit) : schedule_(schedule), visit_(visit) {
    for (std::size_t i = 0; i < schedule.buffers.size(); ++i) of(schedule.buffers[i], static_cast<BufferId>(i));
    for (Operation& operation : schedule.operations) operation.work = visited(operation.work);
    of(*schedule.meaning);
  }

 private:
  void of(Buffer& buffer, BufferId id) {
    visit_(rows_of(id), buffer.rows, 1);
    visit_(columns_of(id), buffer.columns, 1);
    Layout& layout = buffer.layout;
    if (layout.kind == LayoutKind::row_major) return;
    visit_(rows_of(id), layout.rows, 1);
    visit_(columns_of(id), layout.columns, 1);
    visit_(rows_of(id), layout.tile_rows, layout.kind == LayoutKind::tile_ordered ? 1 : schedule_.gpus);
    visit_(columns_of(id), layout.tile_columns, 1);
  }

  void of(Axis axis, RowRange& range, std::int64_t parts = 1) {
    visit_(axis, range.first, 1);
    visit_(axis, range.count, parts);
  }
  void of(Slice& slice, std::int64_t parts = 1) {
    const Axis rows = rows_of(slice);
    if (auto* range = std::get_if<RowRange>(&slice.rows)) of(rows, *range, parts);
    if (auto* ranks = std::get_if<RankRows>(&slice.rows))
      for (RowRange& range : ranks->of_rank) of(rows, range, parts);
    if (auto* shard = std::get_if<ShardRows>(&slice.rows)) {
      visit_(rows, shard->first, 1);
      visit_(rows, shard->of_rows, parts * schedule_.gpus * shard->chunks);
    }
    visit_(columns_of(slice), slice.first_column, 1);
    visit_(columns_of(slice), slice.columns, 1);
  }
  void of(std::optional<Slice>& slice) {
    if (slice) of(*slice);
  }
  void of(std::vector<Slice>& slices) {
    for (Slice& slice : slices) of(slice);
  }

  Work visited(const Work& work) {
    return match(
        work,
        [this](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                           PartialAttention> auto& given) -> Work {
          auto one = given;
          of_work(one);
          return one;
        },
        [](const OneOf<Signal, Wait, Barrier, Delay> auto& given) -> Work { return given; });
  }
  void of_work(Gemm& gemm) {
    of(gemm.a), of(gemm.b), of(gemm.c), of(gemm.addend), of(gemm.replicas), of(gemm.a_from);
    for (RowBlock& block : gemm.earlier)
      of(block.a), of(block.c), of(block.addend), of(block.replicas), of(block.a_from);
    const LayoutKind layout = schedule_.buffers[static_cast<std::size_t>(gemm.c.buffer)].layout.kind;
    if (!gemm.kernel || (gemm.tile_groups.empty() && layout == LayoutKind::row_major)) return;
    visit_(rows_of(gemm.c), gemm.kernel->tile_m, 1);
    visit_(columns_of(gemm.c), gemm.kernel->tile_n, 1);
  }
  void of_work(GroupedGemm& gemm) { of(gemm.a), of(gemm.b), of(gemm.c); }
  void of_work(Collective& collective) {
    const bool exchanges = collective.kind == CollectiveKind::all_to_all;
    of(collective.input, exchanges || collective.kind == CollectiveKind::reduce_scatter ? schedule_.gpus : 1);
    of(collective.output, exchanges ? schedule_.gpus : 1);
  }
  void of_work(AllReduceNorm& norm) { of(norm.partial), of(norm.residual), of(norm.normed); }
  void of_work(GroupedExchange& exchange) {
    of(exchange.input), of(exchange.output), of(exchange.input_log_sum_exp), of(exchange.output_log_sum_exp);
    for (std::vector<RowRange>& of_source : exchange.rows)
      for (RowRange& range : of_source) of(rows_of(exchange.input), range);
  }
  void of_work(Copy& copy) { of(copy.source), of(copy.destination); }
  void of_work(MemoryBound& work) { of(work.reads), of(work.writes); }
  void of_work(Attention& attention) { of(attention.qkv), of(attention.output), of(attention.cached); }
  void of_work(PartialAttention& attention) {
    of(attention.queries), of(attention.keys_values), of(attention.output), of(attention.log_sum_exp);
    visit_(columns_of(attention.output), attention.head_dim, 1);
    for (std::vector<AttentionPart>& of_rank : attention.parts)
      for (AttentionPart& part : of_rank)
        for (std::int64_t* length : {&part.first_query, &part.queries, &part.first_key, &part.keys})
          visit_(rows_of(attention.output), *length, 1);
  }
  void of(Meaning& meaning) {
    const std::int64_t blocks = std::int64_t{meaning.chunks} * schedule_.gpus;
    const std::int64_t parts = meaning.attention       ? token_unit(meaning.attention->mask, schedule_.gpus)
                               : cuts_rows(meaning.op) ? blocks
                                                       : 1;
    visit_(rows_of(meaning.a), meaning.m, parts);
    visit_(columns_of(meaning.result), meaning.n, 1);
    if (has_gemm(meaning)) visit_(columns_of(meaning.a), meaning.k, 1);
    for (std::int64_t& rows : meaning.rows_of_rank) visit_(rows_of(meaning.a), rows, blocks);
    if (meaning.attention) visit_(columns_of(meaning.a), meaning.attention->head_dim, 1);
    for (Meaning& further : meaning.also) of(further);
  }

  Schedule& schedule_;
  const Visit& visit_;
};

}  // namespace

ScheduleInUnits in_units(Schedule schedule) {
  Axes axes(schedule.buffers.size());
  for (const Operation& operation : schedule.operations) join_axes(axes, operation.work);
  join_axes(axes, *schedule.meaning);
  Lengths(schedule, [&](Axis axis, std::int64_t length, std::int64_t parts) { axes.measure(axis, length, parts); });
  Lengths(schedule, [&](Axis axis, auto& length, std::int64_t) {
    length /= static_cast<std::remove_reference_t<decltype(length)>>(axes.unit(axis));
  });
  std::vector<Unit> units;
  for (BufferId id = 0; id < static_cast<BufferId>(schedule.buffers.size()); ++id)
    units.push_back({axes.unit(rows_of(id)), axes.unit(columns_of(id))});
  return {std::move(schedule), std::move(units)};
}

}  // namespace weft::sim::meaning
