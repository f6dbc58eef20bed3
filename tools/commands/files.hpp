// Which options of a command are files. --help shows what each of them is, and no command writes where it also reads.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>

namespace weft::tools::commands {

/// What the options of a command are, as --help shows it.
inline constexpr const char *input_file = "FILE", *output_file = "OUTPUT", *machine_profile = "MACHINE";

inline CLI::Option* reads(CLI::Option* option) { return option->type_name(input_file); }
inline CLI::Option* writes(CLI::Option* option) {
  const auto is_file = [](const std::string& name) {
    return name.empty() || name == "-" ? "expected the name of a file, got " + (name.empty() ? "none" : name) : "";
  };
  return option->type_name(output_file)->check(is_file, "");
}
/// A folder for files that the command writes, by make_folder(); a file in its place is refused.
CLI::Option* writes_into(CLI::Option* option);
/// Where it is not there. Throws InputError where it cannot be made.
void make_folder(const std::filesystem::path& folder);
/// The name or the path of a profile.
inline CLI::Option* reads_machine(CLI::Option* option) { return option->type_name(machine_profile); }

/// After the command line was read, before anything is done: throws InputError where a file that the command writes is
/// any other of its files, by whatever path.
void refuse_same_files(const CLI::App& command);

}  // namespace weft::tools::commands
