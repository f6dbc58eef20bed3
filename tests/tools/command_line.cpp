#include "tests/tools/command_line.hpp"

#include <sys/wait.h>

#include <cstdlib>

namespace weft::tests {

CommandResult run(const std::string& command, const TemporaryFolder& folder) {
  const TemporaryFolder streams;
  const std::string redirected = "cd '" + folder.path().string() + "' && " + command + " </dev/null >'" +
                                 streams.path().string() + "/output' 2>'" + streams.path().string() + "/errors'";
  const int status = std::system(redirected.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), streams.read("output"),
          streams.read("errors")};
}

CommandResult run_weft(const std::string& arguments, const TemporaryFolder& folder) {
  return run("'" WEFT_PROGRAM "' " + arguments, folder);
}

}  // namespace weft::tests
