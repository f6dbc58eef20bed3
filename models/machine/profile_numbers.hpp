// Every number of a profile, with its unit and where it comes from.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft {

struct ProfileNumber {
  std::string path;   ///< "gpu.sms", "collectives[all_reduce, 8 GPUs]"
  std::string value;  ///< as the file has it; "(n values)" for long lists
  std::string unit, source;
};

/// One for each {"value": …, "unit": …, "source": …}, each other object without objects in it, and each lone value.
std::vector<ProfileNumber> profile_numbers(const nlohmann::json& profile);

/// What the profile says of its machine. Throws InputError that names file and field.
std::string profile_description(const std::filesystem::path& path);

}  // namespace weft
