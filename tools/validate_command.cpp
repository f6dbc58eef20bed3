// weft validate: how far predictions are from measurements.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/statistics.hpp"
#include "models/json_file.hpp"
#include "models/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "tools/accuracy.hpp"
#include "tools/commands.hpp"
#include "tools/machine_files.hpp"
#include "tools/table.hpp"

namespace weft::tools {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files;
  std::string machine, json;
  bool rows = false;
};

std::string percent(double share) { return fixed(100 * share, 1); }

ordered_json to_json(const Accuracy& accuracy) {
  return {{"cases", accuracy.cases},   {"mean_error", accuracy.mean},           {"median_error", accuracy.median},
          {"p90_error", accuracy.p90}, {"max_error", accuracy.maximum},         {"bias", accuracy.bias},
          {"noise", accuracy.noise},   {"interval_coverage", accuracy.coverage}};
}

void print_rows(const std::vector<Comparison>& comparisons) {
  Table table({"workload", "schedule", "GPUs", "measured us", "predicted us", "error %", "noise %"});
  for (const Comparison& one : comparisons) {
    const auto& repeats = one.measured.repeats_us;
    const double noise = repeats.empty() ? 0 : calibration::relative_spread(repeats);
    table.add({describe(one.measured.request.workload), describe(one.measured.request.schedule),
               std::to_string(one.measured.request.gpus), fixed(one.measured.time_us, 1), fixed(one.predicted_us, 1),
               percent(one.error()), percent(noise)});
  }
  std::cout << table << '\n';
}

void run(const Options& options) {
  require_writable(options.json);
  const Machine machine = read_machine(machine_path(options.machine));
  std::vector<MeasuredCase> measured;
  for (const std::string& file : options.files)
    for (MeasuredCase& one : read_measurements(file)) measured.push_back(std::move(one));
  std::size_t refused = 0;
  const std::vector<Comparison> comparisons = compare(measured, machine, refused);

  Table table(
      {"op | family | GPUs", "cases", "mean %", "median %", "p90 %", "max %", "bias %", "noise %", "covered %"});
  ordered_json strata = ordered_json::object();
  const auto add = [&](const std::string& name, const std::vector<Comparison>& some) {
    const Accuracy accuracy = accuracy_of(some);
    table.add({name, std::to_string(accuracy.cases), percent(accuracy.mean), percent(accuracy.median),
               percent(accuracy.p90), percent(accuracy.maximum), percent(accuracy.bias), percent(accuracy.noise),
               percent(accuracy.coverage)});
    strata[name] = to_json(accuracy);
  };
  for (const auto& [name, some] : by_stratum(comparisons)) add(name, some);
  add("all", comparisons);
  if (!options.json.empty())
    write_json_file(options.json, {{"machine", machine.name}, {"files", options.files}, {"strata", strata}});
  if (options.rows) print_rows(comparisons);
  std::cout << table;
  if (refused > 0)
    std::cout << refused << " measurements of schedules that the simulator does not have are left out.\n";
}

}  // namespace

void add_validate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("validate", "Compare predictions with measurements");
  auto options = std::make_shared<Options>();
  command->add_option("MEASUREMENTS", options->files, "Files that weft measure wrote")->required();
  command->add_option("--machine", options->machine, "Name or path of a machine profile")->required();
  command->add_option("--json", options->json, "Write the table as one JSON object");
  command->add_flag("--rows", options->rows, "Print every case");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools
