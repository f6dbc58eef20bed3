#include "models/machine/machine_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/machine/program_file.hpp"

namespace weft {

namespace fs = std::filesystem;

namespace {

bool has_profiles(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json") return true;
  return false;
}

struct ShippedFolders {
  fs::path machines, scenarios;
};

ShippedFolders installed_in(const fs::path& prefix) {
  return {prefix / "share/weft/machines", prefix / "share/weft/scenarios"};
}

ShippedFolders in_tree(const fs::path& root) { return {root / "calibration/machines", root / "scenarios"}; }

/// A tree or a prefix that was copied to a GPU server is not where it was built: look upwards from the program first.
ShippedFolders shipped_folders() {
  for (fs::path folder = program_file().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    for (const ShippedFolders& folders : {installed_in(folder), in_tree(folder)})
      if (has_profiles(folders.machines)) return folders;
  return in_tree(WEFT_SOURCE_DIR);
}

}  // namespace

fs::path machine_folder(const fs::path& share) {
  if (const char* folder = std::getenv("WEFT_MACHINES"); folder && *folder) return folder;
  if (!share.empty() && has_profiles(share / "machines")) return share / "machines";
  return shipped_folders().machines;
}

fs::path scenario_folder() { return shipped_folders().scenarios; }

fs::path report_page(const fs::path& share) {
  std::error_code error;
  if (fs::path page = share / "report.html"; !share.empty() && fs::is_regular_file(page, error)) return page;
  for (fs::path folder = program_file().parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (fs::path page = folder / "share/weft/report.html"; fs::is_regular_file(page, error)) return page;
  return {};
}

std::vector<std::string> machine_names(const fs::path& share) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(machine_folder(share), error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json") names.push_back(entry->path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path machine_path(const std::string& name_or_path, const fs::path& share) {
  if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json")) return name_or_path;
  const fs::path folder = machine_folder(share);
  std::error_code error;
  for (const fs::path& path : {folder / (name_or_path + ".json"), fs::path(name_or_path)})
    if (fs::is_regular_file(path, error)) return path;
  std::vector<std::string> names = machine_names(share);
  // First those that may be meant, as by "h200".
  std::ranges::stable_partition(names, [&](const std::string& name) { return name.find(name_or_path) != name.npos; });
  std::string known = joined(names);
  if (known.empty()) known = "(none in " + folder.string() + ")";
  throw InputError("machine", "expected a path or one of " + known + ", got \"" + shown_name(name_or_path) + "\"");
}

}  // namespace weft
