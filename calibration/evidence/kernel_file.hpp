// Kernel files: what the cases of a measurement file ran on the GPUs. JSON lines; NAME.kernels, or where there is none
// NAME.kernels.gz, belongs to NAME.jsonl.
// Each distinct launch is written once, before the first case that ran it, and each case on one line:
//   {"launch": 0, "kernel": "nvjet_sm90_…", "grid": [2, 66, 1], "block": [384, 1, 1], "cluster": [2, 1, 1], …}
//   {"line": 17, "id": "0.2", "kernels": [["gemm", "s0", 0, 0, [[0, 59147, 92427], [1, 59680, 92383]]], …]}
// `line` is the number of the case's line in the measurement file, `id` the case's. An entry of `kernels` is operation,
// stream, launch and bytes (of a copy), then GPU, start and end in nanoseconds for each time that it ran.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "models/base/appended_file.hpp"

namespace weft::calibration::evidence {

/// The kernel file that belongs to a measurement file: a compressed one only where there is no plain one.
std::filesystem::path kernel_file_of(const std::filesystem::path& measurements);

/// What a case ran.
struct CaseKernels {
  int line = 0;    ///< where the measurement file has the case, from 1
  std::string id;  ///< of the case, and not needed to find it: it tells when the measurement file has changed
  std::vector<KernelRecord> kernels;
};

/// In ascending order of GPU, start and end within a case. Throws InputError that names file, line and field.
std::vector<CaseKernels> read_kernel_file(const std::filesystem::path& path);

/// Appends each case at once, so that an interrupted run loses nothing.
class KernelFileWriter {
 public:
  /// Goes on where the file ends, as AppendedFile does, or at the first case that stood in a line which the measurement
  /// file has lost: it has `lines`, with the cases `ids`, by line. Throws InputError where the file cannot be written,
  /// is no kernel file, or belongs to other measurements.
  KernelFileWriter(const std::filesystem::path& path, int lines, const std::map<int, std::string>& ids);

  /// Whether it has the kernels of the case in that line of the measurement file.
  bool holds(int line) const { return lines_.contains(line); }
  void add(const CaseKernels& one);

 private:
  AppendedFile file_;
  std::map<KernelLaunch, int> launches_;
  std::set<int> lines_;
};

}  // namespace weft::calibration::evidence
