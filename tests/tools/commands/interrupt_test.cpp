#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace interrupt_test {

/// weft predict that waits for cases. It writes to a pipe with a name, so that it is known to run once that is open.
class WaitingCommand {
 public:
  explicit WaitingCommand(const TemporaryFolder& folder) {
    const std::string out = folder.path() / "out";
    if (mkfifo(out.c_str(), 0600) != 0 || pipe(input_) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(input_[0], STDIN_FILENO);
      close(input_[1]);
      execl(WEFT_PROGRAM, WEFT_PROGRAM, "predict", "--machine", "h200x8-nvswitch", "--out", out.c_str(), nullptr);
      _exit(99);
    }
    output_ = open(out.c_str(), O_RDONLY);  // returns when the command opens its end
  }
  ~WaitingCommand() {
    for (const int descriptor : {input_[0], input_[1], output_}) close(descriptor);
  }
  WaitingCommand(const WaitingCommand&) = delete;
  WaitingCommand& operator=(const WaitingCommand&) = delete;

  /// The wait status after `signal`.
  int end_by(int signal) const {
    kill(child_, signal);
    int status = 0;
    waitpid(child_, &status, 0);
    return status;
  }

 private:
  int input_[2] = {-1, -1}, output_ = -1;
  pid_t child_ = -1;
};

TEST(Interrupt, ExitsWith130) {
  const TemporaryFolder folder;
  const int status = WaitingCommand(folder).end_by(SIGINT);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
}

}  // namespace interrupt_test
}  // namespace weft::tests
