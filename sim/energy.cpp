#include "sim/energy.hpp"

#include "models/cost/attention_model.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "models/schedule/exchange.hpp"

namespace weft::sim {
namespace {

/// Operations, in those of bf16: an fp8 one costs as much less energy as it takes less time.
double flops_of(const Schedule& schedule, const Gpu& gpu, const Work& work) {
  const auto speedup = [&](const Slice& operand) {
    return schedule.buffers[operand.buffer].dtype == DataType::fp8 ? gpu.fp8_speedup : 1.0;
  };
  if (const auto* gemm = std::get_if<Gemm>(&work)) return size_of(*gemm, schedule.gpus).flops() / speedup(gemm->a);
  if (const auto* gemm = std::get_if<GroupedGemm>(&work))
    return size_of(*gemm, schedule.gpus).flops() / speedup(gemm->a);
  if (const auto* attention = std::get_if<Attention>(&work))
    return attention_flops(*attention, row_count(attention->output.rows, schedule.gpus));
  if (const auto* attention = std::get_if<PartialAttention>(&work)) return most_flops_of(*attention);
  return 0;
}

/// At the maximum clock; 0 where it is no GEMM.
double gemm_busy_us(const Schedule& schedule, const Machine& machine, const Work& work, const GemmKernel& kernel) {
  if (const auto* grouped = std::get_if<GroupedGemm>(&work)) {
    const GroupedSize size = size_of(*grouped, schedule.gpus);
    const TileTiming tile = time_tile(machine, size, kernel, schedule.buffers[grouped->a.buffer].dtype);
    return busy_us(machine.gpu, tile_count(size, kernel), tile);
  }
  const auto* gemm = std::get_if<Gemm>(&work);
  if (gemm == nullptr) return 0;
  const MatrixSize size = size_of(*gemm, schedule.gpus);
  const TileTiming tile = time_tile(machine, size, kernel, schedule.buffers[gemm->a.buffer].dtype);
  return busy_us(machine.gpu, tile_count(size, kernel), tile);
}

double link_energy_pJ(const Schedule& schedule, const Power& power, const Work& work, const OperationCost& cost) {
  if (const auto* copy = std::get_if<Copy>(&work); copy != nullptr && copy->source.place != copy->destination.place)
    return power.copy_pJ_per_byte * static_cast<double>(bytes_of(copy->source, schedule));
  return power.collective_pJ_per_byte * cost.collective.port_bytes;  // 0 where it is no collective
}

}  // namespace

double dynamic_energy_uJ(const Schedule& schedule, const Machine& machine, const std::vector<OperationCost>& costs) {
  const Power& power = machine.power;
  double energy_pJ = 0;
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const Work& work = schedule.operations[id].work;
    energy_pJ += power.gemm_W * 1e6 * gemm_busy_us(schedule, machine, work, costs[id].kernel) +  // 1 W us is 1e6 pJ
                 power.tensor_pJ_per_flop * flops_of(schedule, machine.gpu, work) +
                 power.hbm_pJ_per_byte * costs[id].traffic.hbm_bytes + link_energy_pJ(schedule, power, work, costs[id]);
  }
  return energy_pJ * 1e-6;
}

double mean_power_W(const Power& power, double dynamic_energy_uJ, double time_us) {
  return power.idle_W + dynamic_energy_uJ / time_us;
}

}  // namespace weft::sim
