// weft reproduce: what a paper claims, beside what the simulator says of it.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/evidence/reproduction.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string paper, json;
};

/// What the values of a quantity are in.
std::string unit_of(evidence::Quantity quantity) {
  if (quantity == evidence::Quantity::time_us) return "us";
  return quantity == evidence::Quantity::stages ? "stages" : "ratio";
}

// --- Text ------------------------------------------------------------------------------------------------------

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

/// From the lowest to the highest of the published values, where each observation has its own.
evidence::Range published_range(const evidence::Claim& claim) {
  if (claim.published) return *claim.published;
  evidence::Range all = *claim.observations.front().published;
  for (const evidence::Observation& observation : claim.observations) {
    const evidence::Range& one = *observation.published;
    all.low = one.low && all.low ? std::optional(std::min(*one.low, *all.low)) : std::nullopt;
    all.high = one.high && all.high ? std::optional(std::max(*one.high, *all.high)) : std::nullopt;
  }
  return all;
}

std::string verdict_text(const evidence::Claim& claim, const evidence::Verdict& verdict) {
  const std::string word = verdict.holds ? "yes" : "no";
  if (claim.summary != evidence::Summary::each || claim.observations.size() == 1) return word;
  return word + ", " + std::to_string(verdict.holding()) + " of " + std::to_string(verdict.observations.size());
}

/// Claims that do not hold, by their numbers, and why; those of one reason together.
void print_reasons(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  std::vector<std::pair<std::string, std::string>> reasons;  // and the claims' numbers
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].holds) continue;
    const std::string& note = file.claims[i].note;
    const std::string reason = note.empty() ? "The reason is not known." : note, number = std::to_string(i + 1);
    const auto known =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == reason; });
    if (known == reasons.end())
      reasons.emplace_back(reason, number);
    else
      known->second += ", " + number;
  }
  if (!reasons.empty()) std::cout << "\nWhat was assumed of those that do not hold, and why they may not:\n";
  for (const auto& [reason, numbers] : reasons) std::cout << "  " << numbers << ": " << reason << '\n';
}

void print(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  std::cout << file.title << " (" << file.reference << ")\n\n";
  report::Table table({"#", "claim", "source", "machine", "published", "+- %", "simulated", "holds"});
  std::size_t holding = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const evidence::Claim& claim = file.claims[i];
    const evidence::Verdict& verdict = verdicts[i];
    const std::string prefix =
        claim.summary == evidence::Summary::each ? "" : std::string(name_of(claim.summary)) + " ";
    table.add({std::to_string(i + 1), claim.claim, claim.source, claim.machine,
               text_of(published_range(claim), claim.quantity), fixed(100 * claim.tolerance, 0),
               prefix + text_of(evidence::Range{verdict.low, verdict.high}, claim.quantity),
               verdict_text(claim, verdict)});
    holding += verdict.holds ? 1 : 0;
  }
  std::cout << table << holding << " of " << verdicts.size()
            << " claims hold: simulated within the published range, widened by +- %.\n";
  print_reasons(file, verdicts);
  if (!file.not_simulated.empty()) std::cout << "\nNot simulated:\n";
  for (const evidence::UnaskedClaim& unasked : file.not_simulated)
    std::cout << "  " << unasked.claim << " (" << unasked.source << "). " << unasked.why << '\n';
}

// --- JSON ------------------------------------------------------------------------------------------------------

ordered_json as_json(const std::optional<double>& end) { return end ? ordered_json(*end) : ordered_json(); }

ordered_json as_json(const evidence::Range& range) { return {as_json(range.low), as_json(range.high)}; }

ordered_json as_json(const evidence::Claim& claim, const evidence::Verdict& verdict) {
  const std::string unit = unit_of(claim.quantity);
  ordered_json observations = ordered_json::array();
  for (std::size_t i = 0; i < verdict.observations.size(); ++i) {
    ordered_json one{{"name", claim.observations[i].name}};
    if (const auto& own = claim.observations[i].published) one["published_" + unit] = as_json(*own);
    one["simulated_" + unit] = verdict.observations[i].value;
    one["holds"] = verdict.observations[i].holds;
    observations.push_back(std::move(one));
  }
  return {{"id", claim.id},
          {"claim", claim.claim},
          {"source", claim.source},
          {"machine", claim.machine},
          {"quantity", name_of(claim.quantity)},
          {"summary", name_of(claim.summary)},
          {"published_" + unit, as_json(published_range(claim))},
          {"tolerance_ratio", claim.tolerance},
          {"simulated_" + unit, {verdict.low, verdict.high}},
          {"holds", verdict.holds},
          {"note", claim.note},
          {"observations", std::move(observations)}};
}

ordered_json as_json(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  ordered_json claims = ordered_json::array(), not_simulated = ordered_json::array();
  for (std::size_t i = 0; i < verdicts.size(); ++i) claims.push_back(as_json(file.claims[i], verdicts[i]));
  for (const evidence::UnaskedClaim& unasked : file.not_simulated)
    not_simulated.push_back({{"claim", unasked.claim}, {"source", unasked.source}, {"why", unasked.why}});
  return {{"paper", file.paper},
          {"title", file.title},
          {"reference", file.reference},
          {"claims", std::move(claims)},
          {"not_simulated", std::move(not_simulated)}};
}

// ---------------------------------------------------------------------------------------------------------------

std::filesystem::path path_of(const std::string& paper) {
  const std::filesystem::path folder = scenario_folder() / "published";
  std::string known;
  for (const std::string& name : evidence::papers_in(folder)) {
    if (name == paper) return folder / (name + ".json");
    known += (known.empty() ? "" : ", ") + name;
  }
  if (known.empty()) known = "(none in " + folder.string() + ")";
  throw InputError("PAPER", "expected one of " + known + ", got \"" + paper + "\"");
}

void run(const Options& options) {
  require_writable(options.json);
  const evidence::ClaimFile file = evidence::read_claims(path_of(options.paper));
  const std::vector<evidence::Verdict> verdicts =
      evidence::reproduce(file, [](const std::string& name) { return read_machine(machine_path(name)); });
  if (!options.json.empty()) write_json_file(options.json, as_json(file, verdicts));
  print(file, verdicts);
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("reproduce", "What a paper claims, beside what the simulator says");
  auto options = std::make_shared<Options>();
  command->add_option("PAPER", options->paper, "flashoverlap, tokenweave, async_tp, magiattention or ficco")
      ->required();
  command->add_option("--json", options->json, "Write claims and verdicts as one JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
