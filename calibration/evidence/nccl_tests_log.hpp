// What nccl-tests and rccl-tests print, and the JSON that newer ones write (--json).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct NcclTestsPoint {
  Bytes bytes = 0;
  double time_us = 0;  ///< out of place
};

struct NcclTestsRun {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 0;                        ///< of one server
  std::string gpu;                     ///< "NVIDIA H100 80GB HBM3"; "" where the log has no devices
  std::string nccl;                    ///< "2.19.3"; "" where the log does not say
  std::vector<NcclTestsPoint> points;  ///< ascending sizes, at least two
};

/// The runs of a log, of which there may be several in one file. A run that names neither its program nor stands in a
/// file that does is known by its bus bandwidths, where they are those of one collective alone. Throws InputError that
/// names file and line for what is no such log, for ranks on several servers, for results that were wrong, and for bus
/// bandwidths that are not those of the collective on so many GPUs.
std::vector<NcclTestsRun> read_nccl_tests_log(const std::filesystem::path& path);

}  // namespace weft::calibration::evidence
