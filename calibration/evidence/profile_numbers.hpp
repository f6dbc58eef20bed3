// Every number of a profile, with its unit and where it comes from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft::calibration::evidence {

struct ProfileNumber {
  std::string path;   ///< "gpu.sms", "collectives[3]"
  std::string value;  ///< as the file has it; "(n values)" for long lists
  std::string unit, source;
};

/// One for each {"value": …, "unit": …, "source": …}, each other object without objects in it, and each lone value.
std::vector<ProfileNumber> profile_numbers(const nlohmann::json& profile);

}  // namespace weft::calibration::evidence
