// Machine profiles as files. Every number stands as {"value": …, "unit": …, "source": …}; the unit must be the one that
// the program expects, so that a number in the wrong unit is an error and not a wrong prediction.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/machine/machine.hpp"

namespace weft {

/// Range of a collective's time, alone or from one graph to the next.
inline constexpr double shortest_collective_us = 0.01, longest_collective_us = 1e8;

/// Format weft.machine/1. The GEMM library's kernels stand in a file beside the profile (gemm_choices_text.hpp). Throws
/// InputError that names file and field.
Machine read_machine(const std::filesystem::path& path);
/// `profile` is what the file holds, and gets what it shares with another profile.
Machine read_machine(const std::filesystem::path& path, nlohmann::json& profile);

/// `directory` is where the table of kernels and the profile are looked for that the profile names
/// (profile_networks.hpp). A table that has not the checksum
/// that the profile says is another profile's, or was changed: an InputError.
Machine machine_from_json(const nlohmann::json& json, const std::filesystem::path& directory);
/// `table` in place of the one that the profile names; its networks have to be its own.
Machine machine_from_json(const nlohmann::json& json, const GemmChoices& table);

}  // namespace weft
