#include "scenarios/study/inefficiency.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/schedule/facts.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/families/families.hpp"

namespace weft::scenarios::study {
namespace {

enum class Part { gemm, transfer, other };

Part part_of(const Work& work) {
  const Role role = facts(work).role;
  return role == Role::matrix ? Part::gemm : role == Role::communication ? Part::transfer : Part::other;
}

/// The schedule with its operations of some parts, none of which waits for one on another stream; transfers with its
/// barriers, at which those of all ranks begin together.
Schedule only(const Schedule& schedule, std::initializer_list<Part> parts) {
  const auto is_kept = [&](Part part) { return std::ranges::find(parts, part) != parts.end(); };
  Schedule alone = schedule;
  alone.meaning.reset();
  alone.operations.clear();
  for (const Operation& operation : schedule.operations) {
    const bool begins_transfers = is_kept(Part::transfer) && is_barrier(facts(operation.work));
    if (!is_kept(part_of(operation.work)) && !begins_transfers) continue;
    alone.operations.push_back(operation);
    alone.operations.back().after.clear();
  }
  return alone;
}

double covered_us(std::vector<std::pair<double, double>> spans) {
  std::sort(spans.begin(), spans.end());
  double covered = 0, end = 0;
  for (const auto& [from, to] : spans) {
    covered += std::max(0.0, to - std::max(from, end));
    end = std::max(end, to);
  }
  return covered;
}

}  // namespace

InefficiencyAccount::Times InefficiencyAccount::times_of(const Schedule& schedule, bool has_power_limit) const {
  const Trace trace =
      clock_(schedule, machine_, {.spans = true, .mechanisms = {.power = has_power_limit}, .given_us = {}});
  std::map<std::string, Part> parts;
  for (const Operation& operation : schedule.operations) parts[operation.name] = part_of(operation.work);
  Times times;
  std::vector<std::pair<double, double>> transfers;
  for (const Span& span : trace.spans) {
    if (span.gpu != 0) continue;
    if (parts.at(span.operation) == Part::gemm) times.gemm_us += span.end_us - span.start_us;
    if (parts.at(span.operation) == Part::transfer) transfers.emplace_back(span.start_us, span.end_us);
  }
  times.transfer_us = covered_us(std::move(transfers));
  return times;
}

InefficiencyAccount::Times InefficiencyAccount::alone(const Schedule& schedule, bool has_power_limit) const {
  return {times_of(only(schedule, {Part::gemm}), has_power_limit).gemm_us,
          times_of(only(schedule, {Part::transfer}), has_power_limit).transfer_us};
}

InefficiencyAccount::Times InefficiencyAccount::whole_of(const scenarios::Case& ficco) {
  Schedule undivided = families::build_undivided_ficco(ficco);
  undivided.name.clear();  // of the case
  const std::lock_guard lock(adding_);
  auto whole =
      std::find_if(wholes_.begin(), wholes_.end(), [&](const auto& known) { return known.first == undivided; });
  if (whole == wholes_.end()) whole = wholes_.insert(whole, {undivided, alone(undivided, false)});
  return whole->second;
}

Inefficiency InefficiencyAccount::of(const scenarios::Case& ficco) {
  const Schedule schedule = families::build(ficco, machine_);
  const Times whole = whole_of(ficco), together = times_of(schedule, false), parts = alone(schedule, false);
  return {.gemm_dil = parts.gemm_us / whole.gemm_us,
          .transfer_dil = parts.transfer_us / whole.transfer_us,
          .gemm_cil = together.gemm_us / parts.gemm_us,
          .transfer_cil = together.transfer_us / parts.transfer_us};
}

Contention InefficiencyAccount::without_waits(const scenarios::Case& ficco) const {
  const Schedule schedule = families::build(ficco, machine_);
  const Times together = times_of(only(schedule, {Part::gemm, Part::transfer}), true), parts = alone(schedule, true);
  return {together.gemm_us / parts.gemm_us, together.transfer_us / parts.transfer_us};
}

}  // namespace weft::scenarios::study
