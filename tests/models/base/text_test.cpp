#include "models/base/text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
#include "tests/models/error_of.hpp"

namespace weft {
namespace text_test {

TEST(Excerpt, OfATextThatFitsIsTheText) { EXPECT_EQ(excerpt("gemm", 4), "gemm"); }

TEST(Excerpt, EndsBeforeACharacterThatDoesNotFit) {
  EXPECT_EQ(excerpt("abcdefgh", 7), "abcd…");
  EXPECT_EQ(excerpt("abc\u00e9fgh", 7), "abc…");       // é would have bytes 4 and 5
  EXPECT_EQ(excerpt("ab\u20acfgh", 7), "ab…");         // € has bytes 3 to 5
  EXPECT_EQ(excerpt("ab\u00e9fghi", 7), "ab\u00e9…");  // é ends where the mark begins
}

TEST(SignedPercent, ShowsTheSignOfGainAndLoss) {
  EXPECT_EQ(signed_percent(0.123, 1), "+12.3 %");
  EXPECT_EQ(signed_percent(-0.5, 0), "-50 %");
}

TEST(Text, ForATerminalSteersNone) {
  EXPECT_EQ(printable("plain, ümläut, 漢字, … and 🙂"), "plain, ümläut, 漢字, … and 🙂");
  EXPECT_EQ(printable("a\x1b[31mb\x07"), "a\\u001b[31mb\\u0007");
  EXPECT_EQ(printable("one\ntwo\tthree\rfour\x7f"), "one\\ntwo\\tthree\\u000dfour\\u007f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\u009b31m \u202e \u2066 \u2028"), "\\u009b31m \\u202e \\u2066 \\u2028");
  EXPECT_EQ(printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
}

TEST(Text, OfKeysAndNamesIsCutInMessages) {
  const std::string name(100000, 'x');
  const auto length_of_error = [](const std::string& text, const auto& read) {
    return error_of([&] {
             const nlohmann::json json = parse_json(text);
             JsonObject object(json);
             read(object);
           })
        .size();
  };
  const auto finish = [](JsonObject& object) { object.finish(); };
  EXPECT_LT(length_of_error("{\"" + name + "\": 1}", finish), 300u);
  EXPECT_LT(length_of_error("{\"" + name + "\": 1, \"" + name + "\": 2}", finish), 300u);
  EXPECT_LT(length_of_error("{\"" + name + "\": 1}",
                            [&](JsonObject& object) {
                              for (const auto& [key, value] : object.entries()) value.string();
                            }),
            300u);
}

}  // namespace text_test
}  // namespace weft
