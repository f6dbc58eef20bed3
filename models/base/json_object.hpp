// Strict reading of JSON: every value knows its path, so that each error names the field, and a key that nobody asked
// for is an error.
//
//   const nlohmann::json file = read_json_file(path);      // must outlive the readers
//   JsonObject object(file);
//   const auto name = object.string("name");
//   const auto count = object.integer("count", 1, 64);
//   for (JsonValue item : object.list("items")) … item.object() …
//   object.finish();                                       // unknown keys
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json_file.hpp"
#include "models/base/names.hpp"

namespace weft {

class JsonObject;

/// Integers of JSON files stay below what every reader of JSON represents exactly.
inline constexpr std::int64_t max_json_integer = std::int64_t{1} << 53;

/// The number as an integer, within +-`max_json_integer`; none where it is something else. JSON has one kind of number,
/// so that 4.0 and 4e0 are 4, as they are for schemas.
std::optional<std::int64_t> whole_number(const nlohmann::json& json);

/// A value in its document. Every read throws InputError with where it stands, such as `operations[3].after[0].point`.
class JsonValue {
 public:
  JsonValue(const nlohmann::json& json, const nlohmann::json& document) : json_(&json), document_(&document) {}

  /// Found by looking through the document: only errors need it.
  std::string path() const;
  const nlohmann::json& json() const { return *json_; }
  bool is_string() const;
  bool is_object() const;
  bool is_list() const;
  bool is_number() const;
  bool is_null() const;

  std::string string() const;
  bool boolean() const;
  /// Within [least, most], by whole_number().
  std::int64_t integer(std::int64_t least = -max_json_integer, std::int64_t most = max_json_integer) const;
  std::int64_t positive_integer() const { return integer(1); }
  /// Finite, within [least, most].
  double number(double least = std::numeric_limits<double>::lowest(),
                double most = std::numeric_limits<double>::max()) const;
  JsonObject object() const;
  std::vector<JsonValue> list() const;
  template <class Enum>
  Enum word() const {
    const std::string text = string();
    const auto value = find_name<Enum>(text);
    return value ? *value : from_name<Enum>(text, path());
  }
  /// For what no reader above can say: "PATH: expected …, got VALUE".
  [[noreturn]] void fail(const std::string& expected) const;

 private:
  const nlohmann::json* json_;
  const nlohmann::json* document_;
};

/// An object; remembers which keys were asked for.
class JsonObject {
 public:
  /// A whole document. Throws InputError where it is no object.
  explicit JsonObject(const nlohmann::json& document) : JsonObject(document, document) {}
  /// A part of one. Throws InputError where it is no object.
  JsonObject(const nlohmann::json& json, const nlohmann::json& document);

  std::string path() const { return JsonValue(*json_, *document_).path(); }
  std::string path_of(std::string_view key) const;
  bool has(std::string_view key) const;
  JsonValue at(std::string_view key);                   ///< required
  std::optional<JsonValue> find(std::string_view key);  ///< optional

  std::string string(std::string_view key) { return at(key).string(); }
  std::string string_or(std::string_view key, std::string otherwise);
  bool boolean(std::string_view key) { return at(key).boolean(); }
  bool boolean_or(std::string_view key, bool otherwise);
  std::int64_t integer(std::string_view key, std::int64_t least = -max_json_integer,
                       std::int64_t most = max_json_integer) {
    return at(key).integer(least, most);
  }
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise, std::int64_t least = -max_json_integer,
                          std::int64_t most = max_json_integer);
  std::int64_t positive_integer(std::string_view key) { return at(key).positive_integer(); }
  double number(std::string_view key, double least = std::numeric_limits<double>::lowest(),
                double most = std::numeric_limits<double>::max()) {
    return at(key).number(least, most);
  }
  double number_or(std::string_view key, double otherwise, double least = std::numeric_limits<double>::lowest(),
                   double most = std::numeric_limits<double>::max());
  template <class Enum>
  Enum word(std::string_view key) {
    return at(key).word<Enum>();
  }
  template <class Enum>
  Enum word_or(std::string_view key, Enum otherwise) {
    const auto value = find(key);
    return value ? value->word<Enum>() : otherwise;
  }
  JsonObject object(std::string_view key) { return at(key).object(); }
  std::vector<JsonValue> list(std::string_view key) { return at(key).list(); }
  std::vector<JsonValue> list_or_empty(std::string_view key);

  /// Every key with its value, for objects whose keys are names; they all count as asked for.
  std::vector<std::pair<std::string, JsonValue>> entries();

  /// Throws InputError for a key that nobody asked for, listing those that were. Call it after the last read.
  void finish() const;

 private:
  const nlohmann::json* json_;
  const nlohmann::json* document_;
  std::vector<std::string> known_;
};

}  // namespace weft
