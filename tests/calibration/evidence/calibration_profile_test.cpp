#include "calibration/evidence/calibration_profile.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"

namespace weft::calibration::evidence {
namespace calibration_profile_test {

using nlohmann::ordered_json;

TEST(CalibratedNumber, ReplacesValueSourceAndNote) {
  ordered_json profile{
      {"gemm", {{"tile_spread", {{"value", 1}, {"unit", "ratio"}, {"source", "guess"}, {"note", "an old one"}}}}}};
  set_number(profile, "gemm", "tile_spread", 0.123456, "measured: a test", "");
  EXPECT_EQ(profile["gemm"]["tile_spread"].dump(), R"({"value":0.12346,"unit":"ratio","source":"measured: a test"})");
}

TEST(CalibratedNumber, ThatTheProfileLeftOutGetsItsUnit) {
  ordered_json profile{{"gemm", ordered_json::object()}};
  set_number(profile, "gemm", "tile_spread", 0.5, "measured: a test", "of 3 GPUs");
  EXPECT_EQ(profile["gemm"]["tile_spread"].dump(),
            R"({"value":0.5,"unit":"ratio","source":"measured: a test","note":"of 3 GPUs"})");
}

TEST(CalibratedNumber, OfASectionThatMayBeLeftOutHasItsUnit) {
  ordered_json profile;
  profile["own_attention"]["decode"]["up_to_8"] = ordered_json::object();
  set_number(profile, "own_attention.decode.up_to_8", "start", 2.5, "measured: a test", "");
  EXPECT_EQ(profile["own_attention"]["decode"]["up_to_8"]["start"].dump(),
            R"({"value":2.5,"unit":"us","source":"measured: a test"})");
}

TEST(CalibratedNumber, OfNoMachineIsRefused) {
  ordered_json profile{{"gemm", ordered_json::object()}};
  EXPECT_EQ(error_of([&] { set_number(profile, "gemm", "colour", 1, "measured: a test", ""); }),
            "gemm.colour: expected a number of a machine profile");
}

}  // namespace calibration_profile_test
}  // namespace weft::calibration::evidence
