// A machine's profile, open for questions.
#pragma once

#include <filesystem>
#include <string>

#include "models/machine/machine.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/profile_grades.hpp"

namespace weft::scenarios::library {

struct OpenProfile {
  /// Looked up as machine_path() does; throws InputError as read_machine() does.
  explicit OpenProfile(const std::string& name_or_path, const std::filesystem::path& share = {})
      : path(machine_path(name_or_path, share)), machine(read_machine(path)) {}

  std::filesystem::path path;
  Machine machine;
  ProfileGrades grades = read_profile_grades(path);
};

}  // namespace weft::scenarios::library
