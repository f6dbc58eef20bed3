// How copies use the simulated GPUs: engines take them, and their bytes share links and memories with others.
#include "models/schedule/amounts.hpp"
#include "sim/simulated_machine.hpp"
#include "sim/skew.hpp"

namespace weft::sim {

/// A copy within one GPU needs no engine: it starts as a kernel does.
void SimulatedMachine::start_copy(Activity& activity, const Copy& copy) {
  if (copy.path == CopyPath::sms) return start_memory_bound(activity, true);
  start_on_engine(activity, [&] { return copy_route(activity.rank, copy); });
}

/// It takes what every copy takes before its first byte.
void SimulatedMachine::start_word(Activity& activity, const Signal& signal) {
  start_on_engine(activity, [&] { return CopyRoute{activity.rank, gpu_of(activity.rank, signal.place), 0, 0}; });
}

template <class Route>
void SimulatedMachine::start_on_engine(Activity& activity, const Route& route) {
  activity.limit = Limit::copy_engine;
  CopyRun& run = prepared(activity).copy;
  run.machine = this;
  run.activity = &activity;
  if (run.path < 0) run.route = route();
  CopyEnginePool& engines = gpus_[activity.rank]->copy_engines;
  const bool needs_engine = is_peer_copy_[activity.id];
  if (!needs_engine || engines.is_granted(activity.operation->stream, waiter_for<&CopyRun::begin>(&run))) run.begin();
}

void SimulatedMachine::begin_copy(CopyRun& run) {
  const Activity& activity = *run.activity;
  run.activity->first_cta_started.happen(engine_);
  run.activity->all_ctas_started.happen(engine_);
  engine_.after(from_us(copy_setup_us(activity.rank, activity.id, activity.occasion)),
                waiter_for<&CopyRun::flow>(&run));
}

double SimulatedMachine::copy_setup_us(int rank, OperationId id, int occasion) const {
  const CopyEngines& engines = machine_.copy_engines;
  if (!is_peer_copy_[id]) return engines.local_setup_us;
  return engines.setup_us + engines.setup_spread_us * lateness(rank, occasion);
}

CopyRoute SimulatedMachine::copy_route(int rank, const Copy& copy) const {
  const CopyEngines& engines = machine_.copy_engines;
  CopyRoute route{gpu_of(rank, copy.source.place), gpu_of(rank, copy.destination.place),
                  static_cast<double>(bytes_on_rank(copy.source, rank, schedule_)), 0};
  const bool is_contiguous = is_whole_rows(copy.source) && is_whole_rows(copy.destination);
  if (route.source == route.destination) {
    route.GBps =
        is_contiguous ? engines.rate_within_gpu_GBps(static_cast<Bytes>(route.bytes)) : engines.local_strided_GBps;
  } else {
    route.GBps = route.source == rank ? engines.rate_of_push_GBps() : engines.GBps;
    route.slowdown = is_contiguous ? 1 : 1 + engines.strided_slowdown;
  }
  return route;
}

Uses SimulatedMachine::copy_uses(const CopyRoute& route, int rank, OperationId id) {
  Uses uses;
  if (route.source == route.destination) {
    // Traffic is known of the rank that has most rows: of its bytes, which are read and written, each has this share.
    if (const MemoryTraffic& traffic = costs_[id].traffic; traffic.hbm_bytes > 0)
      uses.push_back({gpus_[route.source]->hbm, traffic.hbm_bytes / (traffic.touched_bytes / 2)});
  } else {
    uses = links_.copy_uses(route.source, route.destination, rank);
    const double longer = machine_.copy_engines.rate_of_push_GBps() / route.GBps;  // a pull's requests take the rest
    for (Use& link : uses) link.per_unit *= longer;
    for (const int gpu : {route.source, route.destination}) uses.push_back({gpus_[gpu]->hbm, 1.0});
  }
  return uses;
}

double SimulatedMachine::copy_GBps(const CopyRoute& route, int rank, int occasion) const {
  if (route.source == route.destination) return route.GBps;
  return route.GBps / route.slowdown / (1 + machine_.copy_engines.speed_spread * (2 * throw_of(rank, occasion) - 1));
}

/// Whatever is thrown.
double SimulatedMachine::most_copy_GBps(const CopyRoute& route) const {
  return route.GBps / route.slowdown / (1 - machine_.copy_engines.speed_spread);
}

void SimulatedMachine::flow_copy(CopyRun& run) {
  const Activity& activity = *run.activity;
  if (run.route.bytes == 0) return end_copy(run);
  if (run.path < 0) run.path = pool_.add_path(copy_uses(run.route, activity.rank, activity.id));
  if (is_peer_copy_[activity.id]) count_copy(run.route.destination, run.is_push(), +1);
  const double GBps = copy_GBps(run.route, activity.rank, activity.occasion);
  pool_.start(run.route.bytes, bytes_per_us(GBps), run.path, waiter_for<&CopyRun::end>(&run));
}

void SimulatedMachine::end_copy(CopyRun& run) {
  Activity& activity = *run.activity;
  if (is_peer_copy_[activity.id]) {
    CopyEnginePool& engines = gpus_[activity.rank]->copy_engines;
    if (run.route.bytes > 0) count_copy(run.route.destination, run.is_push(), -1);
    keeps_copy_engine_[activity.id] ? engines.keep_for(activity.operation->stream) : engines.release();
  }
  activity.finish(engine_);
}

/// Its rows lie one after the other in memory.
bool SimulatedMachine::is_whole_rows(const Slice& slice) const {
  return slice.columns == schedule_.buffers[slice.buffer].columns || row_count(slice.rows, schedule_.gpus) == 1;
}

void SimulatedMachine::count_copy(int gpu, bool is_push, int change) {
  GpuState& into = *gpus_[gpu];
  (is_push ? into.pushes_in : into.pulls_in) += change;
  const double longer = into.pushes_in > 0  ? machine_.gemm.beside_any_push()
                        : into.pulls_in > 0 ? machine_.gemm.beside_copies
                                            : 0;
  into.gemm_slowdown = 1 + longer;
}

}  // namespace weft::sim
