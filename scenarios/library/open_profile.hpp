// A machine's profile, open for questions.
#pragma once

#include <filesystem>
#include <string>

#include "models/machine/machine.hpp"
#include "models/machine/profile_grades.hpp"

namespace weft::scenarios::library {

struct OpenProfile {
  /// Looked up as machine_path() does; throws InputError as read_machine() does.
  explicit OpenProfile(const std::string& name_or_path, const std::filesystem::path& share = {});

  std::filesystem::path path;
  Machine machine;
  ProfileGrades grades;
};

}  // namespace weft::scenarios::library
