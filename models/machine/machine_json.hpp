// Machine profiles as files. Every number stands as {"value": …, "unit": …, "source": …}; the unit must be the one that
// the program expects, so that a number in the wrong unit is an error and not a wrong prediction.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/machine/machine.hpp"

namespace weft {

/// Format weft.machine/1. The GEMM library's kernels stand in a file beside the profile (gemm_choices_text.hpp). Throws
/// InputError that names file and field.
Machine read_machine(const std::filesystem::path& path);

/// `directory` is where files that the profile names are looked for.
Machine machine_from_json(const nlohmann::json& json, const std::filesystem::path& directory);

}  // namespace weft
