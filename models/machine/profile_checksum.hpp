// Tells one machine profile from another that may have the same name.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

/// 16 hexadecimal digits of all that a profile says, its source texts, its table of kernels and what it shares
/// included: results that were kept for one profile are not taken for another's. Throws InputError as read_machine()
/// does for its files.
std::string profile_checksum(const std::filesystem::path& path);

}  // namespace weft
