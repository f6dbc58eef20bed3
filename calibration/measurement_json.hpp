// Measurements as JSON: between the rank processes and their parent, in files and for `--json`. Keys carry units.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibration/hardware.hpp"
#include "models/base/json_object.hpp"

namespace weft::calibration {

nlohmann::json to_json(const Conditions& conditions);
nlohmann::json to_json(const KernelLaunch& launch);
nlohmann::json to_json(const KernelRecord& kernel);
nlohmann::json to_json(const Span& span);
/// With `noise`, the spread of the repeats over their median; without the trace and the kernels, which have JSON of
/// their own.
nlohmann::json to_json(const Measurement& measurement);

// The inverses. They throw InputError that names the field; an unknown key is an error.
Conditions conditions_from(JsonObject object);
KernelLaunch launch_from(JsonObject object);
KernelRecord kernel_from(JsonObject object);
Span span_from(JsonObject object);
/// Only `time_us` has to be there: other programs measure too. The object may hold more than the measurement: its
/// reader calls finish().
Measurement measurement_from(JsonObject& object);

}  // namespace weft::calibration
