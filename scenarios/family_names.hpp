// A list of families as scenarios and cases name them.
#pragma once

#include <string>
#include <vector>

#include "models/base/json_object.hpp"

namespace weft::scenarios {

/// Names of searched_families(), in the order of the list; throws InputError at a word that is none.
std::vector<std::string> family_names(const JsonValue& words);

}  // namespace weft::scenarios
