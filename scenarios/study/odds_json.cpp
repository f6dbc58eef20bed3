#include "scenarios/study/odds_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "models/base/json_object.hpp"

namespace weft::scenarios::study {
namespace {

constexpr const char* odds_format = "weft.odds/2";
constexpr double most_error = 5, most_scale = 10, most_growth = 100, most_us = 1e9;
constexpr int most_cases = 1'000'000, most_gpus = 1024;

double shift_of(JsonObject& object) { return object.number("shift", -most_error, most_error); }

int cases_of(JsonObject& object) { return static_cast<int>(object.integer("cases", 1, most_cases)); }

RatioClass class_of(JsonObject object) {
  RatioClass time{.from_us = object.number("from_us", 0, most_us),
                  .shift = shift_of(object),
                  .slope = object.number("slope", -most_error, most_error),
                  .growth = object.number("growth", 0, most_growth),
                  .quantiles = {}};
  for (const JsonValue& value : object.list("quantiles")) {
    const double one = value.number(-1000, 1000);
    if (!time.quantiles.empty() && one < time.quantiles.back()) value.fail("ascending values");
    time.quantiles.push_back(one);
  }
  if (time.quantiles.size() < 2) object.at("quantiles").fail("at least two values");
  object.finish();
  return time;
}

RatioScale scale_of(JsonObject object) {
  RatioScale scale{.family = object.string("family"),
                   .from_us = object.number("from_us", 0, most_us),
                   .scale = object.number("scale", 1e-6, most_scale),
                   .cases = cases_of(object)};
  object.finish();
  return scale;
}

NamedShift named_shift_of(JsonObject object) {
  NamedShift shift{.name = object.string("name"), .shift = shift_of(object), .cases = cases_of(object)};
  object.finish();
  return shift;
}

GpusShift gpus_shift_of(JsonObject object) {
  GpusShift shift{.from_gpus = static_cast<int>(object.integer("from_gpus", 1, most_gpus)),
                  .shift = shift_of(object),
                  .cases = cases_of(object)};
  object.finish();
  return shift;
}

/// Of a list whose elements ascend by a member.
template <class Element, class Value>
void read_ascending(JsonObject& object, const char* key, std::vector<Element>& elements, Element (*read)(JsonObject),
                    Value Element::*by) {
  for (const JsonValue& value : object.list(key)) {
    elements.push_back(read(value.object()));
    if (!std::ranges::is_sorted(elements, {}, by)) value.fail("ascending elements");
  }
}

void require_classes(JsonObject& object, const RatioErrors& errors) {
  if (errors.classes.empty() || errors.classes.front().from_us != 0) object.at("classes").fail("a class from 0 us");
  for (const RatioClass& time : errors.classes) {
    const auto is_meant = [&](const RatioScale& one) { return one.family == "any" && one.from_us == time.from_us; };
    if (std::ranges::none_of(errors.scales, is_meant)) object.at("scales").fail("one of \"any\" family for each class");
  }
}

}  // namespace

RatioErrors ratio_errors_from_text(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  JsonObject object(json);
  if (const JsonValue word = object.at("format"); word.string() != odds_format) word.fail(odds_format);
  object.string("source");
  RatioErrors errors;
  errors.widening = object.number("widening", 1, most_scale);
  read_ascending(object, "classes", errors.classes, class_of, &RatioClass::from_us);
  for (const JsonValue& value : object.list("scales")) errors.scales.push_back(scale_of(value.object()));
  for (const JsonValue& value : object.list("families")) errors.families.push_back(named_shift_of(value.object()));
  for (const JsonValue& value : object.list("ops")) errors.ops.push_back(named_shift_of(value.object()));
  read_ascending(object, "gpus", errors.gpus, gpus_shift_of, &GpusShift::from_gpus);
  require_classes(object, errors);
  object.finish();
  return errors;
}

}  // namespace weft::scenarios::study
