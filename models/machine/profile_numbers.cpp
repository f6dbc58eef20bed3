#include "models/machine/profile_numbers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"

namespace weft {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string text = value.dump();
  return text.size() <= 60 ? text : "(" + std::to_string(value.size()) + " values)";
}

std::string text_at(const json& object, const char* key) {
  return object.contains(key) ? text_of(object[key]) : std::string();
}

/// "collective all_reduce, gpus 8, …": all but the source.
std::string summary_of(const json& object) {
  std::string summary;
  for (const auto& [key, value] : object.items())
    if (key != "source") summary += (summary.empty() ? "" : ", ") + key + " " + text_of(value);
  return summary;
}

/// One number for each {"value": …, "unit": …, "source": …}, each other object without objects in it, and each lone
/// value.
void add_numbers(std::vector<ProfileNumber>& numbers, const std::string& path, const json& node) {
  const auto is_object = [](const json& child) { return child.is_object(); };
  if (node.is_object() && node.contains("value")) {
    const std::string note = text_at(node, "note");
    numbers.push_back({path, text_of(node["value"]), text_at(node, "unit"),
                       text_at(node, "source") + (note.empty() ? "" : "; " + note)});
  } else if (node.is_object() && std::none_of(node.begin(), node.end(), is_object)) {
    numbers.push_back({path, summary_of(node), "", text_at(node, "source")});
  } else if (node.is_structured()) {
    for (const auto& [key, child] : node.items())
      add_numbers(numbers, node.is_array() ? path + "[" + key + "]" : path.empty() ? key : path + "." + key, child);
  } else {
    numbers.push_back({path, text_of(node), "", ""});
  }
}

}  // namespace

std::vector<ProfileNumber> profile_numbers(const json& profile) {
  std::vector<ProfileNumber> numbers;
  add_numbers(numbers, "", profile);
  return numbers;
}

std::string profile_description(const std::filesystem::path& path) {
  const json profile = read_json_file(path);
  try {
    return JsonObject(profile).string("description");
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft
