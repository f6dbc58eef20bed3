#include "calibration/measurement_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::calibration {
namespace {

Measurement example() {
  Measurement measurement;
  measurement.time_us = 101.5;
  measurement.repeats_us = {100, 101.5, 103};
  measurement.iterations = 200;
  measurement.checked = true;
  measurement.max_error = 0.25;
  measurement.error_bound = 1.5;
  measurement.sm_clock_MHz = 1755;
  measurement.power_W = 640;
  KernelRecord kernel;
  kernel.operation = "gemm";
  kernel.kernel_name = "nvjet";
  kernel.gpu = 1;
  kernel.stream = "s0";
  kernel.grid[0] = 128, kernel.block[0] = 384, kernel.cluster[0] = 2;
  kernel.registers = 168;
  kernel.dynamic_shared_memory = 232448;
  kernel.start_us = 1.5, kernel.end_us = 99;
  measurement.kernels = {kernel};
  return measurement;
}

TEST(MeasurementJson, ReadsBackWhatItWrote) {
  const auto json = to_json(example());
  EXPECT_EQ(to_json(measurement_from(json)), json);
}

TEST(MeasurementJson, ReportsTheNoiseOfTheRepeats) {
  EXPECT_DOUBLE_EQ(to_json(example()).at("noise"), (103 - 100) / 101.5);
}

TEST(MeasurementJson, LeavesTheErrorOutWhereNothingWasChecked) {
  Measurement unchecked = example();
  unchecked.checked = false;
  EXPECT_FALSE(to_json(unchecked).contains("max_error"));
}

TEST(ConditionsJson, ReadsBackWhatItWrote) {
  Conditions conditions{"2026-01-01T00:00:00Z", "GPU", "580", "13.0", "2.28.9", "130000", 4, 132, 1980, 700};
  const auto json = to_json(conditions);
  EXPECT_EQ(to_json(conditions_from(json)), json);
  EXPECT_EQ(json.at("max_sm_clock_MHz"), 1980);
}

TEST(SpanJson, ReadsBackWhatItWrote) {
  const Span span{"gemm", "gemm", "s0", 3, 1.5, 2.5, "detail", {}};
  const auto json = to_json(span);
  EXPECT_EQ(to_json(span_from(json)), json);
}

}  // namespace
}  // namespace weft::calibration
