// The keys of workloads and families. Each struct of a case lists its keys once, in a static describe(io, value); a
// FieldReader fills it from JSON, a FieldList says what it holds and what it may hold, of which the writer and the JSON
// Schema are made. So what is written can be read, and a default is said in one place. An `io` offers
//   required(key, value[, about])             the key must be there
//   stated(key, value, default[, about])      it may be left out, and is always written
//   optional(key, value, default[, about])    it may be left out, and is where it has its default
//   searched(key, value[, about])             a value, or the word "searched" for one that is empty
//   input_type(key, value)                    bf16 or fp8, bf16 where it is left out
//   families(key, names)                      names of families, or left out
//   time_us(key, value)                       a time above 0, or left out
//   pair_schedule(key, value, about)          an object with the family of a pair, or left out
//   together({keys}, are_there, describe)     keys of which one brings the others
// `about` is a range, what the key means, or {range, what it means}.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/base/json_object.hpp"
#include "models/base/units.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::scenarios {

struct PairSchedule;

/// Largest accepted extent of a matrix (the libraries' index type) and size of one buffer (more than any GPU has).
inline constexpr std::int64_t max_extent = (std::int64_t{1} << 31) - 1;
inline constexpr Bytes max_buffer_bytes = Bytes{1} << 38;

struct Range {
  std::int64_t least = 0, most = 0;
};
inline constexpr Range extents{1, max_extent};
inline constexpr Range buffer_sizes{1, max_buffer_bytes};
inline constexpr Range gpu_counts{1, 1 << 16};
inline constexpr Range counts{1, 1 << 20};        ///< groups, CTAs
inline constexpr Range chunk_counts{1, 1 << 10};  ///< each costs a kernel's launch: more of them never pay
inline constexpr Range piece_counts{1, 1 << 8};   ///< each with transfers from every GPU
inline constexpr Range at_most_counts{0, counts.most};

struct About {
  Range range{};
  const char* meaning = "";
  constexpr About() = default;
  constexpr About(Range of, const char* means = "") : range(of), meaning(means) {}
  constexpr About(const char* means) : meaning(means) {}
};

/// Fills a struct from the keys of an object.
class FieldReader {
 public:
  explicit FieldReader(JsonObject& object) : object_(object) {}

  template <class Value>
  void required(std::string_view key, Value& value, const About& about = {}) {
    read(object_.at(key), value, about.range);
  }
  template <class Value>
  void stated(std::string_view key, Value& value, std::type_identity_t<Value> otherwise, const About& about = {}) {
    const auto found = object_.find(key);
    found ? read(*found, value, about.range) : void(value = otherwise);
  }
  template <class Value>
  void optional(std::string_view key, Value& value, std::type_identity_t<Value> otherwise, const About& about = {}) {
    stated(key, value, std::move(otherwise), about);
  }
  template <class Value>
  void searched(std::string_view key, Value& value, const About& about) {
    const JsonValue found = object_.at(key);
    value = {};
    if (!is_searched(found)) read(found, value, about.range);
  }
  void input_type(std::string_view key, DataType& value);
  void time_us(std::string_view key, std::optional<double>& value);
  void families(std::string_view key, std::vector<std::string>& names, const About& about);
  void pair_schedule(std::string_view key, std::optional<PairSchedule>& value, const About& about);
  template <class Describe>
  void together(std::initializer_list<std::string_view> keys, bool, const Describe& describe) {
    for (const std::string_view key : keys)
      if (object_.has(key)) return describe();
  }

 private:
  template <class Value>
  static void read(const JsonValue& json, Value& value, Range range) {
    if constexpr (std::is_same_v<Value, bool>)
      value = json.boolean();
    else if constexpr (std::is_enum_v<Value>)
      value = json.template word<Value>();
    else if constexpr (std::is_floating_point_v<Value>)
      value = json.number(static_cast<double>(range.least));
    else if constexpr (std::is_integral_v<Value>)
      value = static_cast<Value>(json.integer(range.least, range.most));
    else if constexpr (std::is_same_v<Value, std::vector<int>>)
      read_list(json, value, range);
    else
      read(json, value.emplace(), range);
  }
  static void read_list(const JsonValue& json, std::vector<int>& values, Range range);
  /// Is it the word "searched"? Any other word is an error.
  static bool is_searched(const JsonValue& value);

  JsonObject& object_;
};

