#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/evidence/reproduction.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

/// What the values of a quantity are in.
std::string unit_of(Quantity quantity) {
  if (quantity == Quantity::time_us) return "us";
  return quantity == Quantity::stages ? "stages" : "ratio";
}

ordered_json as_json(const std::optional<double>& end) { return end ? ordered_json(*end) : ordered_json(); }

ordered_json as_json(const Range& range) { return {as_json(range.low), as_json(range.high)}; }

ordered_json as_json(const Claim& claim, const Verdict& verdict) {
  const std::string unit = unit_of(claim.quantity);
  ordered_json observations = ordered_json::array();
  for (std::size_t i = 0; i < verdict.observations.size(); ++i) {
    ordered_json one{{"name", claim.observations[i].name}};
    if (const auto& own = claim.observations[i].published) one["published_" + unit] = as_json(*own);
    one["simulated_" + unit] = verdict.observations[i].value;
    if (const auto& time_us = claim.observations[i].published_us) one["published_us"] = *time_us;
    one["error_ratio"] = verdict.observations[i].error;
    one["holds"] = verdict.observations[i].holds;
    observations.push_back(std::move(one));
  }
  ordered_json json{
      {"id", claim.id},
      {"claim", claim.claim},
      {"source", claim.source},
      {"machine", claim.machine},
      {"quantity", name_of(claim.quantity)},
      {"summary", name_of(claim.summary)},
      {"published_" + unit, as_json(published_range(claim))},
      {"tolerance_ratio", claim.tolerance},
      {"simulated_" + unit, {verdict.low, verdict.high}},
      {"holds", verdict.holds},
      {"holding_ratio", static_cast<double>(verdict.holding()) / static_cast<double>(verdict.observations.size())},
      {"mean_error_ratio", verdict.mean_error}};
  if (verdict.blind) {
    json["constant_holds"] = verdict.blind->constant_holds;
    json["random_holds"] = verdict.blind->random_holds;
  }
  if (!claim.timing.source.empty())
    json["timing"] = {{"added_us", claim.timing.timing.added_us},
                      {"l2", name_of(claim.timing.timing.l2)},
                      {"source", claim.timing.source}};
  for (const OtherNumber& number : claim.numbers)
    json["numbers"][number.section + "." + number.key] = {{"value", number.value}, {"source", number.source}};
  json["note"] = claim.note;
  json["observations"] = std::move(observations);
  return json;
}

}  // namespace

Range published_range(const Claim& claim) {
  if (claim.published) return *claim.published;
  Range all = *claim.observations.front().published;
  for (const Observation& observation : claim.observations) {
    const Range& one = *observation.published;
    all.low = one.low && all.low ? std::optional(std::min(*one.low, *all.low)) : std::nullopt;
    all.high = one.high && all.high ? std::optional(std::max(*one.high, *all.high)) : std::nullopt;
  }
  return all;
}

ordered_json to_json(const ClaimFile& file, const std::vector<Verdict>& verdicts) {
  ordered_json claims = ordered_json::array(), not_simulated = ordered_json::array();
  for (std::size_t i = 0; i < verdicts.size(); ++i) claims.push_back(as_json(file.claims[i], verdicts[i]));
  for (const UnaskedClaim& unasked : file.not_simulated)
    not_simulated.push_back({{"claim", unasked.claim}, {"source", unasked.source}, {"why", unasked.why}});
  return {{"paper", file.paper},
          {"title", file.title},
          {"reference", file.reference},
          {"claims", std::move(claims)},
          {"not_simulated", std::move(not_simulated)}};
}

}  // namespace weft::calibration::evidence
