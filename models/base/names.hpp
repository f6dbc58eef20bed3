// One table per enum, read both ways: the words that JSON files use.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"

namespace weft {

/// Specialise with `static constexpr std::array names{std::pair{Enum::value, std::string_view{"value"}}, …}`.
template <class Enum>
struct NamesOf;

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& [known, name] : NamesOf<Enum>::names)
    if (known == value) return name;
  return "?";
}

template <class Enum>
constexpr std::optional<Enum> find_name(std::string_view word) {
  for (const auto& [value, name] : NamesOf<Enum>::names)
    if (name == word) return value;
  return std::nullopt;
}

/// Throws InputError that lists the words which would have been right.
template <class Enum>
Enum from_name(std::string_view word, const std::string& field) {
  if (const auto value = find_name<Enum>(word)) return *value;
  std::string known_words;
  for (const auto& [value, name] : NamesOf<Enum>::names)
    known_words += (known_words.empty() ? "" : ", ") + std::string(name);
  throw InputError(field, "expected one of " + known_words + ", got \"" + shown_name(std::string(word)) + "\"");
}

}  // namespace weft
