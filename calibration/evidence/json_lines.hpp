// Files of lines, most with one JSON object a line. Those whose name ends in .gz are compressed by gzip.
#pragma once

#include <filesystem>
#include <functional>
#include <istream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::calibration::evidence {

/// Throws InputError "FILE: expected a readable file of CONTENTS" for one that is missing, unreadable or a folder, and
/// "FILE: expected CONTENTS in a whole gzip file" for one that is compressed, but cut off, damaged or no gzip file. One
/// that would hold more than `most_bytes_read` is refused as well.
std::unique_ptr<std::istream> open_lines(const std::filesystem::path& path, const std::string& contents);

/// Calls `read` with each line that is not blank and its number, from 1. What it throws becomes an InputError that
/// names file and line.
void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const nlohmann::json& line, int number)>& read);

}  // namespace weft::calibration::evidence
