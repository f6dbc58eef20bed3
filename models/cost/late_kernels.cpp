#include "models/cost/late_kernels.hpp"

#include <algorithm>

#include "models/schedule/facts.hpp"

namespace weft {

bool makes_kernels_late(const Schedule& schedule, const RunCondition& condition) {
  const auto on_copy_engine = [](const Operation& one) { return facts(one.work).runs_on_copy_engine; };
  const auto on_branch = [](const Operation& one) { return one.stream != 0; };
  const bool outside_of_graph = schedule.launch == Launch::eager || condition.warmed_on_all_streams ||
                                schedule.implementation != Implementation::weft;
  return outside_of_graph && std::ranges::any_of(schedule.operations, on_branch) &&
         std::ranges::none_of(schedule.operations, on_copy_engine);
}

}  // namespace weft
