#include "scenarios/builders/build.hpp"

#include "models/input_error.hpp"
#include "scenarios/builders/families.hpp"

namespace weft::scenarios {
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
}

}  // namespace

Schedule build(const Case& request, const Machine& machine) {
  check_sizes(request.workload, request.gpus);
  check_machine(request, machine);
  const auto unavailable = [&](const auto&) -> Schedule {
    throw InputError("schedule.family", std::string(family_of(request.schedule)) + " is not available yet for " +
                                            std::string(op_of(request.workload)));
  };
  return std::visit(Overloaded{[&](const Serial&) { return build_serial(request); },
                               [&](const Decomposition&) { return build_decomposition(request); },
                               [&](const AsyncTp&) { return build_async_tp(request, machine); },
                               [&](const Concurrent&) { return build_concurrent(request); },
                               [&](const Ficco&) { return build_ficco(request); }, unavailable},
                    request.schedule.family);
}

}  // namespace weft::scenarios
