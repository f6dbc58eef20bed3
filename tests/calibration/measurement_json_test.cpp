#include "calibration/measurement_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::calibration {
namespace measurement_json_test {

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
  return measurement;
}

Measurement read(const nlohmann::json& json) {
  JsonObject object(json);
  const Measurement measurement = measurement_from(object);
  object.finish();
  return measurement;
}

TEST(MeasurementJson, ReadsBackWhatItWrote) {
  const auto json = to_json(example());
  EXPECT_EQ(to_json(read(json)), json);
}

TEST(MeasurementJson, ReadsBackASustainedOneAndWhatTheGpusDid) {
  Measurement measurement = example();
  measurement.condition = Condition::sustained;
  measurement.in_turn_with = "7.0", measurement.beside_guests = true;
  measurement.gpus = {{1755, 1820}, {690, 655}, {"power cap"}};
  measurement.repeat_clocks_MHz = {1900, 1890, 1895};
  measurement.windows_us = {98, 100, 101.5}, measurement.window_clocks_MHz = {1900, 1850};
  const auto json = to_json(measurement);
  EXPECT_EQ(json.at("condition"), "sustained");
  EXPECT_EQ(json.at("power_W_of_gpus"), nlohmann::json({690, 655}));
  EXPECT_EQ(to_json(read(json)), json);
}

TEST(MeasurementJson, WithoutAConditionIsOneAfterAPause) {
  EXPECT_EQ(read({{"time_us", 12.5}}).condition, Condition::after_pause);
  EXPECT_THROW(read({{"time_us", 12.5}, {"condition", "warm"}}), InputError);
}

TEST(MeasurementJson, OfAnotherProgramNeedsNoMoreThanTheTime) {
  EXPECT_EQ(read({{"time_us", 12.5}}).time_us, 12.5);
  EXPECT_THROW(read({{"iterations", 3}}), InputError);
}

TEST(MeasurementJson, OfHotGpusDoesNotCount) {
  const auto held_back = [](std::vector<std::string> why) { return GpuReadings{{}, {}, std::move(why)}; };
  EXPECT_FALSE(held_back({}).is_held_back_by_surroundings());
  EXPECT_FALSE(held_back({"power cap"}).is_held_back_by_surroundings());
  EXPECT_TRUE(held_back({"power cap", "thermal"}).is_held_back_by_surroundings());
}

TEST(MeasurementJson, RefusesAKeyThatItDoesNotKnow) {
  EXPECT_THROW(read({{"time_us", 12.5}, {"colour", 1}}), InputError);
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
  const Conditions conditions{"2026-01-01T00:00:00Z",
                              "GPU",
                              "580",
                              "13.0",
                              "2.28.9",
                              "130000",
                              4,
                              132,
                              1980,
                              700,
                              "2.11",
                              "464d",
                              "0f1e2d3c4b5a",
                              {"CUDA_VISIBLE_DEVICES=0,1", "NCCL_NVLS_ENABLE=0"},
                              "on",
                              "off",
                              "on",
                              1500,
                              1};
  const auto json = to_json(conditions);
  EXPECT_EQ(to_json(conditions_from(JsonObject(json))), json);
  EXPECT_EQ(json.at("max_sm_clock_MHz"), 1980);
  EXPECT_EQ(json.at("mps"), "on");
  EXPECT_EQ(json.at("application_clock_MHz"), 1500);
}

TEST(KernelJson, ReadsBackWhatItWrote) {
  const KernelRecord kernel{"gemm", {"nvjet", {128, 2, 1}, {384, 1, 1}, {2, 1, 1}, 168, 16, 232448}, 1, "s0", 4096, 1.5,
                            99};
  const auto json = to_json(kernel);
  EXPECT_EQ(to_json(kernel_from(JsonObject(json))), json);
  EXPECT_EQ(to_json(launch_from(JsonObject(to_json(kernel.launch)))), to_json(kernel.launch));
}

TEST(SpanJson, ReadsBackWhatItWrote) {
  const Span span{"gemm", "gemm", "s0", 3, 1.5, 2.5, "detail", {}};
  const auto json = to_json(span);
  EXPECT_EQ(to_json(span_from(JsonObject(json))), json);
}

TEST(MeasurementJson, HasNoTimesThatNothingTakes) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = to_json(example());
    json[key] = value;
    return json;
  };
  for (const double time_us : {0.0, -1.0, 1e-9, 5e-324, 1e30}) {
    EXPECT_THROW(read(with("time_us", time_us)), InputError) << time_us;
    EXPECT_THROW(read(with("repeats_us", {100.0, time_us})), InputError) << time_us;
    EXPECT_THROW(read(with("windows_us", {time_us, 100.0})), InputError) << time_us;
  }
  for (const char* key : {"power_W", "sm_clock_MHz", "max_error", "error_bound"})
    EXPECT_THROW(read(with(key, -1)), InputError) << key;
  EXPECT_THROW(read(with("window_clocks_MHz", {-5.0, 2.0})), InputError);
}

}  // namespace measurement_json_test
}  // namespace weft::calibration
