// Measurement files: JSON lines, one for each measured case, after a line with the conditions of their run.
//   {"conditions": {"date": …, "gpu": …, "driver": …, "nccl": …, …}}
//   {"case": {…as weft predict reads it…}, "time_us": 812.4, "repeats_us": […], …}
//   {"case": {…}, "error": "why it was not measured"}
// The kernels that the cases ran stand in a file beside it (kernel_file.hpp). Both may be compressed once they are
// whole.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/evidence/json_lines.hpp"
#include "calibration/evidence/kernel_file.hpp"
#include "calibration/hardware.hpp"
#include "models/base/appended_file.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

struct MeasuredCase : Measurement {
  scenarios::Case request;
  Conditions conditions;  ///< of its run
  std::string run;        ///< file and position of its conditions: cases of one run were measured next to each other
  int line = 0;           ///< of its file
};

/// Throws InputError for a file that stands in the list twice, under whatever names.
void require_distinct(const std::vector<std::filesystem::path>& files);

/// Each case once, in the order of its first line; of several lines the last counts. Lines with "error" are left out,
/// for nothing was measured, and those of GPUs that heat or a fault held back. Throws InputError that names file, line
/// and field.
std::vector<MeasuredCase> read_measurements(const std::filesystem::path& path);

/// Of all files, in their order. Throws InputError where none of them holds a measured case, or one stands there twice.
std::vector<MeasuredCase> read_measurements(const std::vector<std::string>& paths);

/// With the kernels of the file beside it, where there is one.
std::vector<MeasuredCase> read_measurements_and_kernels(const std::filesystem::path& path);

/// Appends to a measurement file line by line, so that an interrupted run loses nothing.
class MeasurementFileWriter {
 public:
  /// Goes on where the file ends, as AppendedFile does; without `has_kernels` no kernel file is made. Throws InputError
  /// where a file cannot be written, holds something else, is compressed, or is that of another run.
  MeasurementFileWriter(const std::filesystem::path& path, bool has_kernels);

  /// A case is known by what it asks for, which says nothing of how it is measured: throws InputError where one that
  /// the file had before was measured in another condition, or in turn with others and not alone.
  void require_measured_so(Condition condition, bool in_turn) const;

  /// Measured, and not only with an error; with its kernels, where they are asked for.
  bool holds(const scenarios::Case& request) const;
  void add(const Conditions& conditions);
  void add(const scenarios::Case& request, const Measurement& measurement);
  /// After the case's measurement.
  void add_kernels(const scenarios::Case& request, const std::vector<KernelRecord>& kernels);
  void add_error(const scenarios::Case& request, const std::string& message);

 private:
  struct Held {
    int line;
    Condition condition;
    bool in_turn;
  };
  void add_line(const std::string& text);

  bool has_kernels_;
  std::string path_;
  AppendedFile file_;
  int lines_ = 0;
  std::map<std::string, Held> held_;  ///< by what it asks for
  std::optional<KernelFileWriter> kernels_;
};

/// One case a line; throws InputError that names file and line.
std::vector<scenarios::Case> read_cases(const std::filesystem::path& path);

/// A file of cases, one a line.
std::string lines_of(const std::vector<scenarios::Case>& cases);

}  // namespace weft::calibration::evidence
