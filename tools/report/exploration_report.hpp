// What weft explore prints of an exploration.
#pragma once

#include "scenarios/study/exploration.hpp"
#include "tools/report/report.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {

/// The schedules of the answers at `shown` (a size; 0: at every size), then who wins at which size. The JSON has all.
Report exploration_report(const study::Exploration& exploration, const scenarios::Scenario& scenario,
                          const Machine& machine, std::int64_t shown);

/// "tokens" of a model, or "rows".
std::string size_word(const scenarios::Scenario& scenario);

}  // namespace weft::tools::report
