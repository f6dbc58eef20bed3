#include "scenarios/report/losses_picture.hpp"

#include <gmock/gmock.h>

namespace weft::scenarios::report {
namespace losses_picture_test {

using testing::HasSubstr;
using testing::Not;

scenarios::study::Losses losses(std::int64_t overlap_us,
                                std::vector<std::pair<scenarios::study::Cause, std::int64_t>> parts_us) {
  scenarios::study::Losses made{
      .time_ps = overlap_us * 1'000'000, .overlap_ps = overlap_us * 1'000'000, .parts_ps = {}};
  for (const auto& [cause, us] : parts_us) {
    made.parts_ps[static_cast<std::size_t>(cause)] = us * 1'000'000;
    made.time_ps += us * 1'000'000;
  }
  return made;
}

TEST(LossesPicture, HasABoxForEachPartThatCostsTime) {
  const std::string picture = losses_picture(
      "pair",
      {{"serial", losses(100, {{scenarios::study::Cause::exposed, 50}, {scenarios::study::Cause::power, -20}})}});
  EXPECT_THAT(picture, HasSubstr("<title>perfect overlap, 100.0 us</title>"));
  EXPECT_THAT(picture, HasSubstr("<title>exposed communication, 50.0 us</title>"));
  EXPECT_THAT(picture, Not(HasSubstr("power")));
  EXPECT_THAT(picture, HasSubstr("130 us (20 us gained)"));
}

TEST(LossesPicture, NamesEverySchedule) {
  const std::string picture =
      losses_picture("pair", {{"serial", losses(100, {})}, {"decomposition, chunks 4", losses(100, {})}});
  EXPECT_THAT(picture, HasSubstr(">serial<"));
  EXPECT_THAT(picture, HasSubstr(">decomposition, chunks 4<"));
}

}  // namespace losses_picture_test
}  // namespace weft::scenarios::report
