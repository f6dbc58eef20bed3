#include "sim/simulated_machine.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/input_error.hpp"
#include "models/schedule/amounts.hpp"
#include "sim/copy_order.hpp"
#include "sim/skew.hpp"

namespace weft::sim {
namespace {

constexpr double unlimited = 1e6;  // a resource of so many times its capacity limits nobody
constexpr int enough_copy_engines = 1 << 20;

double crowded_us(const CollectiveKernel& kernel, const CollectiveTiming& timing) {
  const double latencies = (timing.latency_us + timing.transfer_us) / timing.latency_us;
  return kernel.crowded_us * std::clamp((latencies - 2) / 2, 0.0, 1.0);
}

}  // namespace

SimulatedMachine::GpuState::GpuState(Engine& engine, const Machine& machine, FluidPool& pool, SmLayout& layout,
                                     const Mechanisms& mechanisms)
    : sms(engine, layout),
      copy_engines(engine, mechanisms.copy_engines ? machine.copy_engines.per_gpu : enough_copy_engines,
                   from_us(machine.copy_engines.turnaround_us)),
      hbm(pool.add_resource(bytes_per_us(machine.gpu.hbm_GBps) * (mechanisms.hbm ? 1 : unlimited))),
      l2(pool.add_resource(bytes_per_us(machine.gpu.l2_GBps) * (mechanisms.l2 ? 1 : unlimited))) {
  if (!mechanisms.sm_sharing) sms_of_collectives.emplace(engine, layout);
}

SimulatedMachine::SimulatedMachine(Engine& engine, const Machine& machine, const Schedule& schedule,
                                   const std::vector<OperationCost>& costs, int ranks, double clock_share,
                                   const Mechanisms& mechanisms)
    : engine_(engine),
      machine_(machine),
      schedule_(schedule),
      costs_(costs),
      clock_share_(clock_share),
      mechanisms_(mechanisms),
      keeps_copy_engine_(keeps_copy_engine(schedule)),
      sm_layout_(machine.gpu),
      pool_(engine),
      links_(pool_, machine.fabric, mechanisms.links),
      units_(engine, pool_, ranks) {
  for (int rank = 0; rank < ranks; ++rank) gpus_.emplace_back(engine, machine, pool_, sm_layout_, mechanisms);
}

/// Of a rank without rows there is no kernel or copy to launch.
bool SimulatedMachine::has_no_rows(const Activity& activity) const {
  const auto is_empty = [&](const Slice& slice) { return row_count(slice.rows, activity.rank, schedule_.gpus) == 0; };
  return match(
      activity.operation->work, [&](const Gemm& gemm) { return is_empty(gemm.a); },
      [&](const Copy& copy) { return is_empty(copy.source); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) { return false; });
}

void SimulatedMachine::do_nothing(Activity& activity) {
  activity.first_cta_started.happen(engine_);
  activity.all_ctas_started.happen(engine_);
  for (Occurrence& group : activity.tile_groups) group.happen(engine_);
  activity.end.happen(engine_);
}

void SimulatedMachine::start(Activity& activity) {
  if (has_no_rows(activity)) return do_nothing(activity);
  if (const double given_us = costs_[activity.id].given_us; given_us >= 0) return units_.start(activity, given_us);
  match(
      activity.operation->work,
      [&](const Gemm& gemm) { start_matrix_kernel(activity, gemm_launch(gemm, site_of(activity))); },
      [&](const GroupedGemm& gemm) { start_matrix_kernel(activity, grouped_gemm_launch(gemm, site_of(activity))); },
      [&](const Collective&) { start_collective(activity); }, [&](const AllReduceNorm&) { start_collective(activity); },
      [&](const GroupedExchange&) { start_collective(activity); },
      [&](const Copy& copy) { start_copy(activity, copy); }, [&](const MemoryBound&) { start_memory_bound(activity); },
      [&](const Attention& attention) { start_kernel(activity, attention_launch(attention, site_of(activity))); },
      [&](const PartialAttention& attention) {
        start_kernel(activity, partial_attention_launch(attention, site_of(activity)));
      },
      [](const Signal&) {}, [&](const Wait& wait) { hold_sms(activity, wait.held_sms, machine_.latencies.signal_us); },
      [](const Barrier&) {}, [&](const Delay& delay) { hold_sms(activity, delay.held_sms, delay.time_us); });
}

SmPool& SimulatedMachine::sms_for(const Activity& activity) {
  GpuState& gpu = gpus_[activity.rank];
  const bool is_apart = match(
      activity.operation->work,
      [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Delay> auto&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Barrier> auto&) {
        return false;
      });
  return is_apart && !mechanisms_.sm_sharing ? *gpu.sms_of_collectives : gpu.sms;
}

LaunchSite SimulatedMachine::site_of(const Activity& activity) {
  const GpuState& gpu = gpus_[activity.rank];
  return {.activity = activity,
          .machine = machine_,
          .schedule = schedule_,
          .cost = costs_[activity.id],
          .sms = sm_layout_,
          .links = links_,
          .hbm = gpu.hbm,
          .l2 = gpu.l2,
          .ranks = ranks(),
          .clock_share = clock_share_};
}

void SimulatedMachine::start_kernel(Activity& activity, KernelLaunch launch) {
  activity.limit = launch.limit;
  activity.detail = std::move(launch.detail);
  TiledKernel& kernel = kernels_.emplace_back(engine_, sms_for(activity), pool_, activity, std::move(launch.work));
  kernel.cta = launch.cta;
  kernel.cluster = launch.cluster;
  kernel.priority = activity.priority;
  kernel.most_sms = launch.most_sms;
  kernel.start();
}

void SimulatedMachine::start_matrix_kernel(Activity& activity, KernelLaunch launch) {
  watch_gemm(activity);
  launch.work.slowdown = &gpus_[activity.rank].gemm_slowdown;
  start_kernel(activity, std::move(launch));
}

void SimulatedMachine::start_memory_bound(Activity& activity) {
  start_kernel(activity, memory_bound_launch(activity.operation->work, site_of(activity)));
}

void SimulatedMachine::hold_sms(Activity& activity, int sms, double time_us) {
  start_kernel(activity, holding_launch(sms, time_us, site_of(activity)));
}

/// What a channel of the collective library, or a CTA of the fused kernel, takes of its SM.
CtaShape SimulatedMachine::collective_cta(const Activity& activity) const {
  return match(
      activity.operation->work,
      [&](const AllReduceNorm&) {
        const FusedNormKernel& kernel = machine_.fused_norm_kernel.value();
        return CtaShape{kernel.threads_per_cta, kernel.threads_per_cta * kernel.registers_per_thread, 0};
      },
      [&](const OneOf<Gemm, GroupedGemm, Collective, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                      Signal, Wait, Barrier, Delay> auto&) {
        const CollectiveKernel& kernel = machine_.collective_kernel;
        return CtaShape{kernel.threads_per_cta, kernel.threads_per_cta * kernel.registers_per_thread,
                        kernel.shared_memory_per_cta};
      });
}

void SimulatedMachine::start_collective(Activity& activity) {
  const CollectiveTiming& timing = costs_[activity.id].collective;
  const auto key = std::pair{activity.iteration, activity.id};
  auto found = collectives_.find(key);
  if (found == collectives_.end()) {
    const CtaShape cta = collective_cta(activity);
    if (sm_layout_.capacity(cta, timing.cluster) < timing.ctas)
      throw InputError(activity.operation->name + ".cluster",
                       "expected room for " + std::to_string(timing.ctas) + " CTAs in clusters of " +
                           std::to_string(timing.cluster) + " on one GPU, which holds " +
                           std::to_string(sm_layout_.capacity(cta, timing.cluster)));
    found = collectives_.try_emplace(key, engine_, pool_, timing, cta, ranks(), transfers_of(activity)).first;
  }
  activity.limit = timing.latency_us > timing.transfer_us ? Limit::latency : Limit::link;
  activity.detail = std::to_string(timing.ctas) + " CTAs";
  const GpuState& gpu = gpus_[activity.rank];
  found->second.set_slowdown(collective_slowdown());
  found->second.arrive(activity, sms_for(activity),
                       gpu.running_gemms > 0 ? crowded_us(machine_.collective_kernel, timing) : 0);
}

/// A collective's bytes go over all links at one rate. Those of an exchange go over the links between their two ranks,
/// pair by pair: a rank's kernel moves the bytes of its peers in proportion, so that they end together, as fast as the
/// busiest port of the exchange would.
std::vector<Transfer> SimulatedMachine::transfers_of(const Activity& activity) {
  const CollectiveTiming& timing = costs_[activity.id].collective;
  const double hbm_bytes = costs_[activity.id].hbm_bytes_per_port_byte;
  const GroupedExchange* exchange = match(
      activity.operation->work, [](const GroupedExchange& one) { return &one; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) -> const GroupedExchange* { return nullptr; });
  if (exchange == nullptr) {
    std::vector<Use> uses = links_.collective_uses(timing.algorithm, schedule_.gpus, ranks() < schedule_.gpus);
    if (hbm_bytes > 0)
      for (const GpuState& gpu : gpus_) uses.push_back({gpu.hbm, hbm_bytes});
    return {{timing.port_bytes, timing.transfer_us, pool_.add_path(uses), {}}};
  }
  const auto bytes = [&](int source, int destination) {
    return static_cast<double>(pair_bytes(*exchange, source, destination, schedule_));
  };
  std::vector<double> out(gpus_.size(), 0), in(gpus_.size(), 0);
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      if (source == destination) continue;
      out[source] += bytes(source, destination);
      in[destination] += bytes(source, destination);
    }
  std::vector<Transfer> transfers;
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      if (source == destination || bytes(source, destination) == 0) continue;
      Transfer& pair = transfers.emplace_back();
      pair.bytes = bytes(source, destination);
      pair.alone_us = timing.transfer_us * std::max(out[source], in[destination]) / timing.port_bytes;
      pair.ranks = {source, destination};
      std::vector<Use> uses = links_.kernel_uses(source, destination, source, 1.0);
      if (hbm_bytes > 0) {
        uses.push_back({gpus_[source].hbm, hbm_bytes / 2});
        uses.push_back({gpus_[destination].hbm, hbm_bytes / 2});
      }
      pair.path = pool_.add_path(uses);
    }
  return transfers;
}

