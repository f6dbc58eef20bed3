#include "sim/simulated_machine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "models/base/input_error.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/hardware_queues.hpp"
#include "sim/copy_order.hpp"

namespace weft::sim {
namespace {

constexpr int enough_copy_engines = 1 << 20;

double hbm_GBps(const Machine& machine, const Mechanisms& mechanisms) {
  return machine.gpu.hbm_GBps * (mechanisms.hbm ? 1 : more_than_enough);
}

/// A channel begins when the last GPU has an SM for it, and the more there are the later that is: with two it is
/// `crowded`, with every doubling as much again.
double crowded_us(const CollectiveKernel& kernel, const CollectiveTiming& timing, int gpus) {
  const double latencies = (timing.latency_us + timing.transfer_us) / timing.latency_us;
  const int doublings = std::bit_width(static_cast<unsigned>(gpus)) - 1;
  return kernel.crowded_us * doublings * std::clamp((latencies - 2) / 2, 0.0, 1.0);
}

}  // namespace

SimulatedMachine::GpuState::GpuState(Engine& engine, const Machine& machine, FluidPool& pool, SmPlacement& placement,
                                     const Mechanisms& mechanisms, double turnaround_us)
    : sms(engine, placement),
      copy_engines(engine, mechanisms.copy_engines ? machine.copy_engines.per_gpu : enough_copy_engines,
                   from_us(turnaround_us)),
      hbm(pool.add_resource(bytes_per_us(hbm_GBps(machine, mechanisms)))),
      l2(pool.add_resource(bytes_per_us(machine.gpu.l2_GBps) * (mechanisms.l2 ? 1 : more_than_enough))),
      peer_access(peer_kernel_GBps(machine) > 0 ? pool.add_resource(bytes_per_us(peer_kernel_GBps(machine))) : -1) {
  if (!mechanisms.sm_sharing) sms_of_collectives.emplace(engine, placement);
}

void SimulatedMachine::GpuState::restart() {
  copy_engines.restart();
  pulls_in = pushes_in = running_gemms = 0;
  gemm_slowdown = 1;
  gemm_memory_load = 0;
}

SimulatedMachine::SimulatedMachine(Engine& engine, const Machine& machine, const Schedule& schedule,
                                   const std::vector<OperationCost>& costs, int ranks, const Mechanisms& mechanisms)
    : engine_(engine),
      machine_(machine),
      schedule_(schedule),
      costs_(costs),
      mechanisms_(mechanisms),
      is_peer_copy_(peer_copies(schedule)),
      keeps_copy_engine_(keeps_copy_engine(schedule)),
      sms_(KnownSms::of_thread(machine.gpu)),
      pool_(engine),
      links_(pool_, machine.fabric, schedule.gpus, mechanisms.links),
      units_(engine, pool_, ranks),
      prepared_(static_cast<std::size_t>(ranks) * costs.size()),
      transfers_(costs.size()) {
  const CopyEngines& engines = machine.copy_engines;
  const double between_streams_us = branches_share_queue(schedule) ? 0 : engines.stream_turnaround_us;
  for (int rank = 0; rank < ranks; ++rank)
    gpus_.push_back(std::make_unique<GpuState>(engine, machine, pool_, sms_->placement, mechanisms,
                                               engines.turnaround_us + between_streams_us));
  lasting_resources_ = pool_.resources();
}

void SimulatedMachine::restart(const ClockShares& clock) {
  clock_ = clock;
  pool_.restart(lasting_resources_);
  links_.restart();
  units_.restart();
  for (const std::unique_ptr<GpuState>& gpu : gpus_) gpu->restart();
  for (Prepared& one : prepared_) {
    one.is_for_this_clock = false;
    one.copy.path = -1;
  }
  for (Transfers& transfers : transfers_) transfers.clear();
  collectives_.clear();
  collectives_under_way_.clear();
}

UnitLoads SimulatedMachine::loads(int rank) const {
  const GpuState& gpu = *gpus_[rank];
  UnitLoads loads{.busy_sms = gpu.sms.busy_sms(),
                  .hbm_GBps = pool_.load(gpu.hbm) / bytes_per_us(1),
                  .in_GBps = links_.load_in(rank) / bytes_per_us(1),
                  .out_GBps = links_.load_out(rank) / bytes_per_us(1),
                  .copy_engines = gpu.copy_engines.busy()};
  std::set<int> moving;
  int resident = 0;
  for (const Grid* grid : gpu.sms.holding()) {
    if (grid->owner == nullptr || facts(grid->owner->operation->work).role != Role::communication) continue;
    resident += grid->resident;
    for (const SmListPointer& list : grid->lists) moving.insert(list->sms.begin(), list->sms.end());
  }
  loads.transfer_sms = std::min({static_cast<int>(moving.size()), resident, loads.busy_sms});
  return loads;
}

void SimulatedMachine::do_nothing(Activity& activity) {
  activity.first_cta_started.happen(engine_);
  activity.all_ctas_started.happen(engine_);
  for (Occurrence& group : activity.tile_groups) group.happen(engine_);
  activity.finish_stores(engine_);
}

void SimulatedMachine::start(Activity& activity) {
  if (has_no_rows(activity.operation->work, activity.rank, schedule_.gpus)) return do_nothing(activity);
  if (const double given_us = costs_[activity.id].given_us; given_us >= 0) return units_.start(activity, given_us);
  match(
      activity.operation->work, [&](const Gemm& gemm) { start_gemm(activity, gemm); },
      [&](const GroupedGemm& gemm) {
        start_matrix_kernel(
            activity, [&] { return grouped_gemm_launch(gemm, site_of(activity)); }, never_adapts);
      },
      [&](const Collective&) { start_collective(activity); }, [&](const AllReduceNorm&) { start_collective(activity); },
      [&](const GroupedExchange&) { start_collective(activity); },
      [&](const Copy& copy) { start_copy(activity, copy); },
      [&](const MemoryBound&) { start_memory_bound(activity, false); },
      [&](const Attention& attention) {
        start_kernel(
            activity, [&] { return attention_launch(attention, site_of(activity)); }, never_adapts);
      },
      [&](const PartialAttention& attention) {
        start_kernel(
            activity, [&] { return partial_attention_launch(attention, site_of(activity)); }, never_adapts);
      },
      [&](const Signal& signal) { start_word(activity, signal); },
      [&](const Wait& wait) { hold_sms(activity, wait.held_sms, machine_.latencies.signal_us); }, [](const Barrier&) {},
      [&](const Delay& delay) { hold_sms(activity, delay.held_sms, delay.time_us); });
}

void SimulatedMachine::admit(Activity& activity, int priority) {
  std::unique_ptr<WaitingCta>& cta = prepared(activity).waiting;
  if (cta == nullptr)
    cta = std::make_unique<WaitingCta>(engine_, sms_for(activity),
                                       CtaShape{.shared_memory = machine_.gpu.shared_memory_reserve},
                                       [](Activity& placed, Engine& engine) {
                                         placed.first_cta_started.happen(engine);
                                         placed.all_ctas_started.happen(engine);
                                       });
  cta->wait_for_room(activity, priority);
}

/// Its one warp has 16 registers a thread, in one of the four parts of an SM, which kernels of many warps leave alike:
/// the library's GEMMs, of 384 threads with 168 registers each, leave 256 of a part's 16,384. Recorded on H200s.
void SimulatedMachine::tell_start(Activity& follower) {
  constexpr int parts = 4, registers_of_warp = 16 * 32;
  std::unique_ptr<WaitingCta>& cta = prepared(follower).telling;
  if (cta == nullptr)
    cta = std::make_unique<WaitingCta>(
        engine_, sms_for(follower),
        CtaShape{.registers = parts * registers_of_warp, .shared_memory = machine_.gpu.shared_memory_reserve},
        [this](Activity& placed, Engine& engine) {
          placed.start_told.happen(engine);
          prepared(placed).telling->leave();
        });
  cta->wait_for_room(follower, 0);
}

void SimulatedMachine::dismiss(Activity& activity) { prepared(activity).waiting->leave(); }

double SimulatedMachine::copies_on_their_way() const {
  int copies = 0;
  for (const std::unique_ptr<GpuState>& gpu : gpus_) copies += gpu->pulls_in + gpu->pushes_in;
  return std::min(1.0, static_cast<double>(copies) / ranks());
}

SmPool& SimulatedMachine::sms_for(const Activity& activity) {
  GpuState& gpu = *gpus_[activity.rank];
  const bool is_apart = match(
      activity.operation->work,
      [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Delay> auto&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Barrier> auto&) {
        return false;
      });
  return is_apart && !mechanisms_.sm_sharing ? *gpu.sms_of_collectives : gpu.sms;
}

LaunchSite SimulatedMachine::site_of(const Activity& activity) {
  const GpuState& gpu = *gpus_[activity.rank];
  return {.activity = activity,
          .machine = machine_,
          .schedule = schedule_,
          .cost = costs_[activity.id],
          .sms = sms_->layout,
          .links = links_,
          .hbm = gpu.hbm,
          .l2 = gpu.l2,
          .peer_access = gpu.peer_access,
          .hbm_GBps = hbm_GBps(machine_, mechanisms_),
          .ranks = ranks(),
          .clock_share = std::min(clock_.of(activity.id), machine_.power.tensor_clock),
          .share_between = clock_.between,
          .tile = prepared(activity).tile,
          .with_detail = with_details_};
}

/// `adapts` makes what was prepared at another clock right for this one; false: it has to be launched anew.
template <class Launch, class Adapts>
void SimulatedMachine::start_kernel(Activity& activity, const Launch& launch, const Adapts& adapts) {
  Prepared& one = prepared(activity);
  if (!std::exchange(one.is_for_this_clock, true) && (one.kernel == nullptr || !adapts(one)))
    prepare_kernel(one, activity, launch());
  activity.limit = one.limit;
  activity.detail = one.detail;
  one.kernel->start(activity);
}

void SimulatedMachine::prepare_kernel(Prepared& one, const Activity& activity, KernelLaunch&& launch) {
  one.limit = launch.limit;
  one.detail = std::move(launch.detail);
  if (one.kernel != nullptr) return one.kernel->change_work(std::move(launch.work));
  one.kernel = std::make_unique<TiledKernel>(engine_, sms_for(activity), pool_, std::move(launch.work),
                                             tile_groups(activity.operation->work));
  one.kernel->cta = launch.cta;
  one.kernel->cluster = launch.cluster;
  one.kernel->priority = activity.priority;
  one.kernel->most_sms = launch.most_sms;
}

template <class Launch, class Adapts>
void SimulatedMachine::start_matrix_kernel(Activity& activity, const Launch& launch, const Adapts& adapts) {
  GemmWatch& watch = prepared(activity).watch;
  watch = {this, activity.rank, costs_[activity.id].memory_load};
  activity.first_cta_started.call_when_happened(waiter_for<&GemmWatch::begin>(&watch));
  activity.end.call_when_happened(waiter_for<&GemmWatch::end>(&watch));
  start_kernel(
      activity,
      [&] {
        KernelLaunch beside_copies = launch();
        beside_copies.work.slowdown = &gpus_[activity.rank]->gemm_slowdown;
        return beside_copies;
      },
      adapts);
}

void SimulatedMachine::start_gemm(Activity& activity, const Gemm& gemm) {
  start_matrix_kernel(
      activity, [&] { return gemm_launch(gemm, site_of(activity)); },
      [&](Prepared& one) {
        if (one.kernel->uses_links()) return false;
        one.kernel->adapt_work([&](TiledWork& work) { one.limit = set_gemm_times(work, gemm, site_of(activity)); });
        return true;
      });
}

/// Links are other resources each time, which a copy may use.
void SimulatedMachine::start_memory_bound(Activity& activity, bool uses_links) {
  start_kernel(
      activity, [&] { return memory_bound_launch(activity.operation->work, site_of(activity)); },
      [&](const Prepared& one) {
        if (uses_links) return false;
        one.kernel->adapt_work([&](TiledWork& work) { set_memory_bound_times(work, site_of(activity)); });
        return true;
      });
}

void SimulatedMachine::hold_sms(Activity& activity, int sms, double time_us) {
  start_kernel(
      activity, [&] { return holding_launch(sms, time_us, site_of(activity)); },
      [](const Prepared& one) {
        one.kernel->adapt_work([](const TiledWork&) {});
        return true;
      });
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
  CollectiveRun& run = collective_run(activity);
  activity.limit = timing.latency_us > timing.transfer_us ? Limit::latency : Limit::link;
  if (timing.ctas == 0) {
    push_to_all(activity, run);
    return;
  }
  if (with_details_) activity.detail = std::to_string(timing.ctas) + " CTAs";
  const bool meets_gemm = runs_gemm(activity.rank);
  run.set_slowdown(collective_slowdown(timing));
  run.arrive(activity, sms_for(activity),
             meets_gemm ? crowded_us(machine_.collective_kernel, timing, schedule_.gpus) : 0);
}

/// A collective by copy engines: each rank pushes to all others, so as many pushes arrive. They share the links with
/// other copies, and wait for none: each rank's first wait for all ranks in front of the engines.
void SimulatedMachine::push_to_all(Activity& activity, CollectiveRun& run) {
  if (with_details_) activity.detail = "copy engines";
  count_copy(activity.rank, true, +1);
  PushWatch& pushes = prepared(activity).pushes;
  pushes = {this, activity.rank};
  activity.end.call_when_happened(waiter_for<&PushWatch::end>(&pushes));
  run.arrive(activity);
}

/// That of all ranks in this iteration.
CollectiveRun& SimulatedMachine::collective_run(const Activity& activity) {
  const std::pair key{activity.iteration, activity.id};
  if (const auto found = collectives_.find(key); found != collectives_.end()) return found->second;
  const CollectiveTiming& timing = costs_[activity.id].collective;
  const CtaShape cta = collective_cta(activity);
  if (const int most = sms_->layout.capacity(cta, timing.cluster); most < timing.ctas)
    throw InputError(activity.operation->name + ".cluster",
                     "expected room for " + std::to_string(timing.ctas) + " CTAs in clusters of " +
                         std::to_string(timing.cluster) + " on one GPU, which holds " + std::to_string(most));
  Transfers& transfers = transfers_[activity.id];
  if (transfers.empty()) transfers = transfers_of(activity);
  const auto added = collectives_.try_emplace(key, engine_, pool_, timing, cta, ranks(), transfers).first;
  const auto key_of = [](const auto& one) { return one->first; };
  collectives_under_way_.insert(std::ranges::upper_bound(collectives_under_way_, key, {}, key_of), added);
  return added->second;
}

Transfers SimulatedMachine::transfers_of(const Activity& activity) {
  return match(
      activity.operation->work,
      [&](const GroupedExchange& exchange) { return transfers_of_exchange(exchange, activity.id); },
      [&](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention,
                      Signal, Wait, Barrier, Delay> auto&) { return transfers_of_collective(activity.id); });
}

/// A collective's bytes go over all links at one rate.
Transfers SimulatedMachine::transfers_of_collective(OperationId id) {
  const CollectiveTiming& timing = costs_[id].collective;
  Uses uses = links_.collective_uses(timing.algorithm, ranks() < schedule_.gpus);
  if (const double hbm_bytes = costs_[id].hbm_bytes_per_port_byte; hbm_bytes > 0)
    for (const std::unique_ptr<GpuState>& gpu : gpus_) uses.push_back({gpu->hbm, hbm_bytes});
  return {{timing.port_bytes, timing.transfer_us, pool_.add_path(uses)}};
}

/// Those of an exchange go over the links between their two ranks, pair by pair: a rank's kernel moves the bytes of its
/// peers in proportion, so that they end together, as fast as the busiest port of the exchange would.
Transfers SimulatedMachine::transfers_of_exchange(const GroupedExchange& exchange, OperationId id) {
  const CollectiveTiming& timing = costs_[id].collective;
  const double hbm_bytes = costs_[id].hbm_bytes_per_port_byte;
  const auto bytes = [&](int source, int destination) {
    return static_cast<double>(pair_bytes(exchange, source, destination, schedule_));
  };
  std::vector<double> out(gpus_.size(), 0), in(gpus_.size(), 0);
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      if (source == destination) continue;
      out[source] += bytes(source, destination);
      in[destination] += bytes(source, destination);
    }
  Transfers transfers;
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      if (source == destination || bytes(source, destination) == 0) continue;
      Uses uses = links_.kernel_uses(source, destination, source, 1.0);
      if (hbm_bytes > 0)
        for (const int gpu : {source, destination}) uses.push_back({gpus_[gpu]->hbm, hbm_bytes / 2});
      transfers.push_back({bytes(source, destination),
                           timing.transfer_us * std::max(out[source], in[destination]) / timing.port_bytes,
                           pool_.add_path(uses), source, destination});
    }
  return transfers;
}

