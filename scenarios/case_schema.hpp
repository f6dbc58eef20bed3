// The JSON Schema of cases, made of what reads and writes them (fields.hpp).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace weft::scenarios {

/// docs/schema/case.schema.json. Besides a case it defines `searched_family`: the families that a scenario may name.
nlohmann::ordered_json case_schema();

}  // namespace weft::scenarios
