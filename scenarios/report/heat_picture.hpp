// Where overlap pays: the largest speedup over serial, by two sizes.
#pragma once

#include <string>
#include <vector>

#include "scenarios/study/sweep_findings.hpp"

namespace weft::scenarios::report {

/// SVG: a panel for each machine, number of GPUs and op, x to the right and y upwards. The schedule of a cell is shown
/// under the pointer. `cells` are ordered by group.
std::string heat_picture(const std::string& x, const std::string& y, const std::vector<study::HeatCell>& cells);

}  // namespace weft::scenarios::report
