#include "sim/critical_path.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "models/schedule/counters.hpp"

namespace weft::sim {
namespace {

constexpr Picoseconds longest_gap{10 * 1000 * 1000};  // 10 us: from the end of an operation to what waited for it

/// One iteration of one rank, walked back from its end.
class Path {
 public:
  Path(ScheduleRun& run, const Schedule& schedule, int rank, int iteration)
      : run_(run),
        schedule_(schedule),
        rank_(rank),
        iteration_(iteration),
        has_been_left_(schedule.operations.size()) {}

  Limit limit() {
    const Picoseconds begin = run_.begin_of(rank_, iteration_);
    Picoseconds now = run_.end_of(rank_, iteration_);
    for (OperationId id = last_of_all(); now > begin;) {
      const Picoseconds end = id < 0 ? begin : std::min(now, activity(id).end.time());
      add(Limit::launch, now - end);
      if (id < 0) break;
      now = end;
      if (const OperationId awaited = what_let_end(id, now); awaited >= 0 && !has_been_left_[id]) {
        has_been_left_[id] = true;  // a signal that takes no time leads back to the wait that it ended
        id = awaited;
        continue;
      }
      add(activity(id).limit, end - start(id));
      now = start(id);
      id = what_let_start(id);
    }
    return static_cast<Limit>(std::max_element(time_by_limit_.begin(), time_by_limit_.end()) - time_by_limit_.begin());
  }

 private:
  Activity& activity(OperationId id) { return run_.activity(rank_, iteration_, id); }
  Picoseconds start(OperationId id) { return activity(id).first_cta_started.time(); }
  OperationId operations() const { return static_cast<OperationId>(schedule_.operations.size()); }
  void add(Limit limit, Picoseconds time) {
    time_by_limit_[static_cast<std::size_t>(limit)] += std::max<std::int64_t>(0, time.count);
  }

  OperationId last_of_all() {
    OperationId last = operations() - 1;
    for (OperationId id = 0; id < operations(); ++id)
      if (activity(id).end.time() > activity(last).end.time()) last = id;
    return last;
  }

  /// Of a wait that ended at `end`, the operation that was the last to add to its counter by then; -1 where none did
  /// while it waited: the counter was full before. Ranks are much alike, so the own operation stands for a peer's.
  OperationId what_let_end(OperationId id, Picoseconds end) {
    if (schedule_.counters.empty()) return -1;
    if (counters_.empty()) counters_ = counter_uses(schedule_);
    const auto is_wait = [&](const CounterWait& wait) { return wait.operation == id && wait.tile_group < 0; };
    OperationId last = -1;
    Picoseconds latest = start(id);
    for (const CounterUse& counter : counters_) {
      if (std::ranges::none_of(counter.waits, is_wait)) continue;
      for (const CounterSignal& signal : counter.signals) {
        const Point point = signal.tile_group < 0 ? Point::end : Point::tile_group;
        const Picoseconds added = activity(signal.operation).point(point, signal.tile_group).time();
        if (added > latest && added <= end) last = signal.operation, latest = added;
      }
    }
    return last;
  }

  /// What `id` waited for and started with, else what held the SMs as it started, else what ended last before; or -1.
  OperationId what_let_start(OperationId id) {
    if (const OperationId before = last_predecessor(id); before >= 0) return before;
    OperationId running = -1, ended = -1;
    for (OperationId other = 0; other < operations(); ++other) {
      if (start(other) >= start(id)) continue;
      if (activity(other).end.time() > start(id)) {
        if (running < 0 || start(other) > start(running)) running = other;
      } else if (ended < 0 || activity(other).end.time() > activity(ended).end.time()) {
        ended = other;
      }
    }
    return running >= 0 ? running : ended;
  }

  /// Of the one before on the stream and those it follows, the one whose point came last; -1 where that was long ago.
  OperationId last_predecessor(OperationId id) {
    const Operation& operation = schedule_.operations[id];
    OperationId last = -1;
    Picoseconds latest{};
    const auto consider = [&](OperationId other, Picoseconds time) {
      if (last < 0 || time > latest) last = other, latest = time;
    };
    for (OperationId other = id - 1; other >= 0; --other)
      if (schedule_.operations[other].stream == operation.stream) {
        consider(other, activity(other).end.time());
        break;
      }
    for (const After& after : operation.after)
      consider(after.operation, activity(after.operation).point(after.point, after.tile_group).time());
    return last >= 0 && latest + longest_gap >= start(id) ? last : -1;
  }

  ScheduleRun& run_;
  const Schedule& schedule_;
  const int rank_, iteration_;
  std::array<std::int64_t, NamesOf<Limit>::names.size()> time_by_limit_{};
  std::vector<CounterUse> counters_;
  std::vector<bool> has_been_left_;  ///< waits, for what let them end
};

}  // namespace

Trace trace_of(ScheduleRun& run, const Schedule& schedule, int ranks, int iteration, bool spans) {
  Trace trace;
  int slowest = 0;
  for (int rank = 1; rank < ranks; ++rank)
    if (run.end_of(rank, iteration) > run.end_of(slowest, iteration)) slowest = rank;
  trace.limited_by = Path(run, schedule, slowest, iteration).limit();
  if (!spans) return trace;
  Picoseconds origin = run.begin_of(0, iteration);
  for (int rank = 1; rank < ranks; ++rank) origin = std::min(origin, run.begin_of(rank, iteration));
  for (int gpu = 0; gpu < schedule.gpus; ++gpu) {
    const int rank = ranks == 1 ? 0 : gpu;  // equal ranks are simulated once and shown for each GPU
    for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
      const Activity& one = run.activity(rank, iteration, id);
      trace.spans.push_back({.operation = one.operation->name,
                             .kind = std::string(kind_of(one.operation->work)),
                             .stream = schedule.streams[one.operation->stream].name,
                             .gpu = gpu,
                             .start_us = to_us(one.first_cta_started.time() - origin),
                             .end_us = to_us(one.end.time() - origin),
                             .detail = one.detail,
                             .limit = one.limit});
    }
  }
  return trace;
}

}  // namespace weft::sim
