#include "calibration/report/profile_report.hpp"

#include <gmock/gmock.h>

#include "models/report/writers.hpp"

namespace weft::calibration::report {
namespace profile_report_test {

using weft::report::written;

const evidence::CalibratedProfile profile{
    .text = "", .table_file = "", .table_text = "", .changes = {{"gpu.max_clock", "1980", "1755", "MHz", "a log"}}};

TEST(ProfileReport, HasARowForEachNumberThatChanged) {
  EXPECT_EQ(written(calibrated_report(profile), "csv"),
            "number,before,now,unit,note\ngpu.max_clock,1980,1755,MHz,a log\n");
  EXPECT_EQ(written(new_profile_report(profile), "csv"),
            "number,before,now,unit,source\ngpu.max_clock,1980,1755,MHz,a log\n");
}

TEST(ProfileReport, OfANewProfileSaysThatTheOtherNumbersAreAssumed) {
  EXPECT_TRUE(calibrated_report(profile).notes.empty());
  EXPECT_THAT(new_profile_report(profile).notes, testing::ElementsAre(testing::HasSubstr("assumed as the base")));
}

}  // namespace profile_report_test
}  // namespace weft::calibration::report
