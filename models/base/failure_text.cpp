#include "models/base/failure_text.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>

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

std::string reason_of(int error) { return error == 0 ? "" : ": " + std::generic_category().message(error); }

}  // namespace weft
