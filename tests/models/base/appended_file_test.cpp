#include "models/base/appended_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <system_error>

#include "tests/models/error_of.hpp"
#include "tests/temporary_folder.hpp"

namespace weft {
namespace appended_file_test {

using testing::ElementsAre;
using testing::HasSubstr;

class AppendedFiles : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder.path() / "lines"; }
  AppendedFile opened() const { return {path(), {"{\"case\":"}}; }

  tests::TemporaryFolder folder;
};

TEST_F(AppendedFiles, AppearWithTheirFirstLine) {
  AppendedFile file = opened();
  EXPECT_FALSE(file.exists());
  EXPECT_THAT(folder.file_names(), ElementsAre());
  file.add("{\"case\": 1}\n");
  EXPECT_EQ(folder.read("lines"), "{\"case\": 1}\n");
}

TEST_F(AppendedFiles, GoOnAfterTheirLastWholeLine) {
  folder.write("lines", "{\"case\": 1}\n{\"ca");
  opened().add("{\"case\": 2}\n");
  EXPECT_EQ(folder.read("lines"), "{\"case\": 1}\n{\"case\": 2}\n");
}

TEST_F(AppendedFiles, KeepNoPartOfLinesThatFindNoRoom) {
  AppendedFile file = opened();
  file.add("{\"case\": 1}\n");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 100, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  try {
    file.add("{\"case\": 2}\n{\"case\": \"" + std::string(100, '-') + "\"}\n");
    ADD_FAILURE() << "expected an error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.what(), path().string() + ": File too large");
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(folder.read("lines"), "{\"case\": 1}\n");
}

TEST_F(AppendedFiles, AreOfOneRunAtATime) {
  const auto refusal = [&] { return error_of([&] { opened().add("{\"case\": 2}\n"); }); };
  {
    AppendedFile first = opened();
    first.add("{\"case\": 1}\n");
    EXPECT_THAT(refusal(), HasSubstr("expected no other run to write it"));
  }
  EXPECT_EQ(refusal(), "");
}

}  // namespace appended_file_test
}  // namespace weft
