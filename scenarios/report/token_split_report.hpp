// The token split and the CTAs that are the fastest for each number of tokens.
#pragma once

#include <string>
#include <vector>

#include "models/report/report.hpp"
#include "scenarios/study/token_split_table.hpp"

namespace weft::scenarios::report {

/// A row for each number of tokens. The JSON is weft.token_split_table/1. `model`: where the layer comes from.
weft::report::Report token_split_report(const std::vector<study::TableRow>& rows, const study::TableQuestion& question,
                                        const std::string& model, const Machine& machine);

}  // namespace weft::scenarios::report
