#include "scenarios/families/build.hpp"

#include <utility>

#include "models/base/input_error.hpp"
#include "scenarios/families/collective_kernels.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios::families {
namespace {

void check_machine(const Case& request, const Machine& machine) {
  if (request.gpus > machine.gpus)
    throw InputError("gpus", "expected at most " + std::to_string(machine.gpus) + " on " + machine.name + ", got " +
                                 std::to_string(request.gpus));
  const auto is_fp8 = [](const auto& workload) {
    if constexpr (requires { workload.dtype; }) return workload.dtype == DataType::fp8;
    return false;
  };
  if (machine.gpu.fp8_speedup <= 0 && std::visit(is_fp8, request.workload))
    throw InputError("workload.dtype", "expected bf16 (" + machine.name + " has no fp8), got fp8");
  // What sharing a queue does was measured with CUDA alone.
  if (request.schedule.max_connections > 0 && machine.runtime != Runtime::cuda)
    throw InputError("schedule.max_connections", "expected none on " + machine.name + ", whose runtime is " +
                                                     std::string(name_of(machine.runtime)) + ", got " +
                                                     std::to_string(request.schedule.max_connections));
}

void pack(Schedule& schedule, const Slice& weights, double bits) {
  if (bits > 0) schedule.buffers[static_cast<std::size_t>(weights.buffer)].element_bits = bits;
}

/// Bits of a weight of GEMMs, and of experts'.
std::pair<double, double> weight_bits_of(const Workload& workload) {
  using Bits = std::pair<double, double>;
  return std::visit(Overloaded{[](const LayerWorkload& layer) {
                                 return Bits{layer.weight_bits, layer.expert_bits};
                               },
                               [](const OneOf<GemmWorkload, PairWorkload, ConcurrentPair> auto& asked) {
                                 return Bits{asked.weight_bits, 0};
                               },
                               [](const OneOf<CollectiveWorkload, CopyWorkload, AttentionWorkload,
                                              AttentionKernelWorkload, RowKernelWorkload> auto&) {
                                 return Bits{0, 0};
                               }},
                    workload);
}

/// Weights are stored as the workload says; a router's, which nobody packs, are so few that they go with the others.
void pack_weights(Schedule& schedule, const Workload& workload) {
  const auto [bits, expert_bits] = weight_bits_of(workload);
  for (const Operation& operation : schedule.operations)
    match(
        operation.work, [&, bits = bits](const Gemm& gemm) { pack(schedule, gemm.b, bits); },
        [&, bits = expert_bits](const GroupedGemm& gemm) { pack(schedule, gemm.b, bits); },
        [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                       Signal, Wait, Barrier, Delay> auto&) {});
}

}  // namespace

bool is_open(const ScheduleChoice& choice) { return rules_of(choice.family).is_open(choice.family); }

std::vector<ScheduleChoice> closed_choices(const Case& request, const Machine& machine) {
  check_sizes(request.workload, request.gpus);
  check_machine(request, machine);
  if (!is_open(request.schedule)) return {request.schedule};
  std::vector<ScheduleChoice> choices;
  for (Family& family : rules_of(request.schedule.family).searched(request, machine)) {
    choices.push_back(request.schedule);
    choices.back().family = std::move(family);
  }
  return choices;
}

Schedule build(const Case& request, const Machine& machine) {
  check_sizes(request.workload, request.gpus);
  check_machine(request, machine);
  if (is_open(request.schedule))
    throw InputError("schedule", "expected one without open choices, got " + describe(request.schedule));
  Schedule schedule = rules_of(request.schedule.family).build(request, machine);
  if (!request.schedule.urgent)
    for (Stream& stream : schedule.streams) stream.priority = 0;
  schedule.max_connections = request.schedule.max_connections;
  pack_weights(schedule, request.workload);
  return with_collectives(std::move(schedule), request.schedule.collectives);
}

}  // namespace weft::scenarios::families
