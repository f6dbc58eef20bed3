#include "sim/l2_state.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "models/cost/l2_reuse.hpp"
#include "models/schedule/footprint.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t most_ranges = 4096;  // kept apart; older ones are small then, and count as gone

struct Range {
  BufferId buffer = 0;
  std::int64_t first = 0, last = 0;  // rows [first, last)
  double bytes_per_row = 0;
  double bytes() const { return static_cast<double>(last - first) * bytes_per_row; }
};

class RecentlyUsed {
 public:
  explicit RecentlyUsed(const Gpu& gpu) : gpu_(gpu) {
    constexpr std::size_t usual_ranges = 16;
    ranges_.reserve(usual_ranges);
    kept_.reserve(usual_ranges);
  }

  /// Bytes of `range` that are not here; afterwards it is the most recent.
  double miss(const Range& range) {
    double missed = range.bytes(), younger = 0;
    std::vector<Range>& kept = kept_;
    kept.assign(1, range);
    for (const Range& held : ranges_) {
      const double since = younger + held.bytes();
      if (l2_miss_share(gpu_, since - held.bytes()) == 1 || kept.size() >= most_ranges) break;  // what is older is gone
      younger = since;
      const std::int64_t first = std::max(held.first, range.first), last = std::min(held.last, range.last);
      if (held.buffer != range.buffer || first >= last) {
        kept.push_back(held);
        continue;
      }
      const double again = static_cast<double>(last - first) * std::min(held.bytes_per_row, range.bytes_per_row);
      missed -= again * (1 - l2_miss_share(gpu_, since));
      if (last < held.last) kept.push_back({held.buffer, last, held.last, held.bytes_per_row});
      if (held.first < first) kept.push_back({held.buffer, held.first, first, held.bytes_per_row});
    }
    ranges_.swap(kept);
    return std::max(0.0, missed);
  }

 private:
  const Gpu& gpu_;
  std::vector<Range> ranges_;  // most recent first
  std::vector<Range> kept_;    // memory of miss()
};

Range range_of(const Slice& slice, const Schedule& schedule) {
  const std::int64_t first = first_row(slice.rows, 0, schedule.gpus);
  return {slice.buffer, first, first + row_count(slice.rows, schedule.gpus),
          static_cast<double>(bytes_of(schedule.buffers[slice.buffer], slice.columns))};
}

/// Few have more.
using Slices = boost::container::small_vector<Slice, 4>;

/// Slices that the operation reads or writes, on whatever GPU they lie, each once; what a GEMM adds to is read and
/// written.
Slices slices_of(const Schedule& schedule, const Operation& operation) {
  return match(
      operation.work,
      [](const Gemm& gemm) {
        Slices slices = gemm.addend ? Slices{gemm.a, gemm.b, *gemm.addend, gemm.c} : Slices{gemm.a, gemm.b, gemm.c};
        for (const RowBlock& block : gemm.earlier) {
          slices.insert(slices.end(), {block.a, block.c});
          if (block.addend) slices.push_back(*block.addend);
        }
        return slices;
      },
      [&](const GroupedGemm&) {
        Footprint all = footprint(schedule, operation);
        all.reads.insert(all.reads.end(), all.writes.begin(), all.writes.end());
        return Slices(all.reads.begin(), all.reads.end());
      },
      [](const Collective& collective) {
        return collective.input == collective.output ? Slices{collective.input}
                                                     : Slices{collective.input, collective.output};
      },
      // Every row of the partial sums is read by some rank, and every normed row is stored by one.
      [](const AllReduceNorm& work) {
        Slice own_residual = work.residual;
        const auto& rows = std::get<RowRange>(work.residual.rows);
        own_residual.rows = ShardRows{.first = rows.first, .of_rows = rows.count};
        return Slices{work.partial, own_residual, work.normed};
      },
      [](const GroupedExchange& exchange) {
        return Slices{exchange.input, exchange.output};
      },
      [](const Copy& copy) {
        return Slices{copy.source, copy.destination};
      },
      [](const MemoryBound& kernel) {
        Slices slices(kernel.reads.begin(), kernel.reads.end());
        for (const Slice& slice : kernel.writes)
          if (std::find(kernel.reads.begin(), kernel.reads.end(), slice) == kernel.reads.end()) slices.push_back(slice);
        return slices;
      },
      [](const Attention& attention) {
        Slices slices{attention.qkv, attention.output};
        if (attention.cached) slices.push_back(*attention.cached);
        return slices;
      },
      [](const PartialAttention& attention) {
        return Slices{attention.queries, attention.keys_values, attention.output, attention.log_sum_exp};
      },
      [](const OneOf<Signal, Wait, Barrier, Delay> auto&) { return Slices{}; });
}

bool adds(const Operation& operation) {
  return match(
      operation.work, [](const Gemm& gemm) { return gemm.addend.has_value(); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return false; });
}

enum class Part {
  addend,        ///< what a GEMM adds to
  sum_in_place,  ///< takes the place of the addend
  other
};

/// Of the slice with this number.
Part part_of(const Operation& operation, const Slices& slices, std::size_t number) {
  constexpr std::size_t addend = 2, sum = 3;
  if (!adds(operation)) return Part::other;
  if (number == addend) return Part::addend;
  return number == sum && slices[sum] == slices[addend] ? Part::sum_in_place : Part::other;
}

/// What an operation reads or writes.
struct Touch {
  std::size_t operation = 0;
  Range range;
  bool is_here = true;  // in the GPU's own memory
  Part part = Part::other;
};

/// In program order.
std::vector<Touch> touches_of(const Schedule& schedule) {
  std::vector<Touch> touches;
  touches.reserve(3 * schedule.operations.size());
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const Operation& operation = schedule.operations[id];
    const Slices slices = slices_of(schedule, operation);
    for (std::size_t i = 0; i < slices.size(); ++i)
      touches.push_back({id, range_of(slices[i], schedule), slices[i].place == 0, part_of(operation, slices, i)});
  }
  return touches;
}

}  // namespace

std::vector<MemoryTraffic> memory_traffic(const Schedule& schedule, const Machine& machine) {
  RecentlyUsed l2(machine.gpu);
  std::vector<MemoryTraffic> traffic(schedule.operations.size());
  const std::vector<Touch> touches = touches_of(schedule);
  const int passes = machine.condition.timing.l2 == L2Before::kept ? 2 : 1;
  for (int pass = 0; pass < passes; ++pass) {  // the second sees what the iteration before left
    std::ranges::fill(traffic, MemoryTraffic{});
    for (const Touch& touch : touches) {
      MemoryTraffic& of_operation = traffic[touch.operation];
      const double bytes = touch.range.bytes();
      double missed = touch.is_here ? l2.miss(touch.range) : 0;
      if (touch.part == Part::sum_in_place)
        missed = of_operation.addend_hbm_bytes;  // it goes back as far as it will be read again
      of_operation.touched_bytes += bytes;
      if (touch.is_here) of_operation.own_bytes += bytes;
      of_operation.hbm_bytes += missed;
      if (touch.part != Part::addend) continue;
      of_operation.addend_bytes = bytes;
      of_operation.addend_hbm_bytes = missed;
    }
  }
  return traffic;
}

}  // namespace weft::sim
