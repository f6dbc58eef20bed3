// Cases as `weft predict` reads them, one JSON object each:
//   {"id": "a1", "gpus": 8, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 3584, "dtype": "bf16"},
//    "schedule": {"family": "decomposition", "chunks": 4, "max_ctas": 8}, "measured": {"gemm_us": 812.0}}
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/base/json_object.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// The word for iterations that follow one another.
inline constexpr const char* back_to_back = "back_to_back";
inline constexpr double most_added_us = 1e6;

/// Strict: a key that the op or the family does not have, a size that is no positive integer or above any limit is an
/// InputError whose field is the path in the case ("workload.m"). Left out: `schedule` is serial, `dtype` bf16.
/// Whether the sizes can be cut as the family needs is build()'s business.
Case case_from_json(const nlohmann::json& json);

Workload read_workload(JsonObject object);
ScheduleChoice read_schedule_choice(JsonObject object);
Measured read_measured(JsonObject object);
/// Of the keys `condition` and `timing`.
RunCondition read_condition(const JsonValue& value);
Timing read_timing(const JsonValue& value);

/// Everything that is not a default, in the order of the documentation; case_from_json(to_json(c)) == c.
nlohmann::ordered_json to_json(const Case& value);
nlohmann::ordered_json to_json(const Workload& workload);
nlohmann::ordered_json to_json(const ScheduleChoice& choice);
nlohmann::ordered_json to_json(const RunCondition& condition);
nlohmann::ordered_json to_json(const Timing& timing);

}  // namespace weft::scenarios
