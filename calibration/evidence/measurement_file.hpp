// Measurement files: JSON lines, one for each measured case, after a line with the conditions of their run.
//   {"conditions": {"date": …, "gpu": …, "driver": …, "nccl": …, …}}
//   {"case": {…as weft predict reads it…}, "time_us": 812.4, "repeats_us": […], …}
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// Throws InputError "FILE: expected a readable file of CONTENTS" for one that is missing, unreadable or a folder.
std::ifstream open_lines(const std::filesystem::path& path, const std::string& contents);

/// Calls `read` with each line that is not blank. What it throws becomes an InputError that names file and line.
void for_each_json_line(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& read);

struct MeasuredCase {
  scenarios::Case request;
  double time_us = 0;
  std::vector<double> repeats_us;
  std::string text;  ///< the case as its line has it: two lines with the same text measured the same
  std::string run;   ///< file and position of its conditions: cases of one run were measured next to each other
};

/// Each case once, in the order of its first line. Throws InputError that names file and line. Lines with "error" are
/// skipped: nothing was measured.
std::vector<MeasuredCase> read_measurements(const std::filesystem::path& path);

/// Of all files, in their order. Throws InputError where none of them holds a measured case.
std::vector<MeasuredCase> read_measurements(const std::vector<std::string>& paths);

/// One case a line; throws InputError that names file and line.
std::vector<scenarios::Case> read_cases(const std::filesystem::path& path);

/// A file of cases, one a line.
std::string lines_of(const std::vector<scenarios::Case>& cases);

}  // namespace weft::calibration::evidence
