// weft measure: the cases that `weft predict` answers, on real GPUs.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/hardware.hpp"
#include "models/check/hardware_support.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using scenarios::Case;

struct Options {
  std::string cases, machine, out, condition{name_of(Condition::sustained)};
  bool in_turn = false;
  calibration::RunOptions run;
};

/// Cases that are measured now, with their schedules; `mixes` are positions in them.
struct Work {
  std::vector<Case> cases;
  std::vector<Schedule> schedules;
  std::vector<calibration::Mix> mixes;
};

class Measuring {
 public:
  Measuring(const Options& options)
      : options_(options),
        machine_(read_machine(machine_path(options.machine))),
        requests_(evidence::read_cases(options.cases)) {
    calibration::require_device_part();
    file_.emplace(options.out, options.run.spans);
  }

  void run() {
    if (options_.in_turn)
      for (const std::vector<Case>& contest : contests()) add_contest(contest);
    else
      for (const Case& one : requests_)
        if (!file_->holds(one)) add(one);
    spdlog::info("{} cases to measure, {} measured before", work_.cases.size(), requests_.size() - asked_);
    if (work_.cases.empty()) return;
    // With kernels every case runs twice.
    progress_.emplace(report::show_progress("runs"), work_.cases.size() * (options_.run.spans ? 2 : 1));
    if (options_.in_turn)
      calibration::measure_in_turn(work_.schedules, work_.mixes, options_.run, observer());
    else
      calibration::measure(work_.schedules, options_.run, observer());
    if (failed_ > 0) throw ExecutionError(std::to_string(failed_) + " cases failed: their lines carry \"error\"");
  }

 private:
  /// Cases of one workload on as many GPUs, in the order of their first line.
  std::vector<std::vector<Case>> contests() const {
    std::vector<std::vector<Case>> all;
    std::map<std::pair<int, std::string>, std::size_t> position;
    for (const Case& one : requests_) {
      const auto [known, is_new] =
          position.try_emplace({one.gpus, scenarios::to_json(one.workload).dump()}, all.size());
      if (is_new) all.emplace_back();
      all[known->second].push_back(one);
    }
    return all;
  }

  /// The times of a mix are of one clock, so where one is missing all are measured again.
  void add_contest(const std::vector<Case>& contest) {
    if (std::ranges::all_of(contest, [this](const Case& one) { return file_->holds(one); })) return;
    calibration::Mix mix;
    for (const Case& one : contest)
      if (add(one)) mix.push_back(work_.cases.size() - 1);
    if (!mix.empty()) work_.mixes.push_back(std::move(mix));
  }

  bool add(const Case& one) {
    ++asked_;
    try {
      Schedule schedule = scenarios::families::build(one, machine_);
      require_runnable(schedule);
      work_.schedules.push_back(std::move(schedule));
    } catch (const InputError& error) {
      file_->add_error(one, error.what());
      return false;
    }
    work_.cases.push_back(one);
    return true;
  }

  std::string first_of_mix(std::size_t index) const {
    for (const calibration::Mix& mix : work_.mixes)
      if (std::ranges::find(mix, index) != mix.end()) return work_.cases[mix.front()].id;
    return "";
  }

  void take(std::size_t index, calibration::Measurement measurement) {
    measurement.in_turn_with = first_of_mix(index);
    if (measurement.kernels.empty())
      file_->add(work_.cases[index], measurement);
    else
      file_->add_kernels(work_.cases[index], measurement.kernels);
    progress_->add();
  }

  void take_error(std::size_t index, const std::string& message) {
    file_->add_error(work_.cases[index], message);
    progress_->add();
    ++failed_;
  }

  calibration::Observer observer() {
    return {.on_conditions = [this](const calibration::Conditions& conditions) { file_->add(conditions); },
            .on_result = [this](std::size_t index,
                                const calibration::Measurement& measurement) { take(index, measurement); },
            .on_error = [this](std::size_t index, const std::string& message) { take_error(index, message); }};
  }

  const Options& options_;
  Machine machine_;
  std::vector<Case> requests_;
  std::optional<evidence::MeasurementFileWriter> file_;
  Work work_;
  std::optional<ProgressCounter> progress_;
  std::size_t asked_ = 0, failed_ = 0;
};

void run(Options options) {
  options.run.condition = from_name<Condition>(options.condition, "--condition");
  if (options.in_turn && (options.run.condition != Condition::sustained || options.run.spans))
    throw InputError("--in-turn", "expected neither --condition short nor --kernels beside it");
  Measuring(options).run();
}

}  // namespace

void add_measure_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("measure", "Measure cases on the GPUs of this machine (JSON lines)");
  auto options = std::make_shared<Options>();
  command->add_option("CASES", options->cases, "File of cases, as weft predict reads them")->required();
  command->add_option("--machine", options->machine, "Profile of this machine")->required();
  command->add_option("--out", options->out, "File to append measurements to; what it holds is not measured again")
      ->required();
  command
      ->add_option("--condition", options->condition,
                   "sustained: under load without a pause until times agree; short: runs of --target-ms after a pause")
      ->capture_default_str();
  command->add_option("--windows", options->run.windows, "Windows of 50 ms of load at least, the last six count")
      ->check(CLI::Range(fewest_windows, most_windows))
      ->capture_default_str();
  command->add_flag("--in-turn", options->in_turn,
                    "Let the cases of one workload take turns every few milliseconds: their ratios are of one clock");
  command
      ->add_option("--repeats", options->run.repeats,
                   "Timed runs of each case with --condition short; the median counts")
      ->check(CLI::Range(1, 100));
  command->add_option("--target-ms", options->run.target_ms, "Load of one timed run with --condition short")
      ->check(CLI::Range(1.0, 10000.0));
  command->add_option("--time-limit", options->run.time_limit_s, "Seconds for each case")
      ->check(CLI::Range(1.0, 3600.0));
  command->add_flag("!--no-check", options->run.check, "Do not compare results with a reference");
  command->add_flag(
      "--kernels", options->run.spans,
      "Record the kernels of each case in a second, profiled run, into a file beside it that ends in .kernels");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
