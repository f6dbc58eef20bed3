#include "scenarios/fields.hpp"

#include "scenarios/family_names.hpp"

namespace weft::scenarios {
namespace {

constexpr Range times_us{0, 1'000'000'000};

}  // namespace

void FieldReader::input_type(std::string_view key, DataType& value) {
  value = DataType::bf16;
  const auto found = object_.find(key);
  if (!found) return;
  const std::string word = found->string();
  if (word != "bf16" && word != "fp8") found->fail("bf16 or fp8");
  if (word == "fp8") value = DataType::fp8;
}

void FieldReader::time_us(std::string_view key, std::optional<double>& value) {
  const auto found = object_.find(key);
  if (!found) return;
  value = found->number(times_us.least, times_us.most);
  if (*value == 0) found->fail("a time above 0");
}

void FieldReader::read_list(const JsonValue& json, std::vector<int>& values, Range range) {
  for (const JsonValue& item : json.list()) values.push_back(static_cast<int>(item.integer(range.least, range.most)));
  if (values.empty()) json.fail("at least one group");
}

void FieldReader::families(std::string_view key, std::vector<std::string>& names, const About&) {
  const auto found = object_.find(key);
  if (!found) return;
  names = family_names(*found);
  if (names.empty()) found->fail("at least one family");
}

bool FieldReader::is_searched(const JsonValue& value) {
  if (!value.is_string()) return false;
  if (value.string() != "searched") value.fail("\"searched\" or a value");
  return true;
}

void FieldList::input_type(std::string_view key, DataType value) {
  Field& field = add(key, value, "of the inputs");
  field.otherwise = value_of(DataType::bf16);
  field.words = [] { return std::vector{name_of(DataType::bf16), name_of(DataType::fp8)}; };
}

void FieldList::time_us(std::string_view key, const std::optional<double>& value) {
  Field& field = add(key, value, times_us);
  if (!value) field.is_written = false;
  field.excludes_least = true;
}

void FieldList::families(std::string_view key, const std::vector<std::string>& names, const About& about) {
  Field& field = fields.emplace_back();
  field.key = key;
  field.value = names;
  field.is_written = are_offered_ && !names.empty();
  field.is_offered = are_offered_;
  field.type = FieldType::words;
  field.about = about;
}

}  // namespace weft::scenarios
