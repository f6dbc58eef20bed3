#include "scenarios/families/build.hpp"

#include "models/base/input_error.hpp"
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
}

/// Of equally fast ones the first; the first as well where nobody can tell.
Family fastest(const std::vector<Family>& candidates, Case request, const TimeOfCase& time_us) {
  if (!time_us || candidates.size() == 1) return candidates.front();
  const Family* best = nullptr;
  double best_us = 0;
  for (const Family& candidate : candidates) {
    request.schedule.family = candidate;
    const double us = time_us(request);
    if (best == nullptr || us < best_us) best = &candidate, best_us = us;
  }
  return *best;
}

}  // namespace

ScheduleChoice with_searched_values(const Case& request, const Machine& machine, const TimeOfCase& time_us) {
  check_sizes(request.workload, request.gpus);
  check_machine(request, machine);
  ScheduleChoice choice = request.schedule;
  if (const FamilyRules& rules = rules_of(choice.family); rules.is_open(choice.family))
    choice.family = fastest(rules.searched(request, machine), request, time_us);
  return choice;
}

Schedule build(const Case& request, const Machine& machine) {
  Case settled = request;
  settled.schedule = with_searched_values(request, machine);
  Schedule schedule = rules_of(settled.schedule.family).build(settled, machine);
  if (!settled.schedule.urgent)
    for (Stream& stream : schedule.streams) stream.priority = 0;
  return schedule;
}

}  // namespace weft::scenarios::families
