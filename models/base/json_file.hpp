// JSON files: read strictly, written so that people can read them and never half.
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

/// Writes a temporary file beside `path` and renames it. Throws InputError "FILE: …" where that is not possible.
void write_json_file(const std::filesystem::path& path, const nlohmann::ordered_json& json);

/// The same for any text.
void write_text_file(const std::filesystem::path& path, std::string_view text);

/// Throws the InputError of write_text_file before any work is done; an empty path is never written.
void require_writable(const std::filesystem::path& path);

}  // namespace weft
