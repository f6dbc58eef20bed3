// No command writes into a file that it also reads, or twice into one.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace files_test {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class FilesOfACommand : public testing::Test {
 protected:
  FilesOfACommand() {
    folder.write("x", "what stands there");
    folder.write("y", "what stands there too");
    std::filesystem::create_symlink("x", folder.path() / "soft");
    std::filesystem::create_hard_link(folder.path() / "x", folder.path() / "hard");
  }
  TemporaryFolder folder;
};

class TheSameFile : public FilesOfACommand, public testing::WithParamInterface<std::string> {};

TEST_P(TheSameFile, IsRefusedAndStaysAsItWas) {
  const auto files_before = folder.file_names();
  const CommandResult result = run_weft(GetParam(), folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr(": expected a file of its own, got "));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_EQ(folder.file_names(), files_before);
  EXPECT_EQ(folder.read("x"), "what stands there");
  EXPECT_EQ(folder.read("y"), "what stands there too");
}

INSTANTIATE_TEST_SUITE_P(
    Commands, TheSameFile,
    testing::Values("predict --machine h200x8-nvswitch --in x --out x",
                    "predict --machine h200x8-nvswitch --in x --out ./x",
                    "predict --machine h200x8-nvswitch --in x --out soft",
                    "predict --machine h200x8-nvswitch --in x --out hard", "predict --machine ./x --in y --out x",
                    "ablate y x --machine h200x8-nvswitch --json x", "ask x --out x", "calibrate y --base ./x --out x",
                    "check x --json x", "calibrate x --base h200x8-nvswitch --errors y --out y", "compare x y --svg y",
                    "explore x --machine h200x8-nvswitch --schedule x", "explore x --svg new --trace ./new",
                    "measure x --machine h200x8-nvswitch --out x", "run x --spans x",
                    "simulate x --machine h200x8-nvswitch --json x", "tune x --machine h200x8-nvswitch --out x",
                    "validate y x --machine h200x8-nvswitch --svg x"));

TEST_F(FilesOfACommand, AreReadTwiceAndWrittenIntoOneDevice) {
  const CommandResult read_twice = run_weft("calibrate x --errors x --base h200x8-nvswitch --out new.json", folder);
  EXPECT_THAT(read_twice.errors, HasSubstr("x: line 1"));
  const CommandResult device =
      run_weft("simulate x --machine h200x8-nvswitch --json /dev/null --trace /dev/null", folder);
  EXPECT_THAT(device.errors, HasSubstr("x: expected JSON"));
}

/// Options that begin like the others that are files.
TEST_F(FilesOfACommand, AreNeverJustText) {
  const std::string words = run_weft("--help", folder).output;
  for (const std::string command : {"ablate", "ask", "calibrate", "check", "compare", "draw", "explore", "machines",
                                    "measure", "plan", "predict", "reproduce", "run", "simulate", "tune", "validate"}) {
    EXPECT_THAT(words, HasSubstr("\n  " + command + " "));
    const std::string help = run_weft(command + " --help", folder).output;
    EXPECT_THAT(help, Not(ContainsRegex("--(in|out|json|svg|trace|spans|schedule|machine|base|errors|library-answers) "
                                        "TEXT (\\.\\.\\. )?")))
        << command;
  }
}

}  // namespace files_test
}  // namespace weft::tests
