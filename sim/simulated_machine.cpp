#include "sim/simulated_machine.hpp"

#include <algorithm>
#include <cmath>

#include "models/attention_model.hpp"
#include "models/exchange.hpp"
#include "models/gemm_model.hpp"
#include "models/grouped_gemm_model.hpp"
#include "models/input_error.hpp"
#include "models/reordering_cost.hpp"
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

std::string kernel_text(const GemmKernel& kernel, std::int64_t tiles, int ctas) {
  return std::to_string(kernel.tile_m) + "x" + std::to_string(kernel.tile_n) + "x" + std::to_string(kernel.tile_k) +
         (kernel.split_k > 1 ? " split-k " + std::to_string(kernel.split_k) : "") + ", " + std::to_string(tiles) +
         " tiles on " + std::to_string(ctas) + " CTAs";
}

/// What the kernel reaches of the HBM's rate on all SMs; kernels without a figure of their own are as fast as memory.
double share_of_hbm(const OtherKernels& kernels, const Work& work) {
  constexpr double any = 1e3;
  const auto* memory_bound = std::get_if<MemoryBound>(&work);
  if (memory_bound == nullptr) return any;
  switch (memory_bound->kernel) {
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
      return kernels.norm_share;
    case MemoryKernel::swiglu:
      return kernels.swiglu_share;
    case MemoryKernel::rotary:
      return kernels.rotary_share;
    default:
      return any;
  }
}

}  // namespace

SimulatedMachine::GpuState::GpuState(Engine& engine, const Machine& machine, FluidPool& pool,
                                     const Mechanisms& mechanisms)
    : sms(engine, machine.gpu),
      sms_of_collectives(engine, machine.gpu),
      copy_engines(engine, mechanisms.copy_engines ? machine.copy_engines.per_gpu : enough_copy_engines,
                   from_us(machine.copy_engines.turnaround_us)),
      hbm(pool.add_resource(bytes_per_us(machine.gpu.hbm_GBps) * (mechanisms.hbm ? 1 : unlimited))),
      l2(pool.add_resource(bytes_per_us(machine.gpu.l2_GBps) * (mechanisms.l2 ? 1 : unlimited))) {}

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
      pool_(engine),
      links_(pool_, machine.fabric, mechanisms.links),
      units_(engine, pool_, ranks) {
  for (int rank = 0; rank < ranks; ++rank) gpus_.emplace_back(engine, machine, pool_, mechanisms);
}

void SimulatedMachine::start(Activity& activity) {
  if (const double given_us = costs_[activity.id].given_us; given_us >= 0) return units_.start(activity, given_us);
  std::visit(
      Overloaded{
          [&](const Gemm& gemm) { start_gemm(activity, gemm); },
          [&](const GroupedGemm& gemm) { start_grouped_gemm(activity, gemm); },
          [&](const Collective&) { start_collective(activity); },
          [&](const AllReduceNorm&) { start_collective(activity); },
          [&](const GroupedExchange&) { start_collective(activity); },
          [&](const Copy& copy) { start_copy(activity, copy); },
          [&](const MemoryBound&) { start_memory_bound(activity); },
          [&](const Attention& attention) { start_attention(activity, attention); },
          [&](const PartialAttention& attention) { start_partial_attention(activity, attention); },
          [](const Signal&) {},
          [&](const Wait& wait) { hold_sms(activity, wait.held_sms, std::max(machine_.latencies.signal_us, 1e-3)); },
          [](const Barrier&) {}, [&](const Delay& delay) { hold_sms(activity, delay.held_sms, delay.time_us); }},
      activity.operation->work);
}

SmPool& SimulatedMachine::sms_for(const Activity& activity) {
  GpuState& gpu = gpus_[activity.rank];
  const Work& work = activity.operation->work;
  const bool is_apart = is_collective(work) || std::holds_alternative<Delay>(work);
  return is_apart && !mechanisms_.sm_sharing ? gpu.sms_of_collectives : gpu.sms;
}

void SimulatedMachine::start_tiled(Activity& activity, const CtaShape& cta, int cluster, int most_sms, TiledWork work) {
  TiledKernel& kernel = kernels_.emplace_back(engine_, sms_for(activity), pool_, activity, std::move(work));
  kernel.cta = cta;
  kernel.cluster = cluster;
  kernel.priority = activity.priority;
  kernel.most_sms = most_sms;
  kernel.start();
}

