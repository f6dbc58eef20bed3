// JSON files: read strictly, written so that people can read them.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace weft {

/// Throws InputError (without a file name) with line and column for text that is no JSON, and for an object that has a
/// key twice.
nlohmann::json parse_json(std::string_view text);

/// Throws InputError "FILE: …" for a file that is missing, unreadable or no JSON.
nlohmann::json read_json_file(const std::filesystem::path& path);

/// What fits into `width` columns stands on one line; the rest is indented by two.
std::string to_text(const nlohmann::ordered_json& json, int width = 120);

/// As write_text_file() does.
void write_json_file(const std::filesystem::path& path, const nlohmann::ordered_json& json);

}  // namespace weft
