// What Executor::run throws where a run fails.
#pragma once

#include <stdexcept>

namespace weft {

/// Of a schedule that can be run: a deadlock, a dead rank, a device without memory.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
