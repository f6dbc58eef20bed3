#include "sim/regime.hpp"

#include <algorithm>

#include "models/schedule/facts.hpp"

namespace weft::sim {
namespace {

bool holds_ranks_together(const Work& work) {
  return match(
      work, [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Barrier, Wait> auto&) { return true; },
      [](const Gemm& gemm) { return ranks_meet(gemm); },
      [](const OneOf<GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Delay> auto&) {
        return false;
      });
}

/// Ranks that neither meet, at barriers, in collectives or in GEMMs, nor wait for each other's counters.
bool ranks_drift(const Schedule& schedule) {
  return std::none_of(schedule.operations.begin(), schedule.operations.end(),
                      [](const Operation& operation) { return holds_ranks_together(operation.work); });
}

}  // namespace

bool ranks_do_the_same(const Schedule& schedule, FabricKind fabric) {
  return treats_gpus_alike(fabric) && std::ranges::none_of(schedule.operations, [](const Operation& operation) {
           return facts(operation.work).differs_by_rank;
         });
}

Regime regime_of(const StreamOrder& order, int ranks) {
  const Schedule& schedule = order.schedule();
  if (order.timing().starts_first > 0) return Regime::racing;
  if (ranks == 1) return schedule.launch == Launch::graph ? Regime::from_rest : Regime::host_driven;
  if (ranks_drift(schedule)) return Regime::adrift;
  return schedule.launch == Launch::graph ? Regime::meeting : Regime::host_driven;
}

}  // namespace weft::sim
