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

ScheduleChoice with_searched_values(const Case& request, const Machine& machine) {
  ScheduleChoice choice = request.schedule;
  if (const auto* signaling = std::get_if<Signaling>(&choice.family); signaling && signaling->groups.empty())
    choice.family = searched_signaling(request, machine);
  if (const auto* split = std::get_if<TokenSplit>(&choice.family); split && !split->first)
    choice.family = searched_token_split(request, machine);
  return choice;
}

Schedule build(const Case& asked, const Machine& machine) {
  check_sizes(asked.workload, asked.gpus);
  check_machine(asked, machine);
  Case request = asked;
  request.schedule = with_searched_values(asked, machine);
  return std::visit(Overloaded{[&](const Serial&) { return build_serial(request); },
                               [&](const Decomposition&) { return build_decomposition(request); },
                               [&](const AsyncTp&) { return build_async_tp(request, machine); },
                               [&](const Concurrent&) { return build_concurrent(request); },
                               [&](const Signaling&) { return build_signaling(request, machine); },
                               [&](const Ficco&) { return build_ficco(request); },
                               [&](const TokenSplit&) { return build_token_split(request); },
                               [&](const Best&) -> Schedule {
                                 throw InputError(
                                     "schedule.family",
                                     "expected a family other than best, which is found by comparing the others");
                               }},
                    request.schedule.family);
}

}  // namespace weft::scenarios