void SimulatedMachine::start_gemm(Activity& activity, const Gemm& gemm) {
  const GpuState& gpu = gpus_[activity.rank];
  const MatrixSize size = size_of(gemm, schedule_.gpus);
  const DataType dtype = schedule_.buffers[gemm.a.buffer].dtype;
  const GemmKernel& kernel = costs_[activity.id].kernel;
  const std::int64_t tiles = tile_count(size, kernel);
  const int cluster = kernel.cluster_m * kernel.cluster_n;
  const CtaShape cta = cta_of(kernel, dtype);
  const int at_once = gpu.sms.capacity(cta, cluster);
  if (at_once == 0)
    throw InputError(activity.operation->name + ".kernel",
                     "expected a tile and stages that fit one SM's shared memory");
  const int most = gemm.max_sms > 0 ? std::min(at_once, gemm.max_sms / cluster * cluster) : at_once;
  const int ctas = static_cast<int>(std::min<std::int64_t>(tiles, std::max(most, cluster)));

  // The profile's GEMMs are those of the slowest GPU; where all ranks are the same, it is the one that is simulated.
  const double faster = ranks() > 1 ? machine_.gpu.speed_spread * lateness(activity.rank, 0) : 0;
  const TileTiming timing = time_tile(machine_, size, kernel, dtype, clock_share_ * (1 + faster));
  const double tile_bytes = timing.l2_bytes;
  const MemoryTraffic& traffic = costs_[activity.id].traffic;
  std::vector<Use> uses{{gpu.l2, 1.0}};
  if (traffic.hbm_bytes > 0) uses.push_back({gpu.hbm, traffic.hbm_bytes / (tile_bytes * static_cast<double>(tiles))});
  if (gemm.c.place != 0) {
    const double stored = static_cast<double>(bytes_of(gemm.c, schedule_)) / (tile_bytes * static_cast<double>(tiles));
    const auto links = links_.kernel_uses(activity.rank, gpu_of(activity.rank, gemm.c.place), activity.rank, stored);
    uses.insert(uses.end(), links.begin(), links.end());
  }
  const GemmTiming& gemm_timing = machine_.gemm;
  const double reset_us = activity.is_root ? gemm_timing.root_counter_reset_us : gemm_timing.counter_reset_us;
  watch_gemm(activity);
  activity.limit = Limit::compute;
  activity.detail = kernel_text(kernel, tiles, ctas);
  start_tiled(activity, cta, cluster, kernel.scheduler == TileScheduler::grid ? gemm.max_sms : 0,
              {.scheduler = kernel.scheduler,
               .tiles = tiles,
               .ctas = ctas,
               .tile_us = timing.tile_us * (1 + gemm_reordering(machine_, schedule_.buffers[gemm.c.buffer].layout)),
               .bytes_per_tile = tile_bytes,
               .uses = std::move(uses),
               .setup_us = kernel.scheduler == TileScheduler::dynamic_persistent && !gemm.kernel ? reset_us : 0,
               .tail_us = gemm_timing.tile_spread * timing.tile_us,
               .epilogue_us = timing.once_us + split_k_reduction_us(machine_, size, kernel)});
}

CtaShape SimulatedMachine::cta_of(const GemmKernel& kernel, DataType dtype) const {
  return {machine_.gemm.threads_per_cta, machine_.gemm.threads_per_cta * machine_.gemm.registers_per_thread,
          kernel.stages * (kernel.tile_m + kernel.tile_n) * kernel.tile_k * bytes_of(dtype)};
}

