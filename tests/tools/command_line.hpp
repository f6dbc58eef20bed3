// Runs the built command `weft` as a user does.
#pragma once

#include <string>

#include "tests/temporary_folder.hpp"

namespace weft::tests {

struct CommandResult {
  int status = 0;  ///< 128 + n where signal n ended it
  std::string output, errors;
};

/// A line of shell in `folder`, with nothing to read.
CommandResult run(const std::string& command, const TemporaryFolder& folder);
/// `weft ARGUMENTS` in `folder`; the shell reads the arguments.
CommandResult run_weft(const std::string& arguments, const TemporaryFolder& folder);

}  // namespace weft::tests
