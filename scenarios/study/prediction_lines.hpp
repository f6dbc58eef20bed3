// Cases as lines of JSON, and their results as such lines.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>

#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "models/machine/profile_grades.hpp"
#include "scenarios/study/clock.hpp"

namespace weft::scenarios::study {

struct LineOptions {
  /// Folder that takes each case's schedule as ID.json; empty: none are written. There, a case whose id stood before is
  /// one that cannot be answered.
  std::filesystem::path schedules = {};
  std::function<void()> on_answer = nullptr;  ///< after each line, on any thread; may be empty
  std::optional<ProfileGrades> grades = {};   ///< of the machine's profile: answers then have a grade (grade.hpp)
  MixClock clock_of_mix_MHz = nullptr;        ///< cases take turns (in_turn.hpp), for which all are read first
};

/// One case a line in, one result a line out, in the order of the cases; empty lines are skipped. What has arrived is
/// answered before more is waited for, so that a program can ask line by line; up to 256 results are written at a time,
/// in whole lines. A case that cannot be answered gets a
/// line with "error", under its id or else with its line number. True when there was no such line. `executor` is called
/// by several threads at once.
bool predict_lines(std::istream& in, std::ostream& out, const Machine& machine, Executor& executor,
                   const LineOptions& options = {});

}  // namespace weft::scenarios::study
