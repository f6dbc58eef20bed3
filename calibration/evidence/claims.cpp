#include "calibration/evidence/claims.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"
#include "scenarios/case_json.hpp"

namespace weft::calibration::evidence {
namespace {

namespace fs = std::filesystem;
using scenarios::Case;

Range read_range(const JsonValue& value) {
  if (value.is_number()) return {value.number(), value.number()};
  const std::vector<JsonValue> ends = value.list();
  if (ends.size() != 2 || (ends[0].is_null() && ends[1].is_null()))
    value.fail("a number, or two of which one may be null");
  Range range;
  if (!ends[0].is_null()) range.low = ends[0].number();
  if (!ends[1].is_null()) range.high = ends[1].number();
  if (range.low && range.high && *range.low > *range.high) value.fail("the lower end first");
  return range;
}

std::optional<Range> read_published(JsonObject& object) {
  const auto value = object.find("published");
  return value ? std::optional(read_range(*value)) : std::nullopt;
}

using CasesById = std::map<std::string, Case>;

/// What is published ran in graphs of other programs, with the GEMM library's memsets and late kernels, and layers on
/// their kernels.
Case by_others(Case one) {
  one.condition.memsets = true;
  one.condition.warmed_on_all_streams = true;
  if (std::holds_alternative<scenarios::LayerWorkload>(one.workload))
    one.schedule.implementation = Implementation::pytorch;
  return one;
}

CasesById read_cases(const std::vector<JsonValue>& values) {
  CasesById cases;
  for (const JsonValue& value : values) {
    try {
      Case one = by_others(scenarios::case_from_json(value.json()));
      const std::string id = one.id;
      if (!cases.emplace(id, std::move(one)).second) value.fail("an id of its own");
    } catch (const InputError& error) {
      if (error.field() == value.path()) throw;
      throw error.in_file(value.path());
    }
  }
  return cases;
}

std::vector<std::string> strings(JsonObject& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const JsonValue& value : object.list_or_empty(key)) texts.push_back(value.string());
  return texts;
}

std::vector<Case> named_cases(JsonObject& object, std::string_view key, const CasesById& known, const Timing& timing) {
  std::vector<Case> cases;
  for (const JsonValue& value : object.list_or_empty(key)) {
    const auto found = known.find(value.string());
    if (found == known.end()) value.fail("the id of one of the cases");
    cases.push_back(found->second);
    if (timing != Timing{}) cases.back().condition.timing = timing;
  }
  return cases;
}

std::string name_of_cases(const std::vector<Case>& cases) {
  std::string name;
  for (const Case& one : cases) name += (name.empty() ? "" : " + ") + one.id;
  return name;
}

bool is_of_schedule(Quantity quantity) {
  return quantity == Quantity::hidden_share || quantity == Quantity::start_share || quantity == Quantity::slowdown;
}

bool needs_one_case(Quantity quantity) {
  return quantity != Quantity::time_us && quantity != Quantity::time_ratio && quantity != Quantity::rule_share &&
         !is_of_schedule(quantity);
}

bool is_ratio_of_times(Quantity quantity) { return quantity == Quantity::speedup || quantity == Quantity::time_ratio; }

void check(const Observation& observation, const Claim& claim, const JsonValue& value) {
  if (observation.beside.has_value() != is_of_schedule(claim.quantity))
    value.fail("a schedule for hidden_share, start_share and slowdown, cases for everything else");
  if (needs_one_case(claim.quantity) && observation.cases.size() != 1) value.fail("one case");
  if (!observation.beside && observation.cases.empty()) value.fail("at least one case");
  if (observation.over.empty() == (claim.quantity == Quantity::time_ratio))
    value.fail("\"over\" where the quantity is time_ratio, and only there");
  if (observation.over.empty() &&
      !(observation.without.empty() && observation.less.empty() && observation.over_operations.empty()))
    value.fail("\"without\", \"less\" and \"over_operations\" only beside \"over\"");
  if (!observation.published && !claim.published)
    value.fail("a published value, of this observation or of the whole claim");
  if (observation.published && claim.summary != Summary::each && claim.summary != Summary::mean_error)
    value.fail("no published value of its own, since one is the claim's");
  if (!observation.published && claim.summary == Summary::mean_error) value.fail("a published value of its own");
  if (observation.published_us && !is_ratio_of_times(claim.quantity))
    value.fail("\"published_us\" only where the quantity is a speedup or time_ratio");
}

Observation read_observation(const JsonValue& value, const Claim& claim, const CasesById& known,
                             const fs::path& folder) {
  JsonObject object = value.object();
  Observation observation;
  observation.cases = named_cases(object, "cases", known, claim.timing.timing);
  observation.less = named_cases(object, "less", known, claim.timing.timing);
  observation.over = named_cases(object, "over", known, claim.timing.timing);
  observation.without = named_cases(object, "without", known, claim.timing.timing);
  observation.operations = strings(object, "operations");
  observation.over_operations = strings(object, "over_operations");
  observation.published = read_published(object);
  if (const auto time_us = object.find("published_us")) observation.published_us = time_us->number(1e-3);
  if (const auto schedule = object.find("schedule"))
    observation.beside = {folder / schedule->string(), object.string("operation"), object.string("beside")};
  observation.name = object.string_or(
      "name", observation.beside ? observation.beside->schedule.stem().string() : name_of_cases(observation.cases));
  object.finish();
  check(observation, claim, value);
  return observation;
}

ClaimTiming read_timing(JsonObject object) {
  ClaimTiming timing;
  timing.timing.added_us = object.number_or("added_us", 0, 0, scenarios::most_added_us);
  timing.timing.l2 = object.word_or("l2", L2Before::kept);
  timing.source = object.string("source");
  object.finish();
  return timing;
}

/// {"SECTION.KEY": {"value": …, "source": …}, …}
std::vector<OtherNumber> read_numbers(const JsonValue& value) {
  std::vector<OtherNumber> numbers;
  JsonObject object = value.object();
  for (const auto& [name, entry] : value.json().items()) {
    JsonObject number = object.object(name);
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) number.at("value").fail("a number of a profile by its full name, SECTION.KEY");
    numbers.push_back({name.substr(0, dot), name.substr(dot + 1), number.number("value", 0), number.string("source")});
    number.finish();
  }
  object.finish();
  return numbers;
}

