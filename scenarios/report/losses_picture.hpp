// Where the time of schedules goes, as a picture.
#pragma once

#include <string>
#include <vector>

#include "scenarios/study/losses.hpp"

namespace weft::scenarios::report {

/// SVG with one bar for each schedule, in their order: perfect overlap, then what was lost to each cause. Gains (parts
/// below zero) stand in the text at the end of the bar, which is longer than the schedule's time by as much.
std::string losses_picture(const std::string& title, const std::vector<study::NamedLosses>& schedules);

}  // namespace weft::scenarios::report