/// A collective is as slow as its slowest rank.
double SimulatedMachine::collective_slowdown() const {
  const CollectiveKernel& kernel = machine_.collective_kernel;
  double slowdown = 1;
  for (const GpuState& gpu : gpus_)
    if (gpu.running_gemms > 0)
      slowdown = std::max(slowdown, 1 + kernel.beside_gemm + kernel.memory_pressure * gpu.gemm_memory_load);
  return slowdown;
}

Hindrance SimulatedMachine::what_hinders(const Activity& activity) const {
  const auto kernel =
      std::find_if(kernels_.begin(), kernels_.end(), [&](const TiledKernel& one) { return one.owner == &activity; });
  if (kernel != kernels_.end()) return who_holds_sms(*kernel, activity.rank);
  const auto collective = collectives_.find({activity.iteration, activity.id});
  if (collective == collectives_.end()) return {};
  const int rank = collective->second.missing_rank(activity);
  if (rank == activity.rank) return who_holds_sms(*collective->second.grid_of(rank), rank);
  if (rank < 0) return {};
  return {"waits for the kernel of rank " + std::to_string(rank), rank, activity.id};
}

/// Nothing where all of its CTAs have an SM.
Hindrance SimulatedMachine::who_holds_sms(const Grid& grid, int rank) const {
  if (grid.unplaced == 0) return {};
  const Grid* other = gpus_[rank].sms.what_holds_back(grid);
  Hindrance hindrance{"needs SMs for " + std::to_string(grid.unplaced) + " CTAs", rank, -1};
  if (grid.cluster > 1) hindrance.what += " in clusters of " + std::to_string(grid.cluster);
  if (other == nullptr || other->owner == nullptr) return hindrance;
  hindrance.what += other->resident > 0 ? ", held by" : " and stands behind";
  hindrance.operation = other->owner->id;
  return hindrance;
}

