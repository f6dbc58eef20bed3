// What weft explore found: the verdict, from which size on each pattern pays, the ranking and why; or everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/report/report.hpp"
#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/grade.hpp"

namespace weft::scenarios::report {

struct ExplorationView {
  std::vector<study::Crossover> crossovers = {};
  study::Evidence evidence = {};  ///< of what is advised of the leading answer
  bool is_full = false;    ///< all schedules of all pairs, with the names that cases have, instead of the ranking
  std::int64_t shown = 0;  ///< of a full one: its size; 0: all
  bool is_wide = false;    ///< lines may have more than 100 characters
};

weft::report::Report exploration_report(const study::Exploration& exploration, const scenarios::Scenario& scenario,
                                        const Machine& machine, const ExplorationView& view);

/// ", assumed" behind the name of what is not advised for that; else nothing.
std::string mark_of(const scenarios::Candidate& candidate);

/// "tokens" or "rows".
std::string size_word(const scenarios::Scenario& scenario);

}  // namespace weft::scenarios::report
