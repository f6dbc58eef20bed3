// weft draw: validation sets, one file of cases for each number of GPUs.
#include <filesystem>
#include <iostream>
#include <memory>

#include "calibration/evidence/draw.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "models/base/text_file.hpp"
#include "tools/commands/commands.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  std::uint64_t seed = 0;
  std::filesystem::path out;
  std::vector<int> gpus{2, 4};
  bool both_priorities = false;
};

void run(const Options& options) {
  for (const int gpus : options.gpus) {
    const std::vector<scenarios::Case> cases = evidence::draw_cases(
        options.seed, gpus, options.both_priorities ? evidence::Priorities::both : evidence::Priorities::urgent);
    const std::filesystem::path path = options.out / ("cases_" + std::to_string(gpus) + "gpu.jsonl");
    write_text_file(path, evidence::lines_of(cases));
    std::cout << path.string() << ": " << cases.size() << " cases\n";
  }
}

}  // namespace

void add_draw_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("draw", "Draw a validation set from a seed, before anything is measured");
  auto options = std::make_shared<Options>();
  command->add_option("--seed", options->seed, "The same seed draws the same cases on every machine")->required();
  command->add_option("--out", options->out, "Folder for cases_2gpu.jsonl, …")
      ->required()
      ->check(CLI::ExistingDirectory);
  command->add_option("--gpus", options->gpus, "Numbers of GPUs, of 2, 4 and 8; 2,4 where left out")->delimiter(',');
  command->add_flag("--both-priorities", options->both_priorities,
                    "Chunks with their collectives on an ordinary stream as well");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