/// A collective is as slow as its slowest rank. Kernels of one's own that add up peers' memory are as fast as the SMs'
/// clock, however many CTAs they have: with no tensor core at work it is on its way up, halfway between (measured
/// 2026-11-23, 24 all-reduces of 4 to 24 CTAs behind GEMMs, H100). The library's hardly slow down with it, and of those
/// in the switch it is not known.
double SimulatedMachine::collective_slowdown(const CollectiveTiming& timing) const {
  if (timing.ctas == 0) return 1;
  const CollectiveKernel& kernel = machine_.collective_kernel;
  const auto has_gemm = [](const std::unique_ptr<GpuState>& gpu) { return gpu->running_gemms > 0; };
  if (timing.beside_gemm_us > 0) {
    const double clock = timing.algorithm == CollectiveAlgorithm::in_switch ? 1 : clock_.at_work;
    const bool is_beside_gemm = std::any_of(gpus_.begin(), gpus_.end(), has_gemm);
    if (is_beside_gemm) return timing.beside_gemm_us / timing.transfer_us / clock;
    return 1 / (machine_.condition.holds_clock() ? clock : std::sqrt(clock));
  }
  double slowdown = 1;
  for (const std::unique_ptr<GpuState>& gpu : gpus_)
    if (has_gemm(gpu))
      slowdown = std::max(slowdown, 1 + kernel.beside_gemm + kernel.memory_pressure * gpu->gemm_memory_load);
  return slowdown;
}

