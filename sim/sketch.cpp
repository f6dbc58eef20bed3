#include "sim/sketch.hpp"

#include <algorithm>

#include "models/cost/about_longest.hpp"
#include "models/schedule/amounts.hpp"
#include "sim/kernel_launch.hpp"

namespace weft::sim {
namespace {

/// From what it waits for to its first CTA.
double gap_us(const StreamOrder& order, OperationId id, const OperationCost& cost, const Machine& machine) {
  Picoseconds gap = order.root_offset(id, 0, 1);
  for (const StreamEdge& edge : order.edges(id)) gap = std::max(gap, edge.gap);
  const Schedule& schedule = order.schedule();
  const double setup_us = match(
      schedule.operations[id].work,
      [&](const Gemm& gemm) { return gemm_setup_us(gemm, cost.kernel, order.edges(id).empty(), schedule, machine); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return 0.0; });
  return to_us(gap) + setup_us;
}

/// Waits for others are left out.
double lone_us(const Schedule& schedule, OperationId id, const OperationCost& cost, const EnergyAtClock& energy,
               const Machine& machine) {
  if (cost.given_us >= 0) return cost.given_us;
  const double memory_us = cost.traffic.hbm_bytes / bytes_per_us(machine.gpu.hbm_GBps);
  return match(
      schedule.operations[id].work,
      [&](const OneOf<Gemm, GroupedGemm> auto&) {
        return about_longest({energy.lone_us, memory_us});
      },
      [&](const OneOf<Attention, PartialAttention> auto&) { return std::max(energy.lone_us, memory_us); },
      [&](const OneOf<Collective, AllReduceNorm, GroupedExchange> auto&) {
        return cost.collective.latency_us + cost.collective.transfer_us;
      },
      [&](const Copy& copy) {
        if (copy.source.place == copy.destination.place) return memory_us;
        return static_cast<double>(bytes_of(copy.source, schedule)) / bytes_per_us(machine.copy_engines.GBps);
      },
      [&](const MemoryBound&) {
        const MemoryBlocks blocks = memory_blocks(schedule.operations[id].work, cost, schedule, machine, 1);
        return std::max(blocks.block_us, memory_us * blocks.hbm_slowdown) + blocks.once_us;
      },
      [](const Delay& pause) { return pause.time_us; }, [](const OneOf<Signal, Wait, Barrier> auto&) { return 0.0; });
}

}  // namespace

Sketch one_after_the_other(const StreamOrder& order, const std::vector<OperationCost>& costs,
                           const IterationEnergy& energy, const Machine& machine, double clock_share, double least_us) {
  const std::vector<EnergyAtClock> energies = energy.of_each(clock_share);
  Sketch sketch;
  sketch.spans.reserve(costs.size());
  double end_us = 0;
  for (OperationId id = 0; id < order.operations(); ++id) {
    const double start_us = end_us + gap_us(order, id, costs[id], machine);
    end_us = start_us + lone_us(order.schedule(), id, costs[id], energies[id], machine);
    sketch.spans.push_back({start_us, end_us, energies[id].total_uJ, energy.is_on_tensor_cores(id)});
  }
  sketch.time_us = std::max(end_us + to_us(order.timing().iteration_gap), least_us);
  sketch.power_W = machine.power.idle_W + energy.total_uJ(clock_share) / sketch.time_us;
  return sketch;
}

}  // namespace weft::sim
