#include "sim/critical_path.hpp"

#include <algorithm>
#include <array>

namespace weft::sim {
namespace {

/// The operation of this rank that ended last before `time`, or -1.
OperationId ended_before(Program& program, const Schedule& schedule, int rank, int iteration, Picoseconds time) {
  OperationId latest = -1;
  for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
    const Picoseconds end = program.activity(rank, iteration, id).end.time();
    if (end > time || program.activity(rank, iteration, id).first_cta_started.time() >= time) continue;
    if (latest < 0 || end > program.activity(rank, iteration, latest).end.time()) latest = id;
  }
  return latest;
}

Limit limit_of(Program& program, const Schedule& schedule, int rank, int iteration) {
  std::array<std::int64_t, NamesOf<Limit>::names.size()> time_by_limit{};
  const Picoseconds begin = program.begin_of(rank, iteration);
  Picoseconds now = program.end_of(rank, iteration);
  while (now > begin) {
    const OperationId id = ended_before(program, schedule, rank, iteration, now);
    if (id < 0) {
      time_by_limit[static_cast<std::size_t>(Limit::launch)] += (now - begin).count;
      break;
    }
    const Activity& one = program.activity(rank, iteration, id);
    time_by_limit[static_cast<std::size_t>(Limit::launch)] += (now - one.end.time()).count;
    time_by_limit[static_cast<std::size_t>(one.limit)] += (one.end.time() - one.first_cta_started.time()).count;
    now = one.first_cta_started.time();
  }
  return static_cast<Limit>(std::max_element(time_by_limit.begin(), time_by_limit.end()) - time_by_limit.begin());
}

}  // namespace

Trace trace_of(Program& program, const Schedule& schedule, int ranks, int iteration, bool spans) {
  Trace trace;
  int slowest = 0;
  for (int rank = 1; rank < ranks; ++rank)
    if (program.end_of(rank, iteration) > program.end_of(slowest, iteration)) slowest = rank;
  trace.limited_by = limit_of(program, schedule, slowest, iteration);
  if (!spans) return trace;
  Picoseconds origin = program.begin_of(0, iteration);
  for (int rank = 1; rank < ranks; ++rank) origin = std::min(origin, program.begin_of(rank, iteration));
  for (int gpu = 0; gpu < schedule.gpus; ++gpu) {
    const int rank = ranks == 1 ? 0 : gpu;  // equal ranks are simulated once and shown for each GPU
    for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
      const Activity& one = program.activity(rank, iteration, id);
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
