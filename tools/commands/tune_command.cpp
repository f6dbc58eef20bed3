// weft tune: TokenWeave's table for one model, the split and the CTAs of each number of tokens.
#include <algorithm>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text_file.hpp"
#include "models/cost/all_reduce_norm_model.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/profile_checksum.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/library/open_profile.hpp"
#include "scenarios/model_config.hpp"
#include "scenarios/report/token_split_report.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/token_split_table.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

struct TuneOptions {
  std::string model, machine, out;
  Output output;
  std::vector<std::int64_t> tokens{1024, 2048, 4096, 8192, 16384, 32768, 65536};
  std::vector<int> ctas;
  int gpus = 0;
  bool nccl = false;
};

template <class Number>
std::vector<Number> ascending(std::vector<Number> values, const char* option, Number least) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.front() < least)
    throw InputError(option, "expected at least " + std::to_string(least) + ", got " + std::to_string(values.front()));
  return values;
}

study::TableQuestion question_of(const TuneOptions& options, const Machine& machine) {
  study::TableQuestion question;
  question.profile = profile_checksum(machine_path(options.machine));
  const auto layer = scenarios::layer_of(scenarios::read_model_config(options.model), 1);
  if (!layer)
    throw InputError(options.model,
                     "expected a model without multi-head latent attention, whose layers are not simulated");
  question.layer = *layer;
  question.tokens = ascending(options.tokens, "--tokens", std::int64_t{1});
  question.gpus = options.gpus == 0 ? machine.gpus : options.gpus;
  question.fused_norm = !options.nccl;
  if (question.fused_norm && !has_all_reduce_norm(machine))
    throw InputError("--machine",
                     "expected one with the fused all-reduce and norm, or --nccl with it, got " + machine.name);
  const std::vector<int> defaults = options.nccl ? std::vector{0, 4, 8, 16} : std::vector{2, 4, 8, 16, 32};
  question.ctas = ascending(options.ctas.empty() ? defaults : options.ctas, "--ctas", options.nccl ? 0 : 1);
  return question;
}

/// Errors of a layer that cannot be split name the file of the model.
std::vector<study::TableRow> rows_of(const study::TableQuestion& question, const TuneOptions& options,
                                     const Machine& machine, const std::string& progress) {
  try {
    sim::SimulatedExecutor executor(sim::times_only);
    return study::token_split_table(question, machine, executor, progress, show_progress("schedules"));
  } catch (const InputError& error) {
    if (!error.field().starts_with("workload.")) throw;
    throw error.in_file(options.model);
  }
}

/// Whether too much of some row is assumed.
bool is_guess(const std::vector<study::TableRow>& rows, const study::TableQuestion& question,
              const scenarios::library::OpenProfile& profile) {
  return std::ranges::any_of(rows, [&](const study::TableRow& row) {
    scenarios::LayerWorkload layer = question.layer;
    layer.tokens = row.tokens;
    const scenarios::Case as_run{
        .id = "", .gpus = question.gpus, .workload = layer, .schedule = row.choice, .measured = {}};
    const Schedule schedule = scenarios::families::build(as_run, profile.machine);
    return study::grade_of(schedule, row.time_us, profile.machine, profile.grades) == Grade::assumed;
  });
}

void run_tune(const TuneOptions& options) {
  require_writable(options.out);
  const scenarios::library::OpenProfile profile(options.machine);
  const Machine& machine = profile.machine;
  const study::TableQuestion question = question_of(options, machine);
  const std::string progress = options.out.empty() ? "" : options.out + ".progress";
  const std::vector<study::TableRow> rows = rows_of(question, options, machine, progress);
  report::Report report = scenarios::report::token_split_report(rows, question, options.model, machine);
  if (is_guess(rows, question, profile))
    report.notes.push_back("A guess: over a tenth of the time rests on assumptions (weft explore says which).");
  if (!options.out.empty()) {
    write_json_file(options.out, *report.document.json());
    remove_file(progress);
  }
  options.output.write(report);
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "tune", "Find the token split and the CTAs for each number of tokens", run_tune);
  reads(command.add_option("MODEL", options.model, "config.json of a model, as Hugging Face has it"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  command.add_option("--gpus", options.gpus, "Tensor-parallel GPUs (default: all of the machine)")
      ->check(numbers(2, 1024));
  command.add_option("--tokens", options.tokens, "Numbers of tokens (default: 1024, 2048, ... 65536)")->delimiter(',');
  command.add_option(
      "--ctas", options.ctas,
      "CTAs to try for the reductions (default: 2 4 8 16 32; with --nccl 0 4 8 16, 0 being the default)");
  command.add_flag("--nccl", options.nccl, "Reduce with NCCL and norm in a kernel of its own");
  writes(command.add_option("--out", options.out,
                            "Write the table as one JSON object; an interrupted search goes on from OUT.progress"));
  options.output.add_to(command);
}

}  // namespace weft::tools::commands
