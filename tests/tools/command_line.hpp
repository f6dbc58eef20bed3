// Runs the built command `weft` as a user does.
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

struct CommandResult {
  int status = 0;  ///< 128 + n where signal n ended it
  std::string output, errors;
};

/// `weft ARGUMENTS` in `folder`; the shell reads the arguments.
CommandResult run_weft(const std::string& arguments, const TemporaryFolder& folder);

}  // namespace weft::tests