using FieldValue = std::variant<bool, std::int64_t, double, std::string, std::vector<int>, std::vector<std::string>>;

enum class FieldType { flag, integer, number, word, integers, words, pair_schedule };

struct Field {
  std::string_view key;
  FieldValue value;
  bool is_written = true;  ///< not, where it has its default and need not be said
  bool is_offered = true;  ///< not, where none of the keys is there that bring it
  FieldType type = FieldType::flag;
  About about{};
  bool is_required = false;
  bool may_be_searched = false;
  bool excludes_least = false;                         ///< of its range
  FieldValue otherwise{};                              ///< where it is left out; false, where that is nothing
  std::vector<std::string_view> (*words)() = nullptr;  ///< that it may be
  std::vector<Field> fields{};                         ///< in place of a value, of an object
};

/// Lists the keys of a struct with its values, in their order.
class FieldList {
 public:
  FieldList() { fields.reserve(usual_keys); }

  std::vector<Field> fields;

  template <class Value>
  void required(std::string_view key, const Value& value, const About& about = {}) {
    add(key, value, about).is_required = true;
  }
  template <class Value>
  void stated(std::string_view key, const Value& value, const std::type_identity_t<Value>& otherwise,
              const About& about = {}) {
    add(key, value, about).otherwise = value_of(otherwise);
  }
  template <class Value>
  void optional(std::string_view key, const Value& value, const std::type_identity_t<Value>& otherwise,
                const About& about = {}) {
    Field& field = add(key, value, about);
    field.otherwise = value_of(otherwise);
    field.is_written = field.is_written && value != otherwise;
  }
  template <class Value>
  void searched(std::string_view key, const Value& value, const About& about) {
    Field& field = add(key, value, about);
    if (value == Value{}) field.value = "searched";
    field.is_required = field.may_be_searched = true;
  }
  void input_type(std::string_view key, DataType value);
  void time_us(std::string_view key, const std::optional<double>& value);
  void families(std::string_view key, const std::vector<std::string>& names, const About& about);
  void pair_schedule(std::string_view key, const std::optional<PairSchedule>& value, const About& about);
  template <class Describe>
  void together(std::initializer_list<std::string_view>, bool are_there, const Describe& describe) {
    are_offered_ = are_there;
    describe();
    are_offered_ = true;
  }

 private:
  static constexpr std::size_t usual_keys = 12;

  template <class Value>
  Field& add(std::string_view key, const Value& value, const About& about) {
    Field& field = fields.emplace_back();
    field.key = key;
    field.value = value_of(value);
    field.is_written = field.is_offered = are_offered_;
    field.type = type_of<Value>();
    field.about = about;
    set_words(field, value);
    return field;
  }
  template <class Value>
  static FieldValue value_of(const Value& value) {
    if constexpr (std::is_enum_v<Value>)
      return std::string(name_of(value));
    else if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, std::vector<int>>)
      return value;
    else if constexpr (std::is_floating_point_v<Value>)
      return double{value};
    else if constexpr (std::is_integral_v<Value>)
      return std::int64_t{value};
    else
      return value ? value_of(*value) : FieldValue{};
  }
  template <class Value>
  static constexpr FieldType type_of() {
    if constexpr (std::is_enum_v<Value>)
      return FieldType::word;
    else if constexpr (std::is_same_v<Value, bool>)
      return FieldType::flag;
    else if constexpr (std::is_same_v<Value, std::vector<int>>)
      return FieldType::integers;
    else if constexpr (std::is_floating_point_v<Value>)
      return FieldType::number;
    else if constexpr (std::is_integral_v<Value>)
      return FieldType::integer;
    else
      return type_of<typename Value::value_type>();
  }
  template <class Value>
  static void set_words(Field& field, const Value&) {
    if constexpr (std::is_enum_v<Value>) field.words = words_of<Value>;
  }
  template <class Value>
  static void set_words(Field& field, const std::optional<Value>&) {
    set_words(field, Value{});
  }
  template <class Enum>
  static std::vector<std::string_view> words_of() {
    std::vector<std::string_view> words;
    for (const auto& [value, word] : NamesOf<Enum>::names) words.push_back(word);
    return words;
  }

  bool are_offered_ = true;
};

template <class Described>
std::vector<Field> fields_of(const Described& value) {
  FieldList list;
  Described::describe(list, value);
  return std::move(list.fields);
}

}  // namespace weft::scenarios
