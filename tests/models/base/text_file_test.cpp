#include "models/base/text_file.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <system_error>

#include "tests/models/error_of.hpp"
#include "tests/temporary_folder.hpp"

namespace weft {
namespace text_file_test {

using testing::ElementsAre;
using testing::HasSubstr;

class TextFiles : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder.path() / name; }

  static std::string failure_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::system_error& error) {
      return error.what();
    }
    return "";
  }

  tests::TemporaryFolder folder;
};

TEST_F(TextFiles, AreAllWritten) {
  folder.write("b", "old");
  write_text_files({{path("a"), "one"}, {path("b"), "two"}});
  EXPECT_EQ(folder.read("a"), "one");
  EXPECT_EQ(folder.read("b"), "two");
  EXPECT_THAT(folder.file_names(), ElementsAre("a", "b"));
}

/// What is written beside its place and moved there is whole at every moment, whoever looks, and whenever power fails.
TEST_F(TextFiles, AreWholeForWhoReadsThemMeanwhile) {
  folder.write("a", "old and whole");
  std::ifstream reader(path("a"));
  write_text_file(path("a"), "new");
  std::string read;
  std::getline(reader, read);
  EXPECT_EQ(read, "old and whole");
  EXPECT_EQ(folder.read("a"), "new");
}

TEST_F(TextFiles, StayAsTheyWereWhereOneFindsNoRoom) {
  folder.write("b", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string failure = failure_of([&] {
    write_text_files({{path("a"), "one"}, {path("b"), std::string(2000, '-')}});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(failure, path("b").string() + ": File too large");
  EXPECT_EQ(folder.read("b"), "old");
  EXPECT_THAT(folder.file_names(), ElementsAre("b"));
}

TEST_F(TextFiles, StayAsTheyWereWhereOneHasNoPlace) {
  EXPECT_THAT(failure_of([&] {
                write_text_files({{path("a"), "one"}, {path("nowhere/b"), "two"}});
              }),
              HasSubstr("nowhere/b: No such file"));
  EXPECT_THAT(failure_of([&] {
                write_text_files({{path("a"), "one"}, {folder.path(), "two"}});
              }),
              HasSubstr("Is a directory"));
  EXPECT_THAT(folder.file_names(), ElementsAre());
}

TEST_F(TextFiles, AreRemovedOrSayWhyNot) {
  folder.write("a", "old");
  remove_file(path("a"));
  remove_file(path("a"));
  EXPECT_THAT(folder.file_names(), ElementsAre());
  EXPECT_EQ(failure_of([&] { remove_file(folder.path()); }), folder.path().string() + ": Is a directory");
}

TEST_F(TextFiles, AreWrittenThroughDevices) {
  write_text_file("/dev/null", "text");
  EXPECT_FALSE(std::filesystem::is_regular_file("/dev/null"));
  EXPECT_EQ(failure_of([] { write_text_file("/dev/full", "text"); }), "/dev/full: No space left on device");
}

TEST_F(TextFiles, AreRefusedBeforeTheyAreWritten) {
  EXPECT_EQ(error_of([&] { require_writable(path("a")); }), "");
  EXPECT_EQ(error_of([&] { require_writable(""); }), "");
  EXPECT_THAT(error_of([&] { require_writable(folder.path()); }), HasSubstr(": expected a file, got a folder"));
  EXPECT_THAT(error_of([&] { require_writable(path(std::string(300, 'a'))); }),
              HasSubstr(": expected names of at most 255 bytes"));
  EXPECT_THAT(error_of([&] { require_writable(path("nowhere/a")); }),
              HasSubstr("nowhere/a: expected a file in a folder that exists, found no "));
}

TEST_F(TextFiles, AreReadWhole) {
  folder.write("a", std::string(3 << 20, 'x') + "end");
  EXPECT_EQ(read_text_file(path("a")), std::string(3 << 20, 'x') + "end");
  EXPECT_EQ(read_text_file("/dev/null"), "");
  EXPECT_THAT(error_of([&] { read_text_file(path("b")); }), HasSubstr("b: expected a file, found none"));
  EXPECT_THAT(error_of([&] { read_text_file(folder.path()); }), HasSubstr(": expected a file, got a folder"));
  EXPECT_THAT(error_of([&] { read_text_file("/proc/self/mem"); }),
              HasSubstr("/proc/self/mem: expected a file that can be read: Input/output error"));
}

// Of one that takes more than there is memory no more is read than of others.
TEST_F(TextFiles, ThatAreFarTooLargeAreRefused) {
  folder.write("large", "");
  std::filesystem::resize_file(path("large"), std::uintmax_t{1} << 40);  // takes no room until it is written
  EXPECT_EQ(error_of([&] { read_text_file(path("large")); }),
            path("large").string() + ": expected at most 128 MB, got more");
}

TEST_F(TextFiles, WithoutAnEndAreRefused) {
  EXPECT_EQ(error_of([&] { read_text_file("/dev/zero"); }), "/dev/zero: expected at most 128 MB, got more");
}

}  // namespace text_file_test
}  // namespace weft
