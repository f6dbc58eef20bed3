#include "tests/structure/source_file.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <regex>
#include <set>

#include "tests/source_folder.hpp"

namespace weft::tests {

namespace fs = std::filesystem;

namespace {

std::vector<SourceFile> files_below(const std::vector<std::string>& folders, const std::set<std::string>& extensions) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(project_root() / folder))
      if (entry.is_regular_file() && extensions.contains(entry.path().extension()))
        files.push_back(read_source(entry.path()));
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace

fs::path project_root() { return tests::source_folder(); }

SourceFile read_source(const fs::path& path) {
  const fs::path relative = path.lexically_relative(project_root());
  SourceFile file{relative.generic_string(), relative.begin()->string(), {}};
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

std::vector<std::string> SourceFile::includes() const {
  static const std::regex include(R"(^\s*#\s*include\s*["<]([^">]+)[">].*)");
  std::vector<std::string> found;
  std::smatch match;
  for (const std::string& line : lines)
    if (std::regex_match(line, match, include)) found.push_back(match[1]);
  return found;
}

std::vector<SourceFile> source_files() {
  return files_below({"models", "sim", "calibration", "scenarios", "tools", "tests"}, {".cpp", ".hpp", ".cu", ".cuh"});
}

std::vector<SourceFile> documents() {
  std::vector<SourceFile> files = files_below({"docs"}, {".md"});
  for (const fs::directory_entry& entry : fs::directory_iterator(project_root()))
    if (entry.path().extension() == ".md") files.push_back(read_source(entry.path()));
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace weft::tests
