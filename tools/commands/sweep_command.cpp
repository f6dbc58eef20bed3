// weft sweep: a file that spans many cases, answered on all cores into a store that survives being killed.
#include "models/base/text_file.hpp"
#include "scenarios/report/heat_picture.hpp"
#include "scenarios/report/sweep_report.hpp"
#include "scenarios/study/sweep_findings.hpp"
#include "scenarios/study/sweep_run.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct SweepOptions {
  std::string sweep, store, heatmap, x, y;
  bool pareto = false;
  Output output;
};

void report_on(const SweepOptions& options) {
  study::SweepFindings findings(options.store);
  if (!options.heatmap.empty())
    write_text_file(options.heatmap, scenarios::report::heat_picture(findings, options.x, options.y));
  options.output.write({.sections = {options.pareto ? scenarios::report::pareto_of(findings)
                                                    : scenarios::report::summary_of(findings)}});
}

/// Before MPI begins, rank 0 has refused what is wrong: the others wait for it, and mpirun ends them.
void run_sweep(const SweepOptions& options) {
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
  sim::SimulatedExecutor executor(sim::times_only);
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
  auto [command, options] = add_command(
      app, "sweep", "Predict all cases that a file spans, into a store that goes on when killed", run_sweep);
  reads(command.add_option("SWEEP", options.sweep, "Sweep file (weft.sweep/1)"))->required();
  writes(command.add_option("--store", options.store,
                            "SQLite file that takes the answers as they come; a sweep that was "
                            "interrupted goes on in it"))
      ->required();
  auto* heatmap =
      writes(command.add_option("--heatmap", options.heatmap, "Draw the largest speedups into this SVG file"));
  command.add_option("--x", options.x, "Key to the right (default: the first that varies)")->needs(heatmap);
  command.add_option("--y", options.y, "Key upwards (default: the second that varies)")->needs(heatmap);
  command.add_flag("--pareto", options.pareto, "Print the schedules that no other one beats in time, GPUs and energy");
  options.output.add_to(command);
}

}  // namespace weft::tools::commands
