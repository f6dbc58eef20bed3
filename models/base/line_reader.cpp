#include "models/base/line_reader.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <iterator>
#include <string_view>
#include <utility>

#include "models/base/input_error.hpp"

namespace weft {
namespace {

constexpr std::size_t most_bytes_of_line = std::size_t{16} << 20;  // a case, or a measurement with all its windows

}  // namespace

/// Waits for a character where none is there; false at the end.
bool LineReader::read_what_is_there() {
  if (in_.peek() == std::istream::traits_type::eof()) {
    if (!begun_.empty()) whole_.push_back(std::exchange(begun_, {}));
    return false;
  }
  std::array<char, 1 << 16> buffer;
  std::streamsize size = in_.readsome(buffer.data(), buffer.size());
  if (size == 0) size = in_.read(buffer.data(), 1).gcount();  // of a stream without a buffer
  std::string_view text(buffer.data(), static_cast<std::size_t>(size));
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    whole_.push_back(std::exchange(begun_, {}).append(text.substr(0, end)));
  begun_ += text;
  if (begun_.size() > most_bytes_of_line)
    throw InputError("",
                     "expected lines of at most " + std::to_string(most_bytes_of_line >> 20) + " MB, got a longer one");
  return true;
}

std::vector<std::string> LineReader::next(std::size_t most) {
  while (whole_.empty() && read_what_is_there()) {
  }
  while (whole_.size() < most && in_.rdbuf()->in_avail() > 0 && read_what_is_there()) {
  }
  const auto end = whole_.begin() + static_cast<std::ptrdiff_t>(std::min(most, whole_.size()));
  std::vector<std::string> lines(std::make_move_iterator(whole_.begin()), std::make_move_iterator(end));
  whole_.erase(whole_.begin(), end);
  return lines;
}

}  // namespace weft
