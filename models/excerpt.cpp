#include "models/excerpt.hpp"

namespace weft {

std::string excerpt(const std::string& text, std::size_t most) {
  const std::string mark = "…";
  if (text.size() <= most) return text;
  std::size_t end = most - mark.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // inside a character
  return text.substr(0, end) + mark;
}

}  // namespace weft
