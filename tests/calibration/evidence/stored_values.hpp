// Values that a test has stored: percentages by name, what they were made from, and the reason of every change.
#pragma once

#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/machine/gemm_choices_file.hpp"

namespace weft::tests {

using Percentages = std::map<std::string, double>;

/// A file of stored values:
///   {"changes": [{"reason": …, "checksum": …}, …], "made_from": {FILE: CHECKSUM}, "percent": {PART: {NAME: VALUE}}}
/// The last change's checksum is that of its reason and of all else that is stored: nothing changes without a reason.
class StoredValues {
 public:
  using Json = nlohmann::ordered_json;
  static constexpr std::size_t shortest_reason = 20;  ///< characters: "1" and "update" are none

  StoredValues() = default;
  explicit StoredValues(Json json) : json_(std::move(json)) {}

  const Json& json() const { return json_; }
  Percentages percentages(const std::string& part) const {
    return json_.contains("percent") ? json_["percent"].value(part, Percentages()) : Percentages();
  }
  const Json& made_from() const { return json_["made_from"]; }

  /// What is wrong with the reasons, or nothing.
  std::string complaint() const {
    if (!json_.contains("changes") || json_["changes"].empty()) return "no reason is stored";
    for (const Json& change : json_["changes"])
      if (change.value("reason", "").size() < shortest_reason) return "a reason of a few letters: " + change.dump();
    const Json& last = json_["changes"].back();
    if (last.value("checksum", "") != checksum_with(last["reason"]))
      return "values were changed without a reason: the last one, \"" + last["reason"].get<std::string>() +
             "\", was given for others";
    return "";
  }

  /// Other values take the place of the stored ones, for this reason.
  void change(const Json& made_from, const Json& percent, const std::string& reason) {
    json_ = {{"changes", json_.value("changes", Json::array())}, {"made_from", made_from}, {"percent", percent}};
    json_["changes"].push_back({{"reason", reason}, {"checksum", checksum_with(reason)}});
  }

 private:
  std::string checksum_with(const std::string& reason) const {
    return table_checksum(reason + json_.value("made_from", Json()).dump() + json_.value("percent", Json()).dump());
  }

  Json json_ = Json::object();
};

/// One line for each value that moved by more than `allowed`, turned its sign included, that is gone, or that is new.
inline std::vector<std::string> differences(const Percentages& stored, const Percentages& found, double allowed) {
  std::vector<std::string> lines;
  const auto text = [](double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.1f %%", value);
    return std::string(buffer);
  };
  for (const auto& [name, value] : stored)
    if (const auto now = found.find(name); now == found.end())
      lines.push_back(name + ": is gone, was " + text(value));
    else if (!(std::abs(now->second - value) <= allowed))
      lines.push_back(name + ": " + text(now->second) + ", was " + text(value));
  for (const auto& [name, value] : found)
    if (!stored.contains(name)) lines.push_back(name + ": is new, " + text(value));
  return lines;
}

}  // namespace weft::tests
