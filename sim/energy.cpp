#include "sim/energy.hpp"

#include "models/cost/gemm_model.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "models/schedule/amounts.hpp"

namespace weft::sim {
namespace {

/// What an operation needs besides its HBM traffic.
struct Demand {
  double gemm_busy_us = 0;  ///< of all SMs, at the maximum clock
  Flops bf16_flops = 0;     ///< an fp8 one costs as much less energy as it takes less time
  double link_pJ = 0;
};

class DemandOf {
 public:
  DemandOf(const Schedule& schedule, const Machine& machine, const OperationCost& cost)
      : schedule_(schedule), machine_(machine), cost_(cost) {}

  Demand operator()(const Gemm& gemm) const { return of_matrix(gemm, gemm.a); }
  Demand operator()(const GroupedGemm& gemm) const { return of_matrix(gemm, gemm.a); }
  Demand operator()(const OneOf<Attention, PartialAttention> auto& attention) const {
    return {.bf16_flops = tensor_flops(attention, schedule_.gpus)};
  }
  Demand operator()(const OneOf<Collective, AllReduceNorm, GroupedExchange> auto&) const {
    return {.link_pJ = machine_.power.collective_pJ_per_byte * cost_.collective.port_bytes};
  }
  Demand operator()(const Copy& copy) const {
    if (copy.source.place == copy.destination.place) return {};
    return {.link_pJ = machine_.power.copy_pJ_per_byte * static_cast<double>(bytes_of(copy.source, schedule_))};
  }
  Demand operator()(const OneOf<MemoryBound, Signal, Wait, Barrier, Delay> auto&) const { return {}; }

 private:
  template <class AnyGemm>
  Demand of_matrix(const AnyGemm& gemm, const Slice& operand) const {
    const auto size = size_of(gemm, schedule_.gpus);
    const DataType dtype = schedule_.buffers[operand.buffer].dtype;
    const TileTiming tile = time_tile(machine_, size, cost_.kernel, dtype);
    return {.gemm_busy_us = busy_us(machine_.gpu, tile_count(size, cost_.kernel), tile),
            .bf16_flops = size.flops() / machine_.gpu.speedup(dtype)};
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const OperationCost& cost_;
};

}  // namespace

double dynamic_energy_uJ(const Schedule& schedule, const Machine& machine, const std::vector<OperationCost>& costs) {
  const Power& power = machine.power;
  double energy_pJ = 0;
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const Demand demand = match(schedule.operations[id].work, DemandOf(schedule, machine, costs[id]));
    energy_pJ += power.gemm_W * 1e6 * demand.gemm_busy_us +  // 1 W us is 1e6 pJ
                 power.tensor_pJ_per_flop * demand.bf16_flops + power.hbm_pJ_per_byte * costs[id].traffic.hbm_bytes +
                 demand.link_pJ;
  }
  return energy_pJ * 1e-6;
}

double mean_power_W(const Power& power, double dynamic_energy_uJ, double time_us) {
  return power.idle_W + dynamic_energy_uJ / time_us;
}

}  // namespace weft::sim
