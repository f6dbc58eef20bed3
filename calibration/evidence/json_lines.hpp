// Files with one JSON object a line.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::calibration::evidence {

/// Throws InputError "FILE: expected a readable file of CONTENTS" for one that is missing, unreadable or a folder.
std::ifstream open_lines(const std::filesystem::path& path, const std::string& contents);

/// Calls `read` with each line that is not blank and its number, from 1. What it throws becomes an InputError that
/// names file and line.
void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const nlohmann::json& line, int number)>& read);

}  // namespace weft::calibration::evidence
