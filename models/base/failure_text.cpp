#include "models/base/failure_text.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

#include "models/base/text.hpp"

namespace weft {

std::string failure_text(const std::exception& error) {
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return file->path1().string() + ": " + file->code().message();
  if (dynamic_cast<const std::runtime_error*>(&error) != nullptr) return error.what();
  const bool is_out_of_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
                                dynamic_cast<const std::length_error*>(&error) != nullptr;
  return is_out_of_memory ? "there is not enough memory for this"
                          : "an error of weft itself, which its authors want to know of";
}

std::string shown_message(std::string message) {
  constexpr std::size_t longest = 600, end = 200;
  std::replace(message.begin(), message.end(), '\n', ' ');
  const std::string text = printable(message);
  if (text.size() <= longest) return text;
  std::size_t rest = text.size() - end;
  while ((static_cast<unsigned char>(text[rest]) & 0xc0) == 0x80) ++rest;  // inside a character
  return excerpt(text, longest - end) + text.substr(rest);
}

std::string reason_of(int error) { return error == 0 ? "" : ": " + std::generic_category().message(error); }

}  // namespace weft
