// What every command is made of: options that are read, and what is done with them; its files, its output, and how far
// its work is.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <type_traits>

#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/terminal.hpp"

namespace weft::scenarios::study {}
namespace weft::calibration::evidence {}

namespace weft::tools::commands {

namespace study = scenarios::study;
namespace evidence = calibration::evidence;

template <class Options>
struct NewCommand {
  CLI::App& command;
  Options& options;  ///< which the command line fills in
};

/// A command of `app`, without options yet. When all are read, and no file is written that is also read, `run` takes
/// them; it tells their type.
template <class Argument>
NewCommand<std::remove_cvref_t<Argument>> add_command(CLI::App& app, const std::string& name, const std::string& what,
                                                      void (*run)(Argument)) {
  CLI::App* command = app.add_subcommand(name, what);
  command->parse_complete_callback([command] { refuse_same_files(*command); });
  const auto options = std::make_shared<std::remove_cvref_t<Argument>>();
  command->callback([options, run] { run(*options); });
  return {*command, *options};
}

}  // namespace weft::tools::commands
