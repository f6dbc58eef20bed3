// weft predict: one case a line in, one result a line out, in the order of the cases.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "calibration/evidence/json_lines.hpp"
#include "models/base/failure_text.hpp"
#include "models/base/progress.hpp"
#include "models/base/text_file.hpp"
#include "models/execution/executor.hpp"
#include "scenarios/library/open_profile.hpp"
#include "scenarios/study/prediction_lines.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/files.hpp"

namespace weft::tools::commands {
namespace {

struct PredictOptions {
  std::string machine, in, out, schedules;
  bool in_turn = false;
};

/// Of the cases of a file; of a stream nobody knows how many will come.
std::function<void()> progress_of(const std::string& path) {
  const std::unique_ptr<std::istream> file = evidence::open_lines(path, "cases");
  const auto lines = static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(*file), {}, '\n'));
  const auto counter = std::make_shared<ProgressCounter>(show_progress("cases"), lines);
  return [counter] { counter->add(); };
}

void run_predict(const PredictOptions& options) {
  const scenarios::library::OpenProfile profile(options.machine);
  study::LineOptions lines{.schedules = options.schedules, .grades = profile.grades};
  std::unique_ptr<std::istream> in_file;
  if (!options.in.empty()) in_file = evidence::open_lines(options.in, "cases");
  if (!options.schedules.empty()) make_folder(options.schedules);
  require_writable(options.out);
  std::ofstream device;
  std::ostringstream file;  // takes its place whole, so that one of before is there until then
  if (is_device(options.out)) device.open(options.out);
  std::ostream& out = device.is_open() ? device : options.out.empty() ? std::cout : file;
  if (!options.out.empty() && std::filesystem::is_regular_file(options.in)) lines.on_answer = progress_of(options.in);
  sim::SimulatedExecutor executor(sim::times_only);
  if (options.in_turn) lines.clock_of_mix_MHz = executor.mix_clock();
  const bool all = study::predict_lines(in_file ? *in_file : std::cin, out, profile.machine, executor, lines);
  if (!out.flush())
    throw ExecutionError((options.out.empty() ? "standard output" : options.out) + " could not be written" +
                         reason_of(errno));
  if (&out == &file) write_text_file(options.out, file.view());
  if (!all) throw ExecutionError("some cases could not be answered: their lines carry \"error\"");
}

}  // namespace

void add_predict_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "predict", "Predict the time of each case (JSON lines in, JSON lines out)", run_predict);
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  reads(command.add_option("--in", options.in, "File of cases; standard input where left out"));
  writes(command.add_option("--out", options.out, "File for results, written whole at the end; else standard output"));
  writes_into(command.add_option("--schedules", options.schedules, "Write each case's schedule there as ID.json"));
  command.add_flag("--in-turn", options.in_turn,
                   "Let the cases of one workload take turns under one load, as weft measure --in-turn does");
}

}  // namespace weft::tools::commands
