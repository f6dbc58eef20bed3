// weft compare: a predicted and a measured run of one schedule, span by span, as a table and in one picture.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/evidence/trace_comparison.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/execution/trace_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/report/trace_picture.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {

namespace {

struct Options {
  std::string predicted, measured, trace, svg;
  Output output;
};

report::Cell cell_of(const std::optional<double>& error) {
  return error ? report::Cell(report::error(*error)) : report::Cell("-");
}
report::Number us(double time_us) { return {time_us, 1}; }

report::Report report_of(const evidence::TraceComparison& comparison) {
  report::Section section{
      "",
      {{"operation", report::droppable("kind", 3), report::droppable("GPUs", 4), "predicted us", "measured us", "error",
        report::droppable("worst GPU", 2), report::droppable("its error", 2),
        report::droppable("predicted start us", 1), report::droppable("measured start us", 1)},
       {}},
      {}};
  for (const evidence::OperationComparison& row : comparison.operations)
    section.table.rows.push_back({row.operation, row.kind, report::count(row.gpus), us(row.duration.predicted_us),
                                  us(row.duration.measured_us), cell_of(row.duration.error()),
                                  report::count(row.worst_gpu), cell_of(row.worst_duration.error()),
                                  us(row.start.predicted_us), us(row.start.measured_us)});
  const evidence::TimePair& total = comparison.total;
  section.table.rows.push_back(
      {"iteration", "", "", us(total.predicted_us), us(total.measured_us), cell_of(total.error()), "", "", "", ""});
  if (comparison.merged_ranks)
    section.notes.emplace_back("Predicted with its ranks merged: GPU 0 stands for each GPU.");
  for (const evidence::UnmatchedSpan& span : comparison.unmatched)
    section.notes.push_back("Only in the " + span.trace + " trace: " + span.operation + " on GPU " +
                            std::to_string(span.gpu));
  return {.title = "", .sections = {section}, .notes = {}, .document = to_json(comparison)};
}

void compare_files(const Options& options) {
  for (const std::string& path : {options.trace, options.svg}) require_writable(path);
  options.output.require_writable();
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
  if (!options.trace.empty()) write_perfetto(options.trace, {{.trace = predicted}, {.trace = measured}});
  if (!options.svg.empty()) write_text_file(options.svg, report::svg_picture({predicted, measured}));
  options.output.write(report_of(comparison));
}

}  // namespace

void add_compare_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "Compare two traces of one schedule, span by span");
  auto options = std::make_shared<Options>();
  reads(command->add_option("PREDICTED", options->predicted, "Trace of weft simulate"))->required();
  reads(command->add_option("MEASURED", options->measured, "Trace of weft run"))->required();
  writes(command->add_option("--trace", options->trace, "Write both runs into this file, for https://ui.perfetto.dev"));
  writes(command->add_option("--svg", options->svg, "Draw both runs on GPU 0 into this file"));
  options->output.add_to(*command, "Write the comparison into this file");
  command->callback([options] { compare_files(*options); });
}

}  // namespace weft::tools::commands