Claim read_claim(JsonObject object, const CasesById& known, const fs::path& folder) {
  Claim claim;
  claim.id = object.string("id");
  claim.claim = object.string("claim");
  claim.source = object.string("source");
  claim.machine = object.string("machine");
  claim.quantity = object.word<Quantity>("quantity");
  claim.summary = object.word_or("summary", Summary::each);
  claim.published = read_published(object);
  claim.tolerance = object.number("tolerance", 0, 1);
  claim.note = object.string_or("note", "");
  if (const auto timing = object.find("timing")) claim.timing = read_timing(timing->object());
  if (const auto numbers = object.find("numbers")) claim.numbers = read_numbers(*numbers);
  const JsonValue observations = object.at("observations");
  for (const JsonValue& value : observations.list())
    claim.observations.push_back(read_observation(value, claim, known, folder));
  if (claim.observations.empty()) observations.fail("at least one observation");
  object.finish();
  return claim;
}

UnaskedClaim read_unasked(JsonObject object) {
  UnaskedClaim unasked{object.string("claim"), object.string("source"), object.string("why")};
  object.finish();
  return unasked;
}

ClaimFile read_file(const nlohmann::json& json, const fs::path& folder) {
  JsonObject object(json);
  if (const JsonValue format = object.at("format"); format.string() != "weft.claims/1") format.fail("weft.claims/1");
  ClaimFile file{.paper = object.string("paper"),
                 .title = object.string("title"),
                 .reference = object.string("reference"),
                 .claims = {},
                 .not_simulated = {}};
  const CasesById cases = read_cases(object.list_or_empty("cases"));
  for (const JsonValue& claim : object.list("claims")) file.claims.push_back(read_claim(claim.object(), cases, folder));
  for (const JsonValue& claim : object.list_or_empty("not_simulated"))
    file.not_simulated.push_back(read_unasked(claim.object()));
  object.finish();
  return file;
}

}  // namespace

std::vector<std::string> papers_in(const fs::path& folder) {
  std::vector<std::string> papers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".json") papers.push_back(entry->path().stem());
  std::sort(papers.begin(), papers.end());
  return papers;
}

ClaimFile read_claims(const fs::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    return read_file(json, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft::calibration::evidence
