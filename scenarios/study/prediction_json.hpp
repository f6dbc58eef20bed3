// A prediction as `weft predict` and the library write it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {

/// The result of the case `id`, without its schedule's operations and its trace.
nlohmann::ordered_json to_json(const std::string& id, const Prediction& prediction);

}  // namespace weft::scenarios::study
