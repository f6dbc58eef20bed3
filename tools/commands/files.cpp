#include "tools/commands/files.hpp"

#include <filesystem>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"

namespace weft::tools::commands {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  const CLI::Option* option;
  fs::path path;
};

bool is_written(const NamedFile& file) { return file.option->get_type_name() == output_file; }

/// A name that no profile has is for the command to refuse.
fs::path path_of_machine(const std::string& name) {
  try {
    return machine_path(name);
  } catch (const InputError&) {
    return name;
  }
}

std::vector<NamedFile> files_of(const CLI::App& command) {
  std::vector<NamedFile> files;
  for (const CLI::Option* option : command.get_options()) {
    const std::string kind = option->get_type_name();
    if (kind != input_file && kind != output_file && kind != machine_profile) continue;
    for (const std::string& text : option->results())
      if (!text.empty()) files.push_back({option, kind == machine_profile ? path_of_machine(text) : fs::path(text)});
  }
  return files;
}

/// Of files that are there, by whatever links; of others, by their paths. Devices and pipes are no files.
bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const bool a_exists = fs::exists(a, error), b_exists = fs::exists(b, error);
  if (a_exists && b_exists) return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  return !a_exists && !b_exists &&
         fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

}  // namespace

CLI::Option* writes_into(CLI::Option* option) {
  const auto is_folder = [](const std::string& name) {
    if (name.empty()) return std::string("expected a folder, got an empty name");
    std::error_code error;
    const bool is_other = fs::exists(name, error) && !fs::is_directory(name, error);
    return is_other ? "expected a folder, got the file " + shown_name(name) : std::string();
  };
  return option->type_name("FOLDER")->check(is_folder, "");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(shown_name(folder.string()), "expected a folder that can be made: " + error.message());
}

void refuse_same_files(const CLI::App& command) {
  const std::vector<NamedFile> files = files_of(command);
  for (const NamedFile& written : files) {
    if (!is_written(written)) continue;
    for (const NamedFile& other : files)
      if (&other != &written && is_same_file(written.path, other.path))
        throw InputError(written.option->get_name(), "expected a file of its own, got \"" + written.path.string() +
                                                         "\", which is also that of " + other.option->get_name());
  }
}

}  // namespace weft::tools::commands