void SimulatedMachine::count_gemm(int rank, int change, double memory_load) {
  GpuState& gpu = gpus_[rank];
  gpu.running_gemms += change;
  gpu.gemm_memory_load = gpu.running_gemms == 0 ? 0 : gpu.gemm_memory_load + change * memory_load;
  for (auto& [key, collective] : collectives_) collective.set_slowdown(collective_slowdown());
}

void SimulatedMachine::watch_gemm(Activity& activity) {
  GemmWatch& watch = watches_.emplace_back(GemmWatch{this, activity.rank, costs_[activity.id].memory_load});
  activity.first_cta_started.call_when_happened({[](void* context) {
                                                   const auto* started = static_cast<GemmWatch*>(context);
                                                   started->machine->count_gemm(started->rank, +1,
                                                                                started->memory_load);
                                                 },
                                                 &watch});
  activity.end.call_when_happened({[](void* context) {
                                     const auto* ended = static_cast<GemmWatch*>(context);
                                     ended->machine->count_gemm(ended->rank, -1, ended->memory_load);
                                   },
                                   &watch});
}

void SimulatedMachine::start_copy(Activity& activity, const Copy& copy) {
  if (copy.path == CopyPath::sms) return start_memory_bound(activity);
  activity.limit = Limit::copy_engine;
  CopyRun& run = copies_.emplace_back(CopyRun{this, &activity, &copy});
  if (!is_peer_copy(activity.operation->work)) return set_up_copy(run);
  gpus_[activity.rank].copy_engines.acquire(activity.operation->stream, {[](void* context) {
                                                                           auto* granted =
                                                                               static_cast<CopyRun*>(context);
                                                                           granted->machine->set_up_copy(*granted);
                                                                         },
                                                                         &run});
}

