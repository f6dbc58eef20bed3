#include "models/machine/machine_files.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "models/base/input_error.hpp"
#include "tests/temporary_folder.hpp"

namespace weft {
namespace machine_files_test {

/// Points $WEFT_MACHINES at a folder while it lives.
class MachineFolder : public testing::Test {
 protected:
  MachineFolder() { setenv("WEFT_MACHINES", folder.path().c_str(), 1); }
  ~MachineFolder() override { unsetenv("WEFT_MACHINES"); }
  tests::TemporaryFolder folder;
};

TEST_F(MachineFolder, AnswersAPartOfNamesWithThoseThatHaveItFirst) {
  for (const char* const name : {"h100x8.json", "h200x8.json", "h200x8-nvls.json"}) folder.write(name, "{}");
  try {
    machine_path("h200");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "machine: expected a path or one of h200x8, h200x8-nvls, h100x8, got \"h200\"");
  }
}

TEST_F(MachineFolder, OfTheEnvironmentReplacesTheShippedOne) {
  folder.write("mine.json", "{}");
  EXPECT_EQ(machine_path("mine"), folder.path() / "mine.json");
}

TEST_F(MachineFolder, ListsProfilesByName) {
  folder.write("b.json", "{}");
  folder.write("a.json", "{}");
  folder.write("notes.txt", "");
  EXPECT_THAT(machine_names(), testing::ElementsAre("a", "b"));
}

TEST_F(MachineFolder, AnswersAnUnknownNameWithTheKnownOnes) {
  folder.write("a.json", "{}");
  folder.write("b.json", "{}");
  try {
    machine_path("c");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "machine: expected a path or one of a, b, got \"c\"");
  }
}

TEST_F(MachineFolder, OfTheEnvironmentReplacesTheInstalledOne) {
  const tests::TemporaryFolder share;
  std::filesystem::create_directory(share.path() / "machines");
  share.write("machines/installed.json", "{}");
  EXPECT_EQ(machine_folder(share.path()), folder.path());
  unsetenv("WEFT_MACHINES");
  EXPECT_EQ(machine_folder(share.path()), share.path() / "machines");
  EXPECT_THAT(machine_names(share.path()), testing::ElementsAre("installed"));
}

TEST(MachinePath, IsInTheTreeWhereTheInstallationHasNoProfiles) {
  const tests::TemporaryFolder share;
  EXPECT_EQ(machine_folder(share.path()), machine_folder());
  EXPECT_EQ(machine_folder().parent_path() / "machines", machine_folder());
}

TEST(MachinePath, TakesWhatLooksLikeAPathAsItIs) {
  EXPECT_EQ(machine_path("./server"), "./server");
  EXPECT_EQ(machine_path("server.json"), "server.json");
}

}  // namespace machine_files_test
}  // namespace weft
