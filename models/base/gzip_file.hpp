// Files that gzip compressed, read whole.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

/// Whether its name says so.
bool is_compressed(const std::filesystem::path& path);

/// What the file was before it was compressed. Throws InputError "FILE: expected CONTENTS in a whole gzip file" for one
/// that is missing, cut off, damaged or no gzip file, and "FILE: expected at most …" for more than `most_bytes_read`.
std::string read_gzip_file(const std::filesystem::path& path, const std::string& contents);

}  // namespace weft
