// weft reproduce: what a paper claims, beside what the simulator says of it.
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/evidence/reproduction.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  std::string paper;
  Output output;
};

std::string text_of(double value, evidence::Quantity quantity) {
  if (quantity == evidence::Quantity::stages) return fixed(value, 0);
  if (quantity == evidence::Quantity::time_us) return fixed(value, 1);
  return fixed(value, value > 0 && value < 0.1 ? 4 : 2);
}

std::string text_of(const evidence::Range& range, evidence::Quantity quantity) {
  if (!range.high) return ">= " + text_of(*range.low, quantity);
  if (!range.low) return "<= " + text_of(*range.high, quantity);
  const std::string low = text_of(*range.low, quantity), high = text_of(*range.high, quantity);
  return low == high ? low : low + " .. " + high;
}

std::string verdict_text(const evidence::Verdict& verdict) {
  if (verdict.holds) return "yes";
  if (!verdict.blind) return "no";
  if (verdict.blind->constant_holds) return "no: so does a constant answer";
  return verdict.blind->random_holds ? "no: so does a random answer" : "no";
}

std::string share_text(const evidence::Verdict& verdict) {
  return std::to_string(verdict.holding()) + " of " + std::to_string(verdict.observations.size());
}

std::string prefix_of(evidence::Summary summary) {
  const bool is_of_each = summary == evidence::Summary::each || summary == evidence::Summary::mean_error;
  return is_of_each ? "" : std::string(name_of(summary)) + " ";
}

report::Section reasons_of(const std::vector<evidence::Shortfall>& shortfalls) {
  report::Section section{"What was assumed of those that do not hold, and why they may not:", {}, {}};
  for (const auto& [reason, claims] : shortfalls) {
    std::string numbers;
    for (const std::size_t number : claims) numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
    section.notes.push_back("  " + numbers + ": " + reason);
  }
  return section;
}

report::Section claims_of(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  report::Section section{
      "",
      {{"#", "claim", report::droppable("source", 1), report::droppable("machine", 2),
        report::droppable("published", 4), report::droppable("+- %", 3), report::droppable("simulated", 4), "holds",
        report::droppable("cases", 4), report::droppable("error %", 4)},
       {}},
      {}};
  std::size_t holding = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const evidence::Claim& claim = file.claims[i];
    const evidence::Verdict& verdict = verdicts[i];
    section.table.rows.push_back(
        {report::count(i + 1), claim.claim, claim.source, claim.machine,
         text_of(published_range(claim), claim.quantity), report::Number{100 * claim.tolerance},
         prefix_of(claim.summary) + text_of(evidence::Range{verdict.low, verdict.high}, claim.quantity),
         verdict_text(verdict), share_text(verdict), report::Number{100 * verdict.mean_error, 1}});
    holding += verdict.holds ? 1 : 0;
  }
  section.notes.push_back(std::to_string(holding) + " of " + std::to_string(verdicts.size()) +
                          " claims hold: simulated within the published range, widened by +- %, or by so much off on "
                          "average where only the error counts. Cases: how many hold by themselves. Error: how far "
                          "outside of the range they are on average.");
  return section;
}

report::Report report_of(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  report::Report report{.title = file.title + " (" + file.reference + ")",
                        .sections = {claims_of(file, verdicts)},
                        .notes = {},
                        .document = to_json(file, verdicts)};
  if (const report::Section reasons = reasons_of(shortfalls(file, verdicts)); !reasons.notes.empty())
    report.sections.push_back(reasons);
  report::Section not_simulated{"Not simulated:", {}, {}};
  for (const evidence::UnaskedClaim& unasked : file.not_simulated)
    not_simulated.notes.push_back("  " + unasked.claim + " (" + unasked.source + "). " + unasked.why);
  if (!not_simulated.notes.empty()) report.sections.push_back(not_simulated);
  return report;
}

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

void run(const Options& options) {
  options.output.require_writable();
  const evidence::ClaimFile file = evidence::read_claims(path_of(options.paper));
  const std::vector<evidence::Verdict> verdicts = evidence::reproduce(
      file, [](const std::string& name) { return read_machine(machine_path(name)); }, show_progress("cases"));
  options.output.write(report_of(file, verdicts));
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("reproduce", "What a paper claims, beside what the simulator says");
  auto options = std::make_shared<Options>();
  command
      ->add_option("PAPER", options->paper,
                   "flashoverlap, tokenweave, async_tp, magiattention, ficco or strangers, or a file of claims")
      ->required();
  options->output.add_to(*command, "Write claims and verdicts as one JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
