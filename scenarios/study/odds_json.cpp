#include "scenarios/study/odds_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "models/base/json_object.hpp"

namespace weft::scenarios::study {
namespace {

constexpr const char* odds_format = "weft.odds/1";
constexpr double most_error = 5, most_scale = 10, most_us = 1e9;
constexpr int most_cases = 1'000'000;

RatioStratum stratum_of(JsonObject object) {
  RatioStratum stratum{.family = object.string("family"),
                       .from_us = object.number("from_us", 0, most_us),
                       .shift = object.number("shift", -most_error, most_error),
                       .slope = object.number("slope", -most_error, most_error),
                       .scale = object.number("scale", 1e-6, most_scale),
                       .cases = static_cast<int>(object.integer("cases", 1, most_cases))};
  object.finish();
  return stratum;
}

Residuals residuals_of(JsonObject object) {
  Residuals residuals{.from_us = object.number("from_us", 0, most_us), .quantiles = {}};
  for (const JsonValue& value : object.list("quantiles")) {
    const double one = value.number(-1000, 1000);
    if (!residuals.quantiles.empty() && one < residuals.quantiles.back()) value.fail("ascending values");
    residuals.quantiles.push_back(one);
  }
  if (residuals.quantiles.size() < 2) object.at("quantiles").fail("at least two values");
  object.finish();
  return residuals;
}

void require_first_class(JsonObject& object, const RatioErrors& errors) {
  const auto is_first = [](const RatioStratum& one) { return one.family == "any" && one.from_us == 0; };
  if (std::ranges::none_of(errors.strata, is_first)) object.at("strata").fail("a stratum of \"any\" family from 0 us");
  if (std::ranges::none_of(errors.residuals, [](const Residuals& one) { return one.from_us == 0; }))
    object.at("residuals").fail("residuals from 0 us");
}

}  // namespace

RatioErrors ratio_errors_from_text(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  JsonObject object(json);
  if (const JsonValue word = object.at("format"); word.string() != odds_format) word.fail(odds_format);
  object.string("source");
  RatioErrors errors{.strata = {}, .residuals = {}, .widening = object.number("widening", 1, most_scale)};
  for (const JsonValue& value : object.list("strata")) errors.strata.push_back(stratum_of(value.object()));
  for (const JsonValue& value : object.list("residuals")) errors.residuals.push_back(residuals_of(value.object()));
  require_first_class(object, errors);
  object.finish();
  return errors;
}

}  // namespace weft::scenarios::study
