// Files that a test writes and reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::tests {

/// A folder of its own for one test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  std::vector<std::string> file_names() const;  ///< sorted

 private:
  std::filesystem::path path_;
};

}  // namespace weft::tests
