#include "models/base/text.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

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

}  // namespace
}  // namespace weft
