#include "scenarios/library/open_profile.hpp"

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"

namespace weft::scenarios::library {

/// The file is parsed once for both: that is most of what a cold start takes.
OpenProfile::OpenProfile(const std::string& name_or_path, const std::filesystem::path& share)
    : path(machine_path(name_or_path, share)) {
  nlohmann::json profile = read_json_file(path);
  machine = read_machine(path, profile);
  grades = profile_grades(profile);
}

}  // namespace weft::scenarios::library
