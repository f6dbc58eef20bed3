// A file of lines that grows while work goes on: what was written stays whatever ends the run.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// There is a file only once there is a line. While this lives, no other run appends to it.
class AppendedFile {
 public:
  /// Goes on after the last whole line of what is there: one that an interruption or a full disk cut off is dropped,
  /// where it begins as one of `beginnings` does. Throws InputError where it does not, where the file cannot be
  /// written, and where another run appends to it.
  AppendedFile(std::filesystem::path path, const std::vector<std::string_view>& beginnings);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  bool exists() const { return descriptor_ >= 0; }
  /// Drops all but the first `bytes` of it.
  void cut(std::size_t bytes);
  /// Whole lines with their ends, of which none stays where they could not all be written. They are on the disk, too,
  /// once lines are added more than a second later. Throws std::system_error that says why.
  void add(std::string_view lines);
  /// Waits until all lines are on the disk. Throws std::system_error.
  void sync();

 private:
  void open(int flags);
  void lock();
  bool write(std::string_view lines);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace weft
