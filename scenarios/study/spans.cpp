#include "scenarios/study/spans.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace weft::scenarios::study {
namespace {

/// Both ends of a range are integers that JSON can say, so that sums and products of them do not overflow.
std::vector<nlohmann::json> range_of(const JsonValue& value) {
  JsonObject object = value.object();
  const std::int64_t from = object.integer("from", 1), to = object.integer("to", from);
  const bool multiplies = object.has("times");
  const std::int64_t by = multiplies ? object.integer("times", 2, 1 << 20) : object.integer("step", 1);
  object.finish();
  if (!multiplies && (to - from) / by >= static_cast<std::int64_t>(most_cases))
    value.fail("at most " + std::to_string(most_cases) + " values");
  std::vector<nlohmann::json> values;
  for (std::int64_t one = from; one <= to; one = multiplies ? one * by : one + by) {
    values.emplace_back(one);
    if (multiplies && one > to / by) break;
  }
  return values;
}

}  // namespace

std::vector<nlohmann::json> spanned(const JsonValue& value) {
  if (value.is_object()) return range_of(value);
  if (!value.is_list()) return {value.json()};
  std::vector<nlohmann::json> values;
  std::set<nlohmann::json> seen;
  for (const JsonValue& one : value.list())
    if (seen.insert(one.json()).second) values.push_back(one.json());
  if (values.empty()) value.fail("at least one value");
  return values;
}

std::vector<std::int64_t> spanned_integers(const JsonValue& value, std::int64_t least, std::int64_t most) {
  const std::vector<nlohmann::json> values = spanned(value);
  std::vector<std::int64_t> integers;
  for (const nlohmann::json& one : values) {
    const std::optional<std::int64_t> integer = whole_number(one);
    if (!integer || *integer < least || *integer > most)
      value.fail("integers from " + std::to_string(least) + " to " + std::to_string(most));
    integers.push_back(*integer);
  }
  return integers;
}

void for_each_combination(JsonObject object, const std::function<void(const nlohmann::json&)>& use) {
  std::vector<std::pair<std::string, std::vector<nlohmann::json>>> keys;
  double combinations = 1;
  for (const auto& [key, value] : object.entries()) {
    keys.emplace_back(key, spanned(value));
    combinations *= static_cast<double>(keys.back().second.size());
    if (combinations > static_cast<double>(most_cases)) value.fail("at most " + std::to_string(most_cases) + " cases");
  }
  std::vector<std::size_t> at(keys.size());
  nlohmann::json one = nlohmann::json::object();
  for (const auto& [key, values] : keys) one[key] = values.front();
  for (std::size_t varied = keys.size();;) {
    use(one);
    for (varied = keys.size(); varied > 0; --varied) {
      const auto& [key, values] = keys[varied - 1];
      if (++at[varied - 1] == values.size()) at[varied - 1] = 0;
      one[key] = values[at[varied - 1]];
      if (at[varied - 1] != 0) break;
    }
    if (varied == 0) return;
  }
}

}  // namespace weft::scenarios::study
