// weft reproduce: what a paper claims, beside what the simulator says of it.
#include "calibration/evidence/reproduction.hpp"
#include "calibration/report/claims_report.hpp"
#include "models/base/input_error.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct ReproduceOptions {
  std::string paper;
  Output output;
};

std::filesystem::path path_of(const std::string& paper) {
  const std::filesystem::path folder = scenario_folder() / "published";
  std::string known;
  for (const std::string& name : evidence::papers_in(folder)) {
    if (name == paper) return folder / (name + ".json");
    known += (known.empty() ? "" : ", ") + name;
  }
  if (std::filesystem::is_regular_file(paper)) return paper;
  if (known.empty()) known = "(none in " + folder.string() + ")";
  throw InputError("PAPER", "expected one of " + known + ", or a file of claims, got \"" + paper + "\"");
}

void run_reproduce(const ReproduceOptions& options) {
  options.output.require_writable();
  const evidence::ClaimFile file = evidence::read_claims(path_of(options.paper));
  const std::vector<evidence::Verdict> verdicts = evidence::reproduce(
      file, [](const std::string& name) { return read_machine(machine_path(name)); }, show_progress("cases"));
  options.output.write(calibration::report::claims_report(file, verdicts));
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "reproduce", "What a paper claims, beside what the simulator says", run_reproduce);
  command
      .add_option("PAPER", options.paper, "A paper whose claims are shipped, such as flashoverlap, or a file of claims")
      ->required();
  options.output.add_to(command, "Write claims and verdicts as one JSON object");
}

}  // namespace weft::tools::commands
