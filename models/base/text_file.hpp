// Files that are read whole, and written whole or not at all.
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

/// A file of JSON, or another that is held in memory, has at most so many bytes: a million buffers, or 100,000
/// operations, have fewer.
inline constexpr std::size_t most_bytes_read = std::size_t{128} << 20;

/// Throws InputError "FILE: expected …" for one that is missing, cannot be read or is larger than that.
std::string read_text_file(const std::filesystem::path& path);

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

/// Before any work is done: throws InputError "FILE: expected …" for a path that names no place for a file, and
/// std::system_error "FILE: why it cannot be written" for a place that is closed; an empty path is never written.
void require_writable(const std::filesystem::path& path);

}  // namespace weft
