// Where machine profiles lie.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

/// The root of the source tree around the running program, else of the one that it was built from.
std::filesystem::path source_tree();

/// The folder of the shipped profiles: $WEFT_MACHINES where that is set, else calibration/machines of source_tree().
std::filesystem::path machine_folder();

/// Names of the profiles in machine_folder(), sorted.
std::vector<std::string> machine_names();

/// What contains '/' or ends in .json is a path and returned as it is; else the profile of that name.
/// Throws InputError that lists the known names.
std::filesystem::path machine_path(const std::string& name_or_path);

}  // namespace weft
