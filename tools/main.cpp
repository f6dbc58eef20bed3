// The command `weft`. Exit status: 0 done, 1 the work failed, 2 bad input or usage, 128 + n ended by signal n (130: an
// interrupt); an error is one line on standard error.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "calibration/process_group.hpp"
#include "models/base/failure_text.hpp"
#include "models/base/input_error.hpp"
#include "tools/commands/commands.hpp"

namespace {

constexpr int done = 0, work_failed = 1, bad_input = 2, ended_by_signal = 128;

int report(int status, const std::string& message) {
  std::cerr << "weft: " << weft::shown_message(message) << '\n';
  return status;
}

/// Standard output carries results only: what is logged goes to standard error, and what only tells how far the work is
/// to a terminal alone.
void log_to_standard_error() {
  auto logger = spdlog::stderr_color_st("weft");
  logger->set_pattern("%n: %v");
  if (isatty(STDERR_FILENO) == 0) logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

std::string commands_of(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

int run(int argc, char** argv) {
  CLI::App app{"Will overlapping communication with computation pay, by which schedule, and by how much?", "weft"};
  app.require_subcommand(0, 1);  // an unknown word is named before a missing command
  app.set_version_flag("--version", WEFT_VERSION);
  for (weft::tools::commands::AddCommand* add : weft::tools::commands::all_commands) add(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw weft::InputError("", "expected a command: " + commands_of(app));
    errno = 0;
    std::cout.flush();
    return std::cout ? done : report(work_failed, "standard output could not be written" + weft::reason_of(errno));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);  // --help
    return report(bad_input, error.what());
  } catch (const weft::InputError& error) {
    return report(bad_input, error.what());
  } catch (const weft::calibration::Interrupted& error) {
    return report(ended_by_signal + error.signal(), error.what());
  } catch (const std::exception& error) {  // ExecutionError among them
    return report(work_failed, weft::failure_text(error));
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Files are written whole or not at all. Whoever started it with interrupts ignored keeps it so.
  if (std::signal(SIGINT, [](int signal) { _exit(ended_by_signal + signal); }) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  std::ios::sync_with_stdio(false);  // standard input then tells what can be read without waiting
  log_to_standard_error();
  return run(argc, argv);
}
