#include "tools/commands/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::tools::commands {
namespace terminal_test {

TEST(ProgressText, SaysTheShareAndTheTimeLeft) {
  ProgressText text("schedules", 0.5);
  EXPECT_EQ(text.at(120, 480, 2), "120 of 480 schedules, 25 %, 6 s left");
}

TEST(ProgressText, IsSilentAboutShortWorkAndBetweenIntervals) {
  ProgressText text("cases", 5);
  EXPECT_EQ(text.at(1, 10, 4.9), "");
  EXPECT_NE(text.at(2, 10, 5.1), "");
  EXPECT_EQ(text.at(3, 10, 10), "");
  EXPECT_NE(text.at(4, 10, 10.2), "");
}

TEST(Style, OfAPipeHasNoLimitAndNoColour) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int output = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  const report::Style style = style_of_output(false);
  dup2(output, STDOUT_FILENO);
  for (const int descriptor : {ends[0], ends[1], output}) close(descriptor);
  EXPECT_EQ(style.width, 0u);
  EXPECT_FALSE(style.is_coloured);
}

}  // namespace terminal_test
}  // namespace weft::tools::commands
