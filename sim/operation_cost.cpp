#include "sim/operation_cost.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/cost/all_reduce_norm_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "models/cost/measured_gemms.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"
#include "sim/band_traffic.hpp"

namespace weft::sim {
namespace {

/// What a collective of the library takes that is not the only operation, with the cluster that was asked for. Kernels
/// of one's own take as long as alone (measured 2026-11-23, two-shot all-reduces and reduce-scatters behind GEMMs).
CollectiveTiming among_others(CollectiveTiming timing, bool by_library, int cluster, const Schedule& schedule,
                              const Machine& machine) {
  const CollectiveKernel& kernel = machine.collective_kernel;
  const double alone_us = timing.latency_us + timing.transfer_us;
  if (by_library && schedule.operations.size() > 1)
    timing.latency_us += std::min(alone_us * (kernel.cold_factor - 1), kernel.cold_most_us);
  if (cluster > 0) timing.cluster = cluster;
  return timing;
}

/// Of the equal collectives of a schedule each is looked for once. Refers to the machine.
class CollectiveTimings {
 public:
  explicit CollectiveTimings(const Machine& machine) : machine_(machine) {}
  /// As time_over().
  const CollectiveTiming& of(const Collective& work, int gpus, Bytes bytes) {
    const Key key{work.transport, work.kind, gpus, bytes, work.max_ctas};
    for (const auto& [known, timing] : known_)
      if (known == key) return timing;
    const CollectiveTiming timing = time_over(machine_, work.transport, work.kind, gpus, bytes, work.max_ctas);
    return known_.emplace_back(key, timing).second;
  }

 private:
  using Key = std::tuple<Transport, CollectiveKind, int, Bytes, int>;
  const Machine& machine_;
  std::vector<std::pair<Key, CollectiveTiming>> known_;
};

CollectiveTiming timing_of(const Collective& collective, const std::string& name, const Schedule& schedule,
                           const Machine& machine, CollectiveTimings& timings) {
  const Bytes bytes = bytes_of(full_slice(collective), schedule);
  const auto timing = [&] {
    try {
      return timings.of(collective, schedule.gpus, bytes);
    } catch (const InputError& error) {
      throw InputError(name + "." + error.field(), error.expected());
    }
  };
  return among_others(timing(), facts(collective).by_library, collective.cluster, schedule, machine);
}

/// As the all-to-all in which every rank sends as much as the busiest port of this exchange carries.
CollectiveTiming timing_of(const GroupedExchange& exchange, const Schedule& schedule, const Machine& machine) {
  return among_others(time_grouped_exchange(machine, exchange, schedule), facts(exchange).by_library, exchange.cluster,
                      schedule, machine);
}

CollectiveTiming timing_of(const AllReduceNorm& work, const std::string& name, const Schedule& schedule,
                           const Machine& machine) {
  try {
    return time_all_reduce_norm(machine, work.transport, work.ctas, schedule.gpus, bytes_of(work.partial, schedule));
  } catch (const InputError& error) {
    throw InputError(name + "." + error.field(), error.expected());
  }
}

/// Adds to the cost of an operation what depends on its kind.
class CostOf {
 public:
  CostOf(const Schedule& schedule, const Machine& machine, KernelChoices& choices, KnownGemms& gemms,
         CollectiveTimings& timings, const Operation& operation, OperationCost& cost, double touched_bytes)
      : schedule_(schedule),
        machine_(machine),
        choices_(choices),
        gemms_(gemms),
        timings_(timings),
        operation_(operation),
        cost_(cost),
        touched_bytes_(touched_bytes) {}