Hindrance SimulatedMachine::what_hinders(const Activity& activity) const {
  const Prepared& one = prepared_[static_cast<std::size_t>(activity.rank) * costs_.size() + activity.id];
  if (one.kernel != nullptr && one.kernel->owner == &activity) return who_holds_sms(*one.kernel, activity.rank);
  if (one.waiting != nullptr && one.waiting->owner == &activity) return who_holds_sms(*one.waiting, activity.rank);
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
  const Grid* other = gpus_[rank]->sms.what_holds_back(grid);
  Hindrance hindrance{"needs SMs for " + std::to_string(grid.unplaced) + " CTAs", rank, -1};
  if (grid.cluster > 1) hindrance.what += " in clusters of " + std::to_string(grid.cluster);
  if (other == nullptr || other->owner == nullptr) return hindrance;
  hindrance.what += other->resident > 0 ? ", held by" : " and stands behind";
  hindrance.operation = other->owner->id;
  return hindrance;
}

void SimulatedMachine::count_gemm(int rank, int change, double memory_load) {
  GpuState& gpu = *gpus_[rank];
  gpu.running_gemms += change;
  gpu.gemm_memory_load = gpu.running_gemms == 0 ? 0 : gpu.gemm_memory_load + change * memory_load;
  std::erase_if(collectives_under_way_, [](const auto& one) { return one->second.has_ended(); });
  for (const auto& one : collectives_under_way_)
    one->second.set_slowdown(collective_slowdown(costs_[one->first.second].collective));
}

}  // namespace weft::sim
