#include "models/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace weft {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 400> text;  // the largest double has 309 digits
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// Bytes of the character that the text begins with; 0 where it begins with none of UTF-8.
std::size_t character_size(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  return size <= text.size() && std::all_of(text.begin() + 1, text.begin() + std::max<std::size_t>(size, 1), continues)
             ? size
             : 0;
}

std::uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  std::uint32_t code = static_cast<unsigned char>(character[0]) & (0xffu >> (character.size() + 1));
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3f);
  return code;
}

/// Unicode: C0, C1, marks and overrides of direction, separators of lines and paragraphs.
bool steers_terminal(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const std::uint32_t code = size > 0 ? code_point(text.substr(0, size)) : 0;
    if (size == 0)
      shown += formatted("\\x%02x", static_cast<unsigned char>(text[0]));
    else if (code == '\n' || code == '\t')
      shown += code == '\n' ? "\\n" : "\\t";
    else if (steers_terminal(code))
      shown += formatted("\\u%04x", code);
    else
      shown += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

std::string excerpt(const std::string& text, std::size_t most) {
  const std::string mark = "…";
  if (text.size() <= most) return text;
  std::size_t end = most - mark.size();
  while (end > 0 && continues(text[end])) --end;  // inside a character
  return text.substr(0, end) + mark;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string fixed(double value, int decimals) { return formatted("%.*f", decimals, value); }

std::string signed_percent(double ratio, int decimals) {
  return (ratio < 0 ? "" : "+") + fixed(100 * ratio, decimals) + " %";
}

}  // namespace weft
