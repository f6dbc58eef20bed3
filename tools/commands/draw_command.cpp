// weft draw: validation sets, one file of cases for each number of GPUs.
#include <filesystem>
#include <iostream>

#include "calibration/evidence/draw.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "models/base/text_file.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

struct DrawOptions {
  std::uint64_t seed = 0;
  std::filesystem::path out;
  std::vector<int> gpus{2, 4};
  bool both_priorities = false;
};

/// Draws all before it writes any, so that a number of GPUs that is refused leaves nothing behind.
void run_draw(const DrawOptions& options) {
  const auto priorities = options.both_priorities ? evidence::Priorities::both : evidence::Priorities::urgent;
  std::vector<std::vector<scenarios::Case>> drawn;
  for (const int gpus : options.gpus) drawn.push_back(evidence::draw_cases(options.seed, gpus, priorities));
  make_folder(options.out);
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const std::filesystem::path path = options.out / ("cases_" + std::to_string(options.gpus[i]) + "gpu.jsonl");
    write_text_file(path, evidence::lines_of(drawn[i]));
    std::cout << path.string() << ": " << drawn[i].size() << " cases\n";
  }
}

}  // namespace

void add_draw_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "draw", "Draw a validation set from a seed, before anything is measured", run_draw);
  command.add_option("--seed", options.seed, "The same seed draws the same cases on every machine")
      ->required()
      ->check(seeds());
  writes_into(command.add_option("--out", options.out, "For cases_2gpu.jsonl, …"))->required();
  command.add_option("--gpus", options.gpus, "Numbers of GPUs, of 2, 4 and 8; 2,4 where left out")->delimiter(',');
  command.add_flag("--both-priorities", options.both_priorities,
                   "Chunks with their collectives on an ordinary stream as well");
}

}  // namespace weft::tools::commands
