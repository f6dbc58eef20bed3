#include "models/base/json_object.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/base/text.hpp"

namespace weft {
namespace {

/// A number without trailing zeros.
std::string number_text(double value) { return nlohmann::json(value).dump(); }

std::string shown(const nlohmann::json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  return excerpt(json.dump(), 60);
}

std::string integer_range(std::int64_t least, std::int64_t most) {
  if (least == 1 && most == max_json_integer) return "a positive integer";
  if (most == max_json_integer && least == -most) return "an integer";
  if (most == max_json_integer) return "an integer of at least " + std::to_string(least);
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string number_range(double least, double most) {
  const bool has_least = least != std::numeric_limits<double>::lowest();
  const bool has_most = most != std::numeric_limits<double>::max();
  if (has_least && has_most) return "a number from " + number_text(least) + " to " + number_text(most);
  if (has_least) return "a number of at least " + number_text(least);
  if (has_most) return "a number of at most " + number_text(most);
  return "a number";
}

/// Adds the way from `json` to the part of it that stands at `wanted`; false where it is no part of it.
bool add_path(const nlohmann::json& json, const nlohmann::json* wanted, std::string& path) {
  if (&json == wanted) return true;
  if (!json.is_structured()) return false;
  const std::size_t length = path.size();
  std::size_t position = 0;
  for (const auto& [key, value] : json.items()) {
    path += json.is_array() ? "[" + std::to_string(position++) + "]" : (path.empty() ? "" : ".") + shown_name(key);
    if (add_path(value, wanted, path)) return true;
    path.resize(length);
  }
  return false;
}

}  // namespace

std::string JsonValue::path() const {
  std::string path;
  add_path(*document_, json_, path);
  return path;
}

bool JsonValue::is_string() const { return json_->is_string(); }
std::optional<std::int64_t> whole_number(const nlohmann::json& json) {
  if (!json.is_number()) return std::nullopt;
  const auto value = json.get<double>();
  if (!(std::abs(value) <= static_cast<double>(max_json_integer)) || value != std::trunc(value)) return std::nullopt;
  const auto integer = json.is_number_float() ? static_cast<std::int64_t>(value) : json.get<std::int64_t>();
  return std::abs(integer) <= max_json_integer ? std::optional(integer) : std::nullopt;
}

bool JsonValue::is_object() const { return json_->is_object(); }
bool JsonValue::is_list() const { return json_->is_array(); }
bool JsonValue::is_number() const { return json_->is_number(); }
bool JsonValue::is_null() const { return json_->is_null(); }

void JsonValue::fail(const std::string& expected) const {
  throw InputError(path(), "expected " + expected + ", got " + shown(*json_));
}

std::string JsonValue::string() const {
  if (!json_->is_string()) fail("a string");
  return json_->get<std::string>();
}

bool JsonValue::boolean() const {
  if (!json_->is_boolean()) fail("true or false");
  return json_->get<bool>();
}

std::int64_t JsonValue::integer(std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> value = whole_number(*json_);
  if (!value || *value < least || *value > most) fail(integer_range(least, most));
  return *value;
}

double JsonValue::number(double least, double most) const {
  if (!json_->is_number()) fail(number_range(least, most));
  const auto value = json_->get<double>();
  if (!std::isfinite(value) || value < least || value > most) fail(number_range(least, most));
  return value;
}

JsonObject JsonValue::object() const { return JsonObject(*json_, *document_); }

std::vector<JsonValue> JsonValue::list() const {
  if (!json_->is_array()) fail("a list");
  std::vector<JsonValue> values;
  values.reserve(json_->size());
  for (const auto& item : *json_) values.emplace_back(item, *document_);
  return values;
}

JsonObject::JsonObject(const nlohmann::json& json, const nlohmann::json& document)
    : json_(&json), document_(&document) {
  if (!json.is_object()) JsonValue(json, document).fail("an object");
  constexpr std::size_t usual_keys = 12;
  known_.reserve(usual_keys);
}

std::string JsonObject::path_of(std::string_view key) const {
  const std::string object = path();
  return (object.empty() ? "" : object + ".") + shown_name(std::string(key));
}

bool JsonObject::has(std::string_view key) const { return json_->contains(key); }

std::optional<JsonValue> JsonObject::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const auto found = json_->find(key);
  if (found == json_->end()) return std::nullopt;
  return JsonValue(*found, *document_);
}

JsonValue JsonObject::at(std::string_view key) {
  const auto value = find(key);
  if (!value) throw InputError(path_of(key), "expected this key, it is missing");
  return *value;
}

std::string JsonObject::string_or(std::string_view key, std::string otherwise) {
  const auto value = find(key);
  return value ? value->string() : std::move(otherwise);
}

bool JsonObject::boolean_or(std::string_view key, bool otherwise) {
  const auto value = find(key);
  return value ? value->boolean() : otherwise;
}

std::int64_t JsonObject::integer_or(std::string_view key, std::int64_t otherwise, std::int64_t least,
                                    std::int64_t most) {
  const auto value = find(key);
  return value ? value->integer(least, most) : otherwise;
}

double JsonObject::number_or(std::string_view key, double otherwise, double least, double most) {
  const auto value = find(key);
  return value ? value->number(least, most) : otherwise;
}

std::vector<JsonValue> JsonObject::list_or_empty(std::string_view key) {
  const auto value = find(key);
  return value ? value->list() : std::vector<JsonValue>{};
}

std::vector<std::pair<std::string, JsonValue>> JsonObject::entries() {
  std::vector<std::pair<std::string, JsonValue>> all;
  for (const auto& [key, value] : json_->items()) {
    all.emplace_back(key, JsonValue(value, *document_));
    known_.push_back(key);
  }
  return all;
}

void JsonObject::finish() const {
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::string words;
    for (const std::string& known : known_) words += (words.empty() ? "" : ", ") + known;
    throw InputError(path_of(key), "expected one of the keys " + words + ", got this unknown one");
  }
}

}  // namespace weft
