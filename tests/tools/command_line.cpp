#include "tests/tools/command_line.hpp"

#include <sys/wait.h>

#include <cstdlib>

namespace weft::tests {

CommandResult run_weft(const std::string& arguments, const TemporaryFolder& folder) {
  const TemporaryFolder streams;
  const std::string command = "cd '" + folder.path().string() + "' && '" WEFT_PROGRAM "' " + arguments +
                              " </dev/null >'" + streams.path().string() + "/output' 2>'" + streams.path().string() +
                              "/errors'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), streams.read("output"),
          streams.read("errors")};
}

}  // namespace weft::tests
