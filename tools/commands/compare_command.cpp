// weft compare: a predicted and a measured run of one schedule, span by span, as a table and in one picture.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "calibration/evidence/trace_comparison.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/execution/trace_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/table.hpp"
#include "tools/report/trace_picture.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {

namespace {

struct Options {
  std::string predicted, measured, trace, svg, json;
};

std::string percent(const std::optional<double>& error) { return error ? signed_percent(*error) : "-"; }

void print(const evidence::TraceComparison& comparison) {
  report::Table table({"operation", "kind", "GPUs", "predicted us", "measured us", "error", "worst GPU", "its error",
                       "predicted start us", "measured start us"});
  for (const evidence::OperationComparison& row : comparison.operations)
    table.add({row.operation, row.kind, std::to_string(row.gpus), fixed(row.duration.predicted_us, 1),
               fixed(row.duration.measured_us, 1), percent(row.duration.error()), std::to_string(row.worst_gpu),
               percent(row.worst_duration.error()), fixed(row.start.predicted_us, 1), fixed(row.start.measured_us, 1)});
  const evidence::TimePair& total = comparison.total;
  table.add({"iteration", "", "", fixed(total.predicted_us, 1), fixed(total.measured_us, 1), percent(total.error()), "",
             "", "", ""});
  std::cout << table;
  if (comparison.merged_ranks) std::cout << "Predicted with its ranks merged: GPU 0 stands for each GPU.\n";
  for (const evidence::UnmatchedSpan& span : comparison.unmatched)
    std::cout << "Only in the " << span.trace << " trace: " << span.operation << " on GPU " << span.gpu << '\n';
}

using nlohmann::ordered_json;

ordered_json as_json(const std::optional<double>& error) { return error ? ordered_json(*error) : ordered_json(); }

ordered_json as_json(const evidence::TimePair& pair) {
  return {{"predicted_us", pair.predicted_us}, {"measured_us", pair.measured_us}, {"error", as_json(pair.error())}};
}

ordered_json as_json(const evidence::TraceComparison& comparison) {
  ordered_json operations = ordered_json::array(), unmatched = ordered_json::array();
  for (const evidence::OperationComparison& row : comparison.operations)
    operations.push_back({{"operation", row.operation},
                          {"kind", row.kind},
                          {"gpus", row.gpus},
                          {"duration", as_json(row.duration)},
                          {"start", {{"predicted_us", row.start.predicted_us}, {"measured_us", row.start.measured_us}}},
                          {"worst_gpu", row.worst_gpu},
                          {"worst_duration", as_json(row.worst_duration)}});
  for (const evidence::UnmatchedSpan& span : comparison.unmatched)
    unmatched.push_back({{"trace", span.trace}, {"operation", span.operation}, {"gpu", span.gpu}});
  return {{"iteration", as_json(comparison.total)},
          {"operations", std::move(operations)},
          {"unmatched", std::move(unmatched)},
          {"merged_ranks", comparison.merged_ranks}};
}

void compare_files(const Options& options) {
  for (const std::string& path : {options.trace, options.svg, options.json}) require_writable(path);
  Trace predicted = read_trace(options.predicted);
  Trace measured = read_trace(options.measured);
  const evidence::TraceComparison comparison = evidence::compare(predicted, measured);
  if (comparison.operations.empty())
    throw InputError(options.measured,
                     "expected a run of the schedule of " + options.predicted + ", got none of its operations");
  if (predicted.source == measured.source) {  // two predictions, or two runs: the picture's lanes need two names
    predicted.source += " " + options.predicted;
    measured.source += " " + options.measured;
  }
  std::ostringstream picture;
  write_perfetto({predicted, measured}, picture);
  if (!options.trace.empty()) write_text_file(options.trace, picture.str());
  if (!options.svg.empty()) write_text_file(options.svg, report::svg_picture({predicted, measured}));
  if (!options.json.empty()) write_json_file(options.json, as_json(comparison));
  print(comparison);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "Compare two traces of one schedule, span by span");
  auto options = std::make_shared<Options>();
  command->add_option("PREDICTED", options->predicted, "Trace of weft simulate")->required();
  command->add_option("MEASURED", options->measured, "Trace of weft run")->required();
  command->add_option("--trace", options->trace, "Write both runs into this file, for https://ui.perfetto.dev");
  command->add_option("--svg", options->svg, "Draw both runs on GPU 0 into this file");
  command->add_option("--json", options->json, "Write the comparison into this file");
  command->callback([options] { compare_files(*options); });
}

}  // namespace weft::tools::commands