void SimulatedMachine::start_grouped_gemm(Activity& activity, const GroupedGemm& gemm) {
  const GpuState& gpu = gpus_[activity.rank];
  const GroupedSize size = size_of(gemm, schedule_.gpus);
  const DataType dtype = schedule_.buffers[gemm.a.buffer].dtype;
  const GemmKernel& kernel = costs_[activity.id].kernel;
  const std::int64_t tiles = tile_count(size, kernel);
  const CtaShape cta = cta_of(kernel, dtype);
  const int at_once = gpu.sms.capacity(cta, 1);
  if (at_once == 0)
    throw InputError(activity.operation->name + ".kernel",
                     "expected a tile and stages that fit one SM's shared memory");
  const double faster = ranks() > 1 ? machine_.gpu.speed_spread * lateness(activity.rank, 0) : 0;  // as of a GEMM
  const TileTiming timing = time_tile(machine_, size, kernel, dtype, clock_share_ * (1 + faster));
  const auto all_tiles = static_cast<double>(tiles);
  std::vector<Use> uses{{gpu.l2, 1.0}};
  if (const double hbm_bytes = costs_[activity.id].traffic.hbm_bytes; hbm_bytes > 0)
    uses.push_back({gpu.hbm, hbm_bytes / (timing.l2_bytes * all_tiles)});
  watch_gemm(activity);
  activity.limit = Limit::compute;
  activity.detail = kernel_text(kernel, tiles, static_cast<int>(std::min<std::int64_t>(tiles, at_once)));
  start_tiled(activity, cta, 1, 0,
              {.scheduler = TileScheduler::grid,
               .tiles = tiles,
               .ctas = static_cast<int>(tiles),
               .tile_us = timing.tile_us,
               .bytes_per_tile = timing.l2_bytes,
               .uses = std::move(uses),
               .tail_us = machine_.gemm.tile_spread * timing.tile_us,
               .epilogue_us = timing.once_us});
}

/// What a channel of the collective library, or a CTA of the fused kernel, takes of its SM.
CtaShape SimulatedMachine::collective_cta(const Activity& activity) const {
  if (std::holds_alternative<AllReduceNorm>(activity.operation->work)) {
    const FusedNormKernel& kernel = machine_.fused_norm_kernel.value();
    return {kernel.threads_per_cta, kernel.threads_per_cta * kernel.registers_per_thread, 0};
  }
  const CollectiveKernel& kernel = machine_.collective_kernel;
  return {kernel.threads_per_cta, kernel.threads_per_cta * kernel.registers_per_thread, kernel.shared_memory_per_cta};
}

