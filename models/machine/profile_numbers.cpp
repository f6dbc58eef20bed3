#include "models/machine/profile_numbers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::size_t longest_value = 60;

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const std::string text = value.dump();
  return text.size() <= longest_value ? text : "(" + std::to_string(value.size()) + " values)";
}

/// Of a quantity; a text of many numbers is counted as a list of them is.
std::string value_of(const json& value) {
  const std::string text = text_of(value);
  return text.size() <= longest_value ? text : "(" + std::to_string(1 + std::ranges::count(text, ' ')) + " values)";
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

/// Of a list's element: what a curve is of, which stays the same when others come or go; else its position.
std::string name_of_element(const json& element, const std::string& position) {
  if (!element.is_object() || !element.contains("collective") || !element.contains("gpus")) return position;
  std::string name = element.contains("transport") ? text_of(element["transport"]) + " " : "";
  name += text_of(element["collective"]) + ", " + text_of(element["gpus"]) + " GPUs";
  if (element.value("max_ctas", 0) > 0) name += ", " + text_of(element["max_ctas"]) + " CTAs";
  return name;
}

/// One number for each {"value": …, "unit": …, "source": …}, each other object without objects in it, and each lone
/// value.
void add_numbers(std::vector<ProfileNumber>& numbers, const std::string& path, const json& node) {
  const auto is_object = [](const json& child) { return child.is_object(); };
  if (node.is_object() && node.contains("value")) {
    const std::string note = text_at(node, "note");
    numbers.push_back({path, value_of(node["value"]), text_at(node, "unit"),
                       text_at(node, "source") + (note.empty() ? "" : "; " + note)});
  } else if (node.is_object() && std::none_of(node.begin(), node.end(), is_object)) {
    numbers.push_back({path, summary_of(node), "", text_at(node, "source")});
  } else if (node.is_structured()) {
    for (const auto& [key, child] : node.items())
      add_numbers(numbers,
                  node.is_array() ? path + "[" + name_of_element(child, key) + "]"
                  : path.empty()  ? key
                                  : path + "." + key,
                  child);
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
