// calibration/odds.json, which tools/fit_odds writes: {"format": "weft.odds/1", "source", "widening", "strata":
// [{"family", "from_us", "shift", "slope", "scale", "cases"}], "residuals": [{"from_us", "quantiles"}]}.
#pragma once

#include <string_view>

#include "scenarios/study/odds.hpp"

namespace weft::scenarios::study {

/// Throws InputError that names the field, also where a class of times has no stratum "any" or no residuals.
RatioErrors ratio_errors_from_text(std::string_view json);

/// The file as it was when weft was built.
std::string_view shipped_odds_text();

}  // namespace weft::scenarios::study
