// Files that are written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct TextFile {
  std::filesystem::path path;
  std::string text;
};

/// /dev/stdout, pipes and the like: what stands behind them is written as it comes, and not replaced.
bool is_device(const std::filesystem::path& path);

/// Writes all of them or none. Each is first written beside its place under a name that no other process takes; once
/// all are on the disk they take their places in order, so that one that names the others stands last. Devices and
/// pipes are written as they are. Throws std::system_error "FILE: why it could not be written".
void write_text_files(const std::vector<TextFile>& files);

/// One file alone.
void write_text_file(const std::filesystem::path& path, std::string_view text);

/// Throws std::system_error "FILE: why it could not be removed"; one that is not there is none.
void remove_file(const std::filesystem::path& path);

/// Puts the name of a new file on the disk, as far as the file system can.
void sync_folder_of(const std::filesystem::path& path);

/// Throws InputError "FILE: expected …" before any work is done where `path` cannot be written; an empty one never is.
void require_writable(const std::filesystem::path& path);

}  // namespace weft