  void operator()(const Gemm& gemm) const {
    const DataType dtype = dtype_of_factors(gemm.a);
    const MatrixSize size = size_of(gemm, schedule_.gpus);
    cost_.kernel = gemm.kernel ? *gemm.kernel : choices_.of(size, dtype);
    const KnownGemm known = gemms_.of(size, cost_.kernel, dtype);
    cost_.factors = known.factors;
    cost_.factors.b_share = packed_share(gemm.b);
    cost_.signals = cost_.signals || !gemm.signals.empty();
    cost_.memory_load = memory_load(
        cost_.factors.b_share == 1
            ? known.formula_us
            : estimated_gemm_us(machine_, size, cost_.kernel,
                                tiles_of(machine_, size, cost_.kernel, dtype, {.b_share = cost_.factors.b_share})));
  }
  void operator()(const GroupedGemm& gemm) const {
    const GroupedSize size = size_of(gemm, schedule_.gpus);
    const DataType dtype = dtype_of_factors(gemm.a);
    cost_.kernel = gemm.kernel ? *gemm.kernel : choose_grouped_kernel(machine_, size, dtype);
    cost_.factors.b_share = packed_share(gemm.b);
    cost_.memory_load = memory_load(estimated_grouped_gemm_us(machine_, size, cost_.kernel, dtype, cost_.factors));
  }
  void operator()(const Collective& collective) const {
    cost_.collective = timing_of(collective, operation_.name, schedule_, machine_, timings_);
    cost_.hbm_bytes_per_port_byte = machine_.collective_kernel.hbm_bytes_per_port_byte;
  }
  void operator()(const AllReduceNorm& fused) const {
    cost_.collective = timing_of(fused, operation_.name, schedule_, machine_);
    cost_.hbm_bytes_per_port_byte = cost_.traffic.hbm_bytes / cost_.collective.port_bytes;
  }
  void operator()(const GroupedExchange& exchange) const {
    cost_.collective = timing_of(exchange, schedule_, machine_);
    cost_.hbm_bytes_per_port_byte = machine_.collective_kernel.hbm_bytes_per_port_byte;
  }
  void operator()(
      const OneOf<Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Barrier, Delay> auto&) const {}

 private:
  double memory_load(double time_us) const { return touched_bytes_ / time_us / bytes_per_us(machine_.gpu.hbm_GBps); }
  double packed_share(const Slice& slice) const {
    const Buffer& buffer = schedule_.buffers[slice.buffer];
    return is_packed(buffer) ? buffer.element_bits / static_cast<double>(8 * bytes_of(buffer.dtype)) : 1;
  }
  DataType dtype_of_factors(const Slice& slice) const {
    const DataType dtype = schedule_.buffers[slice.buffer].dtype;
    if (dtype == DataType::fp8 && machine_.gpu.fp8_speedup == 0)
      throw InputError(operation_.name + ".dtype", "expected one that " + machine_.name + " has, got fp8");
    return dtype;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  KernelChoices& choices_;
  KnownGemms& gemms_;
  CollectiveTimings& timings_;
  const Operation& operation_;
  OperationCost& cost_;
  double touched_bytes_;
};

}  // namespace

std::vector<OperationCost> operation_costs(const Schedule& schedule, const Machine& machine, bool l2_reuse) {
  const std::vector<MemoryTraffic> traffic = memory_traffic(schedule, machine);
  std::vector<OperationCost> costs(schedule.operations.size());
  KernelChoices choices(machine);
  KnownGemms gemms(machine);
  CollectiveTimings timings(machine);
  const bool is_beside_branches =
      machine.condition.library_on_branch && schedule.launch == Launch::graph && !has_library_on_branch(schedule);
  for (std::size_t id = 0; id < costs.size(); ++id) {
    const Operation& operation = schedule.operations[id];
    costs[id].traffic = traffic[id];
    const bool keeps = l2_reuse && machine.condition.timing.l2 != L2Before::cold;
    if (!keeps) {
      costs[id].traffic.hbm_bytes = traffic[id].own_bytes;
      costs[id].traffic.addend_hbm_bytes = traffic[id].addend_bytes;
    }
    for (const After& after : operation.after)
      if (after.point == Point::tile_group) costs[after.operation].signals = true;
    if (keeps) costs[id].traffic.hbm_bytes += bytes_read_again(schedule, static_cast<OperationId>(id), machine);
    match(operation.work,
          CostOf(schedule, machine, choices, gemms, timings, operation, costs[id], traffic[id].touched_bytes));
    if (is_beside_branches && facts(operation.work).by_library)
      costs[id].collective.latency_us += machine.latencies.beside_branches_us;
  }
  return costs;
}

}  // namespace weft::sim
