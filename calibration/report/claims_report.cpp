#include "calibration/report/claims_report.hpp"

#include <nlohmann/json.hpp>

#include "models/base/text.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

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

Section reasons_of(const std::vector<evidence::Shortfall>& shortfalls) {
  Section section{"What was assumed of those that do not hold, and why they may not:", {}, {}};
  for (const auto& [reason, claims] : shortfalls) {
    std::string numbers;
    for (const std::size_t number : claims) numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
    section.notes.push_back("  " + numbers + ": " + reason);
  }
  return section;
}

Section claims_of(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  Section section{
      "",
      {{"#", "claim", droppable("source", 1), droppable("machine", 2), droppable("published", 4), droppable("+- %", 3),
        droppable("simulated", 4), "holds", droppable("cases", 4), droppable("error %", 4)},
       {}},
      {}};
  std::size_t holding = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const evidence::Claim& claim = file.claims[i];
    const evidence::Verdict& verdict = verdicts[i];
    section.table.rows.push_back(
        {count(i + 1), claim.claim, claim.source, claim.machine, text_of(published_range(claim), claim.quantity),
         Number{100 * claim.tolerance},
         prefix_of(claim.summary) + text_of(evidence::Range{verdict.low, verdict.high}, claim.quantity),
         verdict_text(verdict), share_text(verdict), Number{100 * verdict.mean_error, 1}});
    holding += verdict.holds ? 1 : 0;
  }
  section.notes.push_back(std::to_string(holding) + " of " + std::to_string(verdicts.size()) +
                          " claims hold: simulated within the published range, widened by +- %, or by so much off on "
                          "average where only the error counts. Cases: how many hold by themselves. Error: how far "
                          "outside of the range they are on average.");
  return section;
}

}  // namespace

Report claims_report(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts) {
  Report made{.title = file.title + " (" + file.reference + ")",
              .sections = {claims_of(file, verdicts)},
              .document = to_json(file, verdicts)};
  if (const Section reasons = reasons_of(shortfalls(file, verdicts)); !reasons.notes.empty())
    made.sections.push_back(reasons);
  Section not_simulated{"Not simulated:", {}, {}};
  for (const evidence::UnaskedClaim& unasked : file.not_simulated)
    not_simulated.notes.push_back("  " + unasked.claim + " (" + unasked.source + "). " + unasked.why);
  if (!not_simulated.notes.empty()) made.sections.push_back(not_simulated);
  return made;
}

}  // namespace weft::calibration::report
