#include "scenarios/families/build.hpp"

#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"

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
template <class OneFamily>
OneFamily fastest(const std::vector<OneFamily>& candidates, Case request, const TimeOfCase& time_us) {
  if (!time_us || candidates.size() == 1) return candidates.front();
  const OneFamily* best = nullptr;
  double best_us = 0;
  for (const OneFamily& candidate : candidates) {
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
  if (const auto* signaling = std::get_if<Signaling>(&choice.family); signaling && signaling->groups.empty())
    choice.family = fastest(best_signalings(request, machine), request, time_us);
  if (const auto* split = std::get_if<TokenSplit>(&choice.family); split && !split->first)
    choice.family = fastest(best_token_splits(request, machine), request, time_us);
  if (const auto* staged = std::get_if<Staged>(&choice.family); staged && !staged->stages)
    choice.family = searched_stages(request, machine);
  return choice;
}

Schedule build(const Case& request, const Machine& machine) {
  Case settled = request;
  settled.schedule = with_searched_values(request, machine);
  return std::visit(Overloaded{[&](const Serial&) { return build_serial(settled); },
                               [&](const Decomposition&) { return build_decomposition(settled); },
                               [&](const AsyncTp&) { return build_async_tp(settled, machine); },
                               [&](const Concurrent&) { return build_concurrent(settled); },
                               [&](const Signaling&) { return build_signaling(settled, machine); },
                               [&](const Ficco&) { return build_ficco(settled); },
                               [&](const TokenSplit&) { return build_token_split(settled, machine); },
                               [&](const Hybrid&) { return build_hybrid(settled, machine); },
                               [&](const Staged&) { return build_staged(settled, machine); },
                               [&](const Best&) -> Schedule {
                                 throw InputError(
                                     "schedule.family",
                                     "expected a family other than best, which is found by comparing the others");
                               }},
                    settled.schedule.family);
}

}  // namespace weft::scenarios::families
