// Where the time of several schedules goes, side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/report/report.hpp"
#include "scenarios/study/losses.hpp"

namespace weft::scenarios::report {

inline constexpr std::int64_t least_shown_ps = 50'000;  ///< of a loss: 0.05 us, 0.1 in the table

/// A column for each schedule: perfect overlap, what each cause adds to it, and the time that they make. Causes that
/// cost none of them anything are left out.
weft::report::Section losses_table(const std::vector<study::NamedLosses>& schedules);

}  // namespace weft::scenarios::report
