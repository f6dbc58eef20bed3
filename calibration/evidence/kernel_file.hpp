// Kernel files: what the cases of a measurement file ran on the GPUs. JSON lines; NAME.kernels belongs to NAME.jsonl.
// Each distinct launch is written once, before the first case that ran it, and each case on one line:
//   {"launch": 0, "kernel": "nvjet_sm90_…", "grid": [2, 66, 1], "block": [384, 1, 1], "cluster": [2, 1, 1], …}
//   {"line": 17, "id": "0.2", "kernels": [["gemm", "s0", 0, 0, [[0, 59147, 92427], [1, 59680, 92383]]], …]}
// `line` is the number of the case's line in the measurement file, `id` the case's. An entry of `kernels` is operation,
// stream, launch and bytes (of a copy), then GPU, start and end in nanoseconds for each time that it ran.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"

namespace weft::calibration::evidence {

/// The kernel file that belongs to a measurement file.
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
  /// Goes on where the file ends. Throws InputError where it cannot be written, or is no kernel file.
  explicit KernelFileWriter(const std::filesystem::path& path);

  void add(const CaseKernels& one);

 private:
  int position_of(const KernelLaunch& launch);

  std::filesystem::path path_;
  std::map<KernelLaunch, int> launches_;
  std::ofstream file_;
};

}  // namespace weft::calibration::evidence
