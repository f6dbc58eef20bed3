// What a run throws that fails.
#pragma once

#include <stdexcept>

namespace weft {

/// A schedule that could have been run was not, as by a deadlock or a dead rank.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
