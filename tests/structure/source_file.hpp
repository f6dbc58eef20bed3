// The files of the project as the structure tests see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace weft::tests {

struct SourceFile {
  std::string path;    ///< from the root, such as "models/schedule/schedule.hpp"
  std::string folder;  ///< its first part
  std::vector<std::string> lines;

  bool has_extension(const std::string& extension) const { return path.ends_with(extension); }
  /// What stands in #include "…" or <…>.
  std::vector<std::string> includes() const;
};

std::filesystem::path project_root();
SourceFile read_source(const std::filesystem::path& path);

/// C++ and CUDA sources and headers of all folders, sorted by path.
std::vector<SourceFile> source_files();

/// Pages: *.md of the root and of docs, sorted by path.
std::vector<SourceFile> documents();

}  // namespace weft::tests
