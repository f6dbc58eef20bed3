#include "models/base/text.hpp"

#include <array>
#include <cstdio>

namespace weft {

std::string excerpt(const std::string& text, std::size_t most) {
  const std::string mark = "…";
  if (text.size() <= most) return text;
  std::size_t end = most - mark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // inside a character
  return text.substr(0, end) + mark;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string fixed(double value, int decimals) {
  std::array<char, 400> text;  // the largest double has 309 digits
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string signed_percent(double ratio, int decimals) {
  return (ratio < 0 ? "" : "+") + fixed(100 * ratio, decimals) + " %";
}

}  // namespace weft
