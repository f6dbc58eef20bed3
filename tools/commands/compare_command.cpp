// weft compare: a predicted and a measured run of one schedule, span by span, as a table and in one picture.
#include <string>

#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/execution/trace_comparison.hpp"
#include "models/execution/trace_json.hpp"
#include "models/report/trace_picture.hpp"
#include "models/report/trace_report.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {

namespace {

struct CompareOptions {
  std::string predicted, measured, trace, svg;
  Output output;
};

void run_compare(const CompareOptions& options) {
  for (const std::string& path : {options.trace, options.svg}) require_writable(path);
  options.output.require_writable();
  Trace predicted = read_trace(options.predicted);
  Trace measured = read_trace(options.measured);
  if (predicted.source == "measured" && measured.source == "predicted")
    throw InputError(options.predicted, "expected the prediction first and the measurement second, got them swapped");
  const TraceComparison comparison = compare(predicted, measured);
  if (comparison.operations.empty())
    throw InputError(options.measured,
                     "expected a run of the schedule of " + options.predicted + ", got none of its operations");
  report::RunNames names;
  if (predicted.source == measured.source) {  // two predictions, or two runs: the picture's lanes need two names
    names = {"first", "second", "difference"};
    predicted.source += " " + options.predicted;
    measured.source += " " + options.measured;
  }
  if (!options.trace.empty()) write_perfetto(options.trace, {{.trace = predicted}, {.trace = measured}});
  if (!options.svg.empty()) write_text_file(options.svg, report::svg_picture({predicted, measured}));
  options.output.write(report::comparison_report(comparison, names));
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "compare", "Compare two traces of one schedule, span by span", run_compare);
  reads(command.add_option("PREDICTED", options.predicted, "Trace of weft simulate"))->required();
  reads(command.add_option("MEASURED", options.measured, "Trace of weft run"))->required();
  writes(command.add_option("--trace", options.trace, "Write both runs into this file, for https://ui.perfetto.dev"));
  writes(command.add_option("--svg", options.svg, "Draw both runs on GPU 0 into this file"));
  options.output.add_to(command, "Write the comparison into this file");
}

}  // namespace weft::tools::commands
