#include "calibration/report/accuracy_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/report/writers.hpp"
#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::report {
namespace accuracy_report_test {

using testing::ElementsAre;
using testing::HasSubstr;

const Source source{"a server", {"measured.jsonl"}};

TEST(AccuracyReport, CountsTheTargetsThatHaveCases) {
  const evidence::TargetResult met{.row = "pairs", .target_percent = 10, .cases = 5, .reached_percent = 4};
  const evidence::TargetResult missed{.row = "layers", .target_percent = 3, .cases = 5, .reached_percent = 4};
  const evidence::TargetResult without{.row = "attention", .target_percent = 3};
  const weft::report::Report report = targets_report({met, missed, without}, source);
  EXPECT_THAT(report.sections.at(0).notes, ElementsAre("1 of 2 targets met"));
  EXPECT_THAT(weft::report::to_text(report), HasSubstr("no cases"));
  EXPECT_EQ((*report.document.json())["machine"], "a server");
  EXPECT_TRUE((*report.document.json()).contains("targets"));
}

TEST(AccuracyReport, HasARowForEachMechanismThatWasSwitchedOff) {
  const weft::report::Report report =
      ablation_report({{"none", {.cases = 4, .mean = 0.05}}, {"power", {.cases = 4, .mean = 0.125}}}, source);
  EXPECT_THAT(weft::report::written(report, "csv"), HasSubstr("\npower,4,12.5,"));
  EXPECT_EQ((*report.document.json())["switched_off"]["power"]["mean_error"], 0.125);
}

TEST(AccuracyReport, SaysHowManyMeasurementsWereLeftOut) {
  const std::vector<evidence::Comparison> comparisons{
      evidence::comparison(evidence::gemm_part, evidence::serial, 100, 108)};
  const weft::report::Report report = accuracy_report({comparisons[0].measured}, comparisons, 3, {}, source, true);
  EXPECT_EQ(report.sections.at(0).table.rows.size(), 1u);
  EXPECT_THAT(report.notes, ElementsAre("3 measurements of schedules that the simulator does not have are left out."));
}

}  // namespace accuracy_report_test
}  // namespace weft::calibration::report