/// Its rows lie one after the other in memory.
bool SimulatedMachine::is_whole_rows(const Slice& slice) const {
  return slice.columns == schedule_.buffers[slice.buffer].columns || row_count(slice.rows, schedule_.gpus) == 1;
}

/// A copy within one GPU needs no engine: it starts as a kernel does.
void SimulatedMachine::set_up_copy(CopyRun& run) {
  run.activity->first_cta_started.happen(engine_);
  run.activity->all_ctas_started.happen(engine_);
  const bool is_local = !is_peer_copy(run.activity->operation->work);
  const weft::CopyEngines& engines = machine_.copy_engines;
  const double peer_setup_us =
      engines.setup_us + engines.setup_spread_us * lateness(run.activity->rank, run.activity->occasion);
  const double setup_us = is_local ? engines.local_setup_us : peer_setup_us;
  engine_.after(from_us(setup_us), {[](void* context) {
                                      auto* set_up = static_cast<CopyRun*>(context);
                                      set_up->machine->transfer(*set_up);
                                    },
                                    &run});
}

void SimulatedMachine::free_copy_engine(const Activity& activity) {
  if (!is_peer_copy(activity.operation->work)) return;
  CopyEngines& engines = gpus_[activity.rank].copy_engines;
  keeps_copy_engine_[activity.id] ? engines.keep_for(activity.operation->stream) : engines.release();
}

void SimulatedMachine::count_copy(const CopyRun& run, int change) {
  if (!is_peer_copy(run.activity->operation->work)) return;
  GpuState& gpu = gpus_[gpu_of(run.activity->rank, run.copy->destination.place)];
  gpu.copies_in += change;
  gpu.gemm_slowdown = gpu.copies_in > 0 ? 1 + machine_.gemm.beside_copies : 1;
}

void SimulatedMachine::transfer(CopyRun& run) {
  count_copy(run, +1);
  const int source = gpu_of(run.activity->rank, run.copy->source.place);
  const int destination = gpu_of(run.activity->rank, run.copy->destination.place);
  std::vector<Use> uses;
  double GBps = machine_.copy_engines.GBps;
  if (source == destination) {
    const bool is_contiguous = is_whole_rows(run.copy->source) && is_whole_rows(run.copy->destination);
    GBps = is_contiguous ? machine_.copy_engines.local_GBps : machine_.copy_engines.local_strided_GBps;
    uses = {{gpus_[source].hbm, 2.0}};
  } else {
    uses = links_.copy_uses(source, destination, run.activity->rank);
    uses.push_back({gpus_[source].hbm, 1.0});
    uses.push_back({gpus_[destination].hbm, 1.0});
  }
  const auto bytes = static_cast<double>(bytes_on_rank(run.copy->source, run.activity->rank, schedule_));
  if (source != destination)
    GBps /= 1 + machine_.copy_engines.speed_spread * (2 * throw_of(run.activity->rank, run.activity->occasion) - 1);
  pool_.start(bytes, bytes_per_us(GBps), pool_.add_path(uses),
              {[](void* context) {
                 auto* done = static_cast<CopyRun*>(context);
                 done->machine->count_copy(*done, -1);
                 done->machine->free_copy_engine(*done->activity);
                 done->activity->end.happen(done->machine->engine_);
               },
               &run});
}

}  // namespace weft::sim
