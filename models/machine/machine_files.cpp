#include "models/machine/machine_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "models/base/input_error.hpp"

namespace weft {

namespace fs = std::filesystem;

namespace {

constexpr auto machines_in_tree = "calibration/machines";

}  // namespace

// A tree that was copied to a GPU server is not where it was built: look upwards from the program first.
fs::path source_tree() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::is_directory(folder / machines_in_tree, error)) return folder;
  return WEFT_SOURCE_DIR;
}

fs::path machine_folder() {
  if (const char* folder = std::getenv("WEFT_MACHINES"); folder && *folder) return folder;
  return source_tree() / machines_in_tree;
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(machine_folder(), error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json") names.push_back(entry->path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path machine_path(const std::string& name_or_path) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) return name_or_path;
  std::string known;
  for (const std::string& name : machine_names()) {
    if (name == name_or_path) return machine_folder() / (name + ".json");
    known += (known.empty() ? "" : ", ") + name;
  }
  if (known.empty()) known = "(none in " + machine_folder().string() + ")";
  throw InputError("machine", "expected a path or one of " + known + ", got \"" + name_or_path + "\"");
}

}  // namespace weft
