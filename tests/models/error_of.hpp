// What an action complains about.
#pragma once

#include <string>

#include "models/base/input_error.hpp"

namespace weft {

/// The text of the InputError that `action` throws, or "" if it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace weft
