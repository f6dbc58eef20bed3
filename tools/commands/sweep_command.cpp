// weft sweep: a file that spans many cases, answered on all cores into a store that survives being killed.
#include <memory>

#include "models/base/text_file.hpp"
#include "scenarios/report/heat_picture.hpp"
#include "scenarios/study/sweep_findings.hpp"
#include "scenarios/study/sweep_run.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  std::string sweep, store, heatmap, x, y;
  bool pareto = false;
  Output output;
};

report::Section summary_of(study::SweepFindings& findings) {
  report::Table table{{"machine", "GPUs", "op", report::droppable("questions", 3), "overlap gains", "mean speedup",
                       report::droppable("largest", 2), report::droppable("most often fastest", 1)},
                      {}};
  for (const study::SweepSummary& one : findings.summaries())
    table.rows.push_back({one.group.machine, report::count(one.group.gpus), one.group.op, report::count(one.questions),
                          report::percent(static_cast<double>(one.gains) / static_cast<double>(one.questions)),
                          report::ratio(one.mean_speedup), report::ratio(one.largest_speedup), one.usual_winner});
  report::Section section{"The fastest schedule of each question", std::move(table), {}};
  const std::int64_t errors = findings.errors();
  section.notes.push_back(
      std::to_string(findings.cases()) + " cases" +
      (errors == 0 ? "." : ", of which " + std::to_string(errors) + " cannot be done (column error)."));
  return section;
}

report::Section pareto_of(study::SweepFindings& findings) {
  report::Table table{{"machine", "work", "GPUs", "schedule", "us", "mJ"}, {}};
  for (const study::ParetoPoint& one : findings.pareto())
    table.rows.push_back({one.machine, one.work, report::count(one.gpus), one.schedule, report::Number{one.time_us, 1},
                          report::Number{one.energy_mJ, 1}});
  return {"What no other schedule beats in time, GPUs and energy", std::move(table), {}};
}

/// The two keys that vary, where the user names none. Throws InputError where there are no two.
void write_heatmap(const Options& options, study::SweepFindings& findings) {
  std::string x = options.x, y = options.y;
  for (const std::string& axis : findings.axes()) {
    if (x.empty() && axis != y)
      x = axis;
    else if (y.empty() && axis != x)
      y = axis;
  }
  if (x.empty() || y.empty())
    throw InputError("--heatmap", "expected a sweep of which two of m, tokens, bytes, n, k and gpus vary");
  write_text_file(options.heatmap, scenarios::report::heat_picture(x, y, findings.heat(x, y)));
}

void report_on(const Options& options) {
  study::SweepFindings findings(options.store);
  if (!options.heatmap.empty()) write_heatmap(options, findings);
  report::Report report;
  report.sections.push_back(options.pareto ? pareto_of(findings) : summary_of(findings));
  options.output.write(report);
}

/// Before MPI begins, rank 0 has refused what is wrong: the others wait for it, and mpirun ends them.
void run(const Options& options) {
  const bool is_first = study::rank_of_launcher() == 0;
  std::unique_ptr<study::Ranks> ranks;
  if (!is_first) ranks = study::join_ranks();
  require_writable(options.heatmap);
  const study::Sweep sweep = study::read_sweep(options.sweep);
  std::vector<Machine> machines;
  try {
    machines = study::machines_of(sweep);
  } catch (const InputError& error) {
    throw error.in_file(options.sweep);
  }
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
  const study::SweepWork work{sweep, machines, executor};
  if (!is_first) return study::help_sweep(work, *ranks);
  {
    study::SweepStore store(options.store, sweep);
    ranks = study::join_ranks();
    study::run_sweep(work, store, *ranks, show_progress("cases"));
  }
  report_on(options);
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("sweep", "Predict all cases that a file spans, into a store that goes on when killed");
  auto options = std::make_shared<Options>();
  reads(command->add_option("SWEEP", options->sweep, "Sweep file (weft.sweep/1)"))->required();
  writes(command->add_option("--store", options->store,
                             "SQLite file that takes the answers as they come; a sweep that was "
                             "interrupted goes on in it"))
      ->required();
  auto* heatmap =
      writes(command->add_option("--heatmap", options->heatmap, "Draw the largest speedups into this SVG file"));
  command->add_option("--x", options->x, "Key to the right (default: the first that varies)")->needs(heatmap);
  command->add_option("--y", options->y, "Key upwards (default: the second that varies)")->needs(heatmap);
  command->add_flag("--pareto", options->pareto,
                    "Print the schedules that no other one beats in time, GPUs and energy");
  options->output.add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
