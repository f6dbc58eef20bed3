// Where overlap pays: the largest speedup over serial, by two sizes.
#pragma once

#include <string>

#include "scenarios/study/sweep_findings.hpp"

namespace weft::scenarios::report {

/// SVG: a panel for each machine, number of GPUs and op, x to the right and y upwards. The schedule of a cell is shown
/// under the pointer. `x`, `y`: keys of questions; an empty one is the first other key that varies. Throws InputError
/// where there are no two, and for a key that does not vary.
std::string heat_picture(study::SweepFindings& findings, std::string x, std::string y);

}  // namespace weft::scenarios::report
