#include "calibration/doctor.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "calibration/report/doctor_report.hpp"
#include "models/report/writers.hpp"

namespace weft::calibration {
namespace doctor_test {

class Doctor : public testing::Test {
 protected:
  explicit Doctor() = default;
  ~Doctor() override { unsetenv("WEFT_DEVICE_PART"); }
};

TEST_F(Doctor, TriesEveryKindOfScheduleOnOneOnTwoAndOnAllGpus) {
  setenv("WEFT_DEVICE_PART", WEFT_FAKE_DEVICE_PART, 1);
  setenv("WEFT_FAKE_DEVICE_MS", "0", 1);
  const Findings findings = examine(20);
  unsetenv("WEFT_FAKE_DEVICE_MS");
  ASSERT_FALSE(findings.tried.empty());
  EXPECT_EQ(findings.tried.front().gpus, 1);
  EXPECT_GT(findings.tried.back().gpus, 2);
  EXPECT_EQ(findings.conditions.gpu, "fake");
  const auto report = report::doctor_report(findings);
  EXPECT_EQ(report.sections.at(0).table.rows.size(), findings.tried.size());
}

TEST_F(Doctor, SaysThatNothingRunsWithoutADevicePart) {
  setenv("WEFT_DEVICE_PART", "/nowhere.so", 1);
  const Findings findings = examine(20);
  EXPECT_THAT(findings.notes, testing::ElementsAre(testing::StartsWith("Nothing runs on GPUs: ")));
  EXPECT_TRUE(report::doctor_report(findings).sections.empty());
}

}  // namespace doctor_test
}  // namespace weft::calibration
