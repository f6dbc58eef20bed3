// Measurements as JSON: between the rank processes and their parent, and for `--json`. Keys carry units.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/hardware.hpp"

namespace weft::calibration {

nlohmann::json to_json(const Conditions& conditions);
nlohmann::json to_json(const KernelRecord& kernel);
nlohmann::json to_json(const Span& span);
/// With `noise`, the spread of the repeats over their median; without the trace, which has its own file format.
nlohmann::json to_json(const Measurement& measurement);

// The inverses trust their input: only this program wrote it.
Conditions conditions_from(const nlohmann::json& json);
KernelRecord kernel_from(const nlohmann::json& json);
Span span_from(const nlohmann::json& json);
Measurement measurement_from(const nlohmann::json& json);

}  // namespace weft::calibration
