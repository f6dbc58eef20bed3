// weft plan: what to measure on a machine so that its profile can be fitted.
#include <filesystem>
#include <iostream>

#include "calibration/evidence/calibration_plan.hpp"
#include "calibration/evidence/library_questions.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "models/base/text_file.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

struct PlanOptions {
  std::uint64_t seed = 0;
  std::filesystem::path out;
  std::vector<int> gpus{1, 2, 4};
};

void run_plan(const PlanOptions& options) {
  const std::vector<evidence::PlanFile> plan = evidence::calibration_plan(options.seed, options.gpus);
  make_folder(options.out);
  for (const evidence::PlanFile& file : plan) {
    const std::filesystem::path path = options.out / (file.name + ".jsonl");
    write_text_file(path, evidence::lines_of(file.cases));
    std::cout << path.string() << ": " << file.cases.size() << " cases\n";
  }
  const std::filesystem::path path = options.out / "library_questions.txt";
  const std::vector<MatrixSize> questions = evidence::library_questions(options.seed, plan);
  write_text_file(path, evidence::text_of(questions));
  std::cout << path.string() << ": " << questions.size() << " GEMMs\n";
}

}  // namespace

void add_plan_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "plan", "Write the cases that calibrate a machine, drawn from a seed", run_plan);
  command.add_option("--seed", options.seed, "The same seed draws the same cases on every machine")
      ->required()
      ->check(seeds());
  writes_into(command.add_option("--out", options.out, "For gemm.jsonl, pairs_2gpu.jsonl, …, library_questions.txt"))
      ->required();
  command.add_option("--gpus", options.gpus, "Numbers of GPUs, of 1, 2, 4 and 8; 1,2,4 where left out")->delimiter(',');
}

}  // namespace weft::tools::commands
