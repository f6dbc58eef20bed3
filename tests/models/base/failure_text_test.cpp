#include "models/base/failure_text.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <vector>

#include "models/base/input_error.hpp"

namespace weft {
namespace failure_text_test {

template <class Action>
std::string text_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return failure_text(error);
  }
  return "";
}

TEST(FailureText, IsWhatWeAndTheOperatingSystemSay) {
  EXPECT_EQ(failure_text(InputError("field", "expected more")), "field: expected more");
  EXPECT_EQ(failure_text(std::system_error(ENOSPC, std::generic_category(), "file")), "file: No space left on device");
  EXPECT_EQ(text_of([] { std::ignore = std::filesystem::file_size("/nowhere/at all"); }),
            "/nowhere/at all: No such file or directory");
}

TEST(ShownMessage, IsOneLineOfAtMost600BytesWithItsEnd) {
  EXPECT_EQ(shown_message("a file: expected\nmore \x1b"), "a file: expected more \\u001b");
  EXPECT_EQ(shown_message(std::string(600, 'a')), std::string(600, 'a'));
  const std::string reason(196, 'c'),
      shown = shown_message(std::string(500, 'a') + "ééé" + std::string(500, 'b') + "€€" + reason);
  EXPECT_EQ(shown, std::string(397, 'a') + "…€" + reason);
}

TEST(FailureText, HidesWhatLibrariesSayOfTheirInsides) {
  EXPECT_EQ(text_of([] { std::vector<int>().reserve(static_cast<std::size_t>(-1)); }),
            "there is not enough memory for this");
  EXPECT_EQ(failure_text(std::bad_alloc()), "there is not enough memory for this");
  const std::string own = "an error of weft itself, which its authors want to know of";
  EXPECT_EQ(text_of([] { std::ignore = nlohmann::json::parse("{"); }), own);
  EXPECT_EQ(text_of([] { std::vector<int>().at(1); }), own);
}

TEST(FailureText, OfASystemCallHasItsReason) {
  EXPECT_EQ(reason_of(EROFS), ": Read-only file system");
  EXPECT_EQ(reason_of(0), "");
}

}  // namespace failure_text_test
}  // namespace weft
