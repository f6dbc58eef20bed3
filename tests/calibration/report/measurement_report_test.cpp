#include "calibration/report/measurement_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/report/writers.hpp"

namespace weft::calibration::report {
namespace measurement_report_test {

using testing::HasSubstr;
using weft::report::to_text;

LoneMeasurement measured() {
  LoneMeasurement result;
  result.conditions.gpu = "a GPU";
  result.conditions.gpus = 2;
  result.measurement.time_us = 12.34;
  result.measurement.repeats_us = {12.3, 12.4};
  result.measurement.checked = true;
  result.measurement.max_error = 0.5, result.measurement.error_bound = 2;
  return result;
}

TEST(MeasurementReport, SaysTimeRunsAndWhetherTheResultWasRight) {
  const weft::report::Report report = measured_report("pair", measured());
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("one iteration, short: 12.3 us on 2 x a GPU (runs: 12.3 12.4)\n"));
  EXPECT_THAT(text, HasSubstr("result right: largest error 0.5, allowed 2\n"));
  EXPECT_EQ((*report.document.json())["schedule"], "pair");
  EXPECT_EQ((*report.document.json())["conditions"]["gpu"], "a GPU");
}

TEST(MeasurementReport, OfRanksThatShareAGpuHasNoTime) {
  Schedule schedule;
  schedule.name = "pair";
  schedule.gpus = 8;
  LoneMeasurement result = measured();
  result.measurement.checked = false;
  const weft::report::Report report = shared_report(schedule, result);
  EXPECT_EQ(to_text(report), "pair\n8 ranks shared a GPU: no time means anything\nresult not checked\n");
  EXPECT_FALSE(report.document.json()->contains("time_us"));
}

TEST(MeasurementReport, OfSchedulesInTurnsSaysWhyOneFailed) {
  evidence::TriedPair pair{.pair = "gemm+all_reduce", .size = 4096, .fastest_first = {}, .serial_us = 30};
  for (const auto& [name, error] : {std::pair{"chunks", ""}, std::pair{"serial", "it hangs"}}) {
    evidence::TriedSchedule& tried = pair.fastest_first.emplace_back();
    tried.request.id = name;
    tried.predicted_us = 22, tried.measured_us = 20, tried.checked = true, tried.error = error;
  }
  EXPECT_EQ(to_text(tried_report({pair}, measured().conditions)),
            "Measured in turns on 2 x a GPU\n"
            "pair             size  schedule  predicted  measured    error  over serial  result\n"
            "gemm+all_reduce  4096  chunks      22.0 us   20.0 us  +10.0 %       1.500x  right\n"
            "gemm+all_reduce  4096  serial      22.0 us         -        -            -  it hangs\n");
}

}  // namespace measurement_report_test
}  // namespace weft::calibration::report
