// Where the files lie that weft ships.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

/// The folder of machine profiles. The first of these that there is:
///   1. $WEFT_MACHINES
///   2. `share`/machines, where the caller knows the folder share/weft of an installation
///   3. around the running program or the loaded module, in the nearest folder above it that has one with profiles:
///   share/weft/machines, as
///      installed, or calibration/machines, as in the source tree
///   4. calibration/machines of the source tree that the program was built from
std::filesystem::path machine_folder(const std::filesystem::path& share = {});

/// The folder of shipped scenarios, around the running program or in the source tree as above.
std::filesystem::path scenario_folder();

/// The page that weft explore --html fills, in `share` or in share/weft around the running program or the loaded
/// module; empty where there is none: the build makes it with npm.
std::filesystem::path report_page(const std::filesystem::path& share = {});

/// Names of the profiles in machine_folder(share), sorted.
std::vector<std::string> machine_names(const std::filesystem::path& share = {});

/// What contains '/' or ends in .json is a path and returned as it is; else the profile of that name, or a file.
/// Throws InputError that lists the known names.
std::filesystem::path machine_path(const std::string& name_or_path, const std::filesystem::path& share = {});

}  // namespace weft
