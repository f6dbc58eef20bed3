// A profile of a server that nobody has measured with weft: that of one like it, with what its owner knows of it.
// A value made from values; nothing is read or written here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/evidence/calibration.hpp"
#include "calibration/evidence/nccl_tests_log.hpp"
#include "calibration/evidence/server_topology.hpp"
#include "calibration/fitting/gemm_fit.hpp"

namespace weft::calibration::evidence {

/// Files are named for the sources of the numbers that come from them.
struct KnownOfServer {
  struct Log {
    std::string file;
    std::vector<NcclTestsRun> runs;
  };
  std::vector<Log> logs;
  std::string gemm_file, topology_file;
  std::vector<fitting::GemmObservation> gemms;  ///< may be empty
  std::optional<ServerTopology> topology;
};

/// The profile `name`. What the server's owner knows takes the place of the base's numbers, as measured; numbers of
/// datasheets and documents stay, and all else is said to be assumed as it is of the base. Curves of nccl-tests replace
/// those of the same collective on as many GPUs. Times of GEMMs fit what they determine (fit_gemms()); too few for that
/// scale the rate of the tensor cores alone. Throws InputError where the base is no such machine: another fabric, fewer
/// GPUs than a log has.
CalibratedProfile new_profile(const BaseProfile& base, const KnownOfServer& known, const std::string& name);

}  // namespace weft::calibration::evidence