void SimulatedMachine::start_collective(Activity& activity) {
  const CollectiveTiming& timing = costs_[activity.id].collective;
  const auto key = std::pair{activity.iteration, activity.id};
  auto found = collectives_.find(key);
  if (found == collectives_.end()) {
    const CtaShape cta = collective_cta(activity);
    const GpuState& gpu = gpus_[activity.rank];
    if (gpu.sms.capacity(cta, timing.cluster) < timing.ctas)
      throw InputError(activity.operation->name + ".cluster",
                       "expected room for " + std::to_string(timing.ctas) + " CTAs in clusters of " +
                           std::to_string(timing.cluster) + " on one GPU, which holds " +
                           std::to_string(gpu.sms.capacity(cta, timing.cluster)));
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
  const auto* exchange = std::get_if<GroupedExchange>(&activity.operation->work);
  if (exchange == nullptr) {
    std::vector<Use> uses = links_.collective_uses(timing.algorithm, schedule_.gpus, ranks() < schedule_.gpus);
    if (hbm_bytes > 0)
      for (const GpuState& gpu : gpus_) uses.push_back({gpu.hbm, hbm_bytes});
    return {{timing.port_bytes, timing.transfer_us, std::move(uses), {}}};
  }
  const auto bytes = [&](int source, int destination) {
    return static_cast<double>(pair_bytes(*exchange, source, destination, schedule_));
  };
  std::vector<double> out(gpus_.size(), 0), in(gpus_.size(), 0);
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      out[source] += bytes(source, destination);
      in[destination] += bytes(source, destination);
    }
  std::vector<Transfer> transfers;
  for (int source = 0; source < ranks(); ++source)
    for (int destination = 0; destination < ranks(); ++destination) {
      if (bytes(source, destination) == 0) continue;
      Transfer& pair = transfers.emplace_back();
      pair.bytes = bytes(source, destination);
      pair.alone_us = timing.transfer_us * std::max(out[source], in[destination]) / timing.port_bytes;
      pair.ranks = {source, destination};
      pair.uses = links_.kernel_uses(source, destination, source, 1.0);
      if (hbm_bytes > 0) {
        pair.uses.push_back({gpus_[source].hbm, hbm_bytes / 2});
        pair.uses.push_back({gpus_[destination].hbm, hbm_bytes / 2});
      }
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
  if (!crosses_ranks(activity.operation->work)) return set_up_copy(run);
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
  const bool is_local = !crosses_ranks(run.activity->operation->work);
  const weft::CopyEngines& engines = machine_.copy_engines;
  const double peer_setup_us =
      engines.setup_us + engines.setup_spread_us * lateness(run.activity->rank, occasion_of(*run.activity));
  const double setup_us = is_local ? engines.local_setup_us : peer_setup_us;
  engine_.after(from_us(setup_us), {[](void* context) {
                                      auto* set_up = static_cast<CopyRun*>(context);
                                      set_up->machine->transfer(*set_up);
                                    },
                                    &run});
}

void SimulatedMachine::free_copy_engine(const Activity& activity) {
  if (!crosses_ranks(activity.operation->work)) return;
  CopyEngines& engines = gpus_[activity.rank].copy_engines;
  keeps_copy_engine_[activity.id] ? engines.keep_for(activity.operation->stream) : engines.release();
}

void SimulatedMachine::transfer(CopyRun& run) {
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
  const auto bytes = static_cast<double>(bytes_of(run.copy->source, schedule_));
  if (source != destination)
    GBps /= 1 + machine_.copy_engines.speed_spread * (2 * throw_of(run.activity->rank, occasion_of(*run.activity)) - 1);
  pool_.start(bytes, {bytes_per_us(GBps), std::move(uses)},
              {[](void* context) {
                 auto* done = static_cast<CopyRun*>(context);
                 done->machine->free_copy_engine(*done->activity);
                 done->activity->end.happen(done->machine->engine_);
               },
               &run});
}

/// Blocks of equal size, four for each SM, so that the kernel shares the SMs with others as grids do.
void SimulatedMachine::start_memory_bound(Activity& activity) {
  const GpuState& gpu = gpus_[activity.rank];
  const MemoryTraffic& traffic = costs_[activity.id].traffic;
  const std::int64_t tiles = 4 * gpu.sms.sms();
  const CtaShape cta{machine_.gpu.threads_per_sm / 4, machine_.gpu.registers_per_sm / 4, 0};
  const double bytes = std::max(1.0, traffic.touched_bytes);
  const double bytes_per_tile = bytes / static_cast<double>(tiles);
  const double hbm_share = traffic.hbm_bytes / bytes;
  const double sm_share = std::min(machine_.other_kernels.memory_share_per_sm,
                                   share_of_hbm(machine_.other_kernels, activity.operation->work) / gpu.sms.sms());
  const double sm_rate = bytes_per_us(machine_.gpu.hbm_GBps) * sm_share;
  std::vector<Use> uses{{gpu.l2, 1.0}};
  if (hbm_share > 0) uses.push_back({gpu.hbm, hbm_share});
  if (const auto* copy = std::get_if<Copy>(&activity.operation->work)) {
    const int source = gpu_of(activity.rank, copy->source.place),
              destination = gpu_of(activity.rank, copy->destination.place);
    if (source != destination) {
      // Bytes count the source and the destination.
      const auto links = links_.kernel_uses(source, destination, activity.rank, 0.5);
      uses.insert(uses.end(), links.begin(), links.end());
    }
  }
  activity.limit = Limit::hbm;
  start_tiled(activity, cta, 1, 0,
              {.scheduler = TileScheduler::grid,
               .tiles = tiles,
               .ctas = static_cast<int>(tiles),
               .tile_us = bytes_per_tile / (sm_rate / 4),
               .bytes_per_tile = bytes_per_tile,
               .uses = std::move(uses),
               .epilogue_us = machine_.other_kernels.overhead_us});
}

/// One CTA on each SM with all of its shared memory, so that none of another kernel fits beside it. Those
/// of a wait spin: they end once its counter has been reached too (Program::prepare).
void SimulatedMachine::hold_sms(Activity& activity, int sms, double time_us) {
  activity.limit = Limit::latency;
  start_tiled(activity, {machine_.gpu.threads_per_sm, machine_.gpu.registers_per_sm, machine_.gpu.shared_memory_per_sm},
              1, 0,
              {.scheduler = TileScheduler::grid,
               .tiles = sms,
               .ctas = sms,
               .tile_us = time_us,
               .bytes_per_tile = 1,
               .uses = {{gpus_[activity.rank].l2, 0.0}}});
}

double SimulatedMachine::persistent_attention_flops_per_us_of_sm() const {
  return machine_.gpu.tensor_flops_per_clock_per_sm * machine_.gpu.max_clock_MHz * clock_share_ *
         machine_.other_kernels.persistent_attention_efficiency;
}

/// Tiles of equal work, the mean of the rank's parts; a CTA takes a whole SM, as those of FlashAttention 3 nearly do
/// (3 warp groups of up to 240 registers a thread).
void SimulatedMachine::start_persistent_attention(Activity& activity, std::int64_t tiles, Flops flops, int max_sms) {
  const GpuState& gpu = gpus_[activity.rank];
  const int sms = max_sms > 0 ? std::min(max_sms, gpu.sms.sms()) : gpu.sms.sms();
  const MemoryTraffic& traffic = costs_[activity.id].traffic;
  const double bytes_per_tile = std::max(1.0, traffic.touched_bytes / static_cast<double>(tiles));
  std::vector<Use> uses{{gpu.l2, 1.0}};
  if (traffic.hbm_bytes > 0) uses.push_back({gpu.hbm, traffic.hbm_bytes / traffic.touched_bytes});
  activity.limit = Limit::compute;
  activity.detail = std::to_string(tiles) + " tiles on " + std::to_string(sms) + " SMs";
  const double tile_us = flops / static_cast<double>(tiles) / persistent_attention_flops_per_us_of_sm();
  start_tiled(activity, {machine_.gpu.threads_per_sm / 4, machine_.gpu.registers_per_sm, 0}, 1, 0,
              {.scheduler = TileScheduler::dynamic_persistent,
               .tiles = tiles,
               .ctas = static_cast<int>(std::min<std::int64_t>(sms, tiles)),
               .tile_us = std::max(tile_us, 1e-3),
               .bytes_per_tile = bytes_per_tile,
               .uses = std::move(uses),
               .epilogue_us = machine_.other_kernels.overhead_us});
}

void SimulatedMachine::start_partial_attention(Activity& activity, const PartialAttention& attention) {
  std::int64_t tiles = 0;
  for (const AttentionPart& part : attention.parts[activity.rank])
    tiles += (part.queries + attention_block - 1) / attention_block * attention.heads;
  start_persistent_attention(activity, std::max<std::int64_t>(tiles, 1), flops_of(attention, activity.rank),
                             attention.max_sms);
}

void SimulatedMachine::start_attention(Activity& activity, const Attention& attention) {
  const GpuState& gpu = gpus_[activity.rank];
  const std::int64_t tokens = row_count(attention.output.rows, schedule_.gpus);
  const AttentionTiming timing = time_attention(machine_, attention, tokens, clock_share_);
  if (attention.max_sms > 0)
    return start_persistent_attention(activity, timing.ctas, attention_flops(attention, tokens), attention.max_sms);
  const MemoryTraffic& traffic = costs_[activity.id].traffic;
  std::vector<Use> uses{{gpu.l2, 1.0}};
  if (traffic.hbm_bytes > 0) uses.push_back({gpu.hbm, traffic.hbm_bytes / traffic.touched_bytes});
  activity.limit = Limit::compute;
  activity.detail = std::to_string(timing.ctas) + " CTAs";
  start_tiled(activity,
              {machine_.gpu.threads_per_sm / 8, machine_.gpu.registers_per_sm, machine_.gpu.shared_memory_per_sm}, 1, 0,
              {.scheduler = TileScheduler::grid,
               .tiles = timing.ctas,
               .ctas = static_cast<int>(timing.ctas),
               .tile_us = timing.cta_us,
               .bytes_per_tile = std::max(1.0, traffic.touched_bytes / static_cast<double>(timing.ctas)),
               .uses = std::move(uses),
               .tail_us = timing.tail_us,
               .epilogue_us = timing.once_us});
}

}  // namespace weft::sim
