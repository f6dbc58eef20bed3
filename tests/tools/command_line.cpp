#include "tests/tools/command_line.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weft::tests {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "weft_test_XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name) << text;
}

std::string TemporaryFolder::read(const std::string& name) const {
  std::ifstream in(path_ / name);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> TemporaryFolder::file_names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

CommandResult run_weft(const std::string& arguments, const TemporaryFolder& folder) {
  const TemporaryFolder streams;
  const std::string command = "cd '" + folder.path().string() + "' && '" WEFT_PROGRAM "' " + arguments +
                              " </dev/null >'" + streams.path().string() + "/output' 2>'" + streams.path().string() +
                              "/errors'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), streams.read("output"),
          streams.read("errors")};
}

}  // namespace weft::tests
