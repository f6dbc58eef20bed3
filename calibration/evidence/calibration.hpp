// A machine profile fitted to measurements: a value made from values. Nothing is read or written here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "calibration/evidence/calibration_input.hpp"
#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

/// The profile whose numbers are replaced: as its file says it, and as it is read.
struct BaseProfile {
  const nlohmann::ordered_json& document;
  const Machine& machine;
};

struct CalibrationEvidence {
  std::vector<MeasuredFile> fitted;  ///< none: the base's numbers stay, and only its error bands are replaced
  /// They tell how far predictions are off: the cases of each folder are predicted from what was measured in the
  /// others. Without them the base's bands stay. Kernels are not needed.
  std::vector<MeasuredFile> errors = {};
  std::optional<std::vector<GemmChoice>> library_answers = {};  ///< in place of the base's
  /// GEMMs of which but size, time and clock are known: with those of `fitted` whose clocks were read they tell what
  /// the formula leaves out.
  std::vector<fitting::GemmObservation> gemm_times = {};
};

/// A number of the profile before and now, as texts.
struct ProfileChange {
  std::string number, before, now, unit, note;
};

struct CalibratedProfile {
  std::string text;  ///< of its file, weft.machine/1
  /// The table of the GEMM library's kernels, and its name in the folder of the profile: it has the checksum of the
  /// text in it, so that no other table ever takes its place. Both are empty for a profile that lists candidates.
  std::string table_file, table_text;
  std::vector<ProfileChange> changes;
};

/// `name` becomes the profile's. `progress` counts the cases of `errors`. Throws InputError for answers of the library
/// where the base lists candidates, and InputError or ExecutionError where the evidence is not enough for a profile.
CalibratedProfile calibrate(const BaseProfile& base, const CalibrationEvidence& evidence, const std::string& name,
                            const Progress& progress = {});

}  // namespace weft::calibration::evidence
