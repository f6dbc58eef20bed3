#include "scenarios/study/odds.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "scenarios/study/odds_json.hpp"
#include "tests/models/error_of.hpp"

namespace weft::scenarios::study {
namespace odds_test {

using testing::StartsWith;

/// z is -2, 0 or 2, each with one third; family "a" takes 2 % less than others and errs by half as much from 100 us on,
/// where half of a speedup is not measured; op "p" takes 3 % longer.
RatioErrors small_errors(double growth = 0) {
  const std::vector<double> z{-2, 0, 2};
  return {.classes = {{0, 0, 0, growth, z}, {100, 0, -0.5, growth, z}},
          .scales = {{"any", 0, 0.1, 10}, {"any", 100, 0.1, 10}, {"a", 100, 0.05, 5}},
          .families = {{"a", 0.02, 5}},
          .ops = {{"p", -0.03, 5}},
          .gpus = {{2, 0, 4}, {3, -0.01, 6}},
          .widening = 2};
}

PredictedRatio ratio(std::string_view family, double speedup, double serial_us) {
  return {.family = family, .op = "other", .gpus = 2, .speedup = speedup, .serial_us = serial_us};
}

TEST(Odds, OfAnEvenPredictionAreEven) {
  const Odds odds = small_errors().of(ratio("b", 1, 50));
  EXPECT_DOUBLE_EQ(odds.faster, 0.5);
  // The scale is widened: no case of family "b" was measured.
  EXPECT_NEAR(odds.gain, 1 - (std::exp(0.4) + 1 + std::exp(-0.4)) / 3, 1e-12);
  EXPECT_LT(odds.worst_gain, odds.gain);
}

TEST(Odds, AreThoseOfTheFamilyAndItsClassOfTimes) {
  const double x = std::log(1.2), expected = x + 0.02 - 0.5 * x;
  const Odds odds = small_errors().of(ratio("a", 1.2, 100));
  EXPECT_NEAR(odds.gain, 1 - (std::exp(-expected + 0.1) + std::exp(-expected) + std::exp(-expected - 0.1)) / 3, 1e-12);
  EXPECT_NE(small_errors().of(ratio("a", 1.2, 99)), odds);
}

TEST(Odds, OfAnotherMachineAreWider) {
  PredictedRatio one = ratio("a", 1.2, 100);
  const Odds known = small_errors().of(one);
  one.is_measured_machine = false;
  const Odds other = small_errors().of(one);
  EXPECT_LT(other.faster, known.faster);
  EXPECT_LT(other.worst_gain, known.worst_gain);
}

TEST(Odds, TheSlopeEndsWhereMeasurementsDo) {
  const auto expected = [](double x) { return x + 0.02 - 0.5 * 0.5; };
  EXPECT_NEAR(small_errors().of(ratio("a", std::exp(2.0), 100)).gain,
              1 - std::exp(-expected(2)) * (std::exp(0.1) + 1 + std::exp(-0.1)) / 3, 1e-12);
}

TEST(Odds, OfAnOpThatErrsOtherwiseAreShifted) {
  PredictedRatio one = ratio("b", 1, 50);
  one.op = "p";
  EXPECT_NEAR(1 - small_errors().of(one).gain, std::exp(0.03) * (1 - small_errors().of(ratio("b", 1, 50)).gain), 1e-12);
}

TEST(Odds, OfMoreGpusAreShifted) {
  PredictedRatio one = ratio("b", 1, 50);
  for (const int gpus : {3, 8}) {
    one.gpus = gpus;
    EXPECT_NEAR(1 - small_errors().of(one).gain, std::exp(0.01) * (1 - small_errors().of(ratio("b", 1, 50)).gain),
                1e-12);
  }
}

TEST(Odds, ErrorsGrowWithThePredictedDifference) {
  const double far = std::exp(0.4);
  EXPECT_EQ(small_errors(2).of(ratio("b", 1, 50)), small_errors().of(ratio("b", 1, 50)));
  EXPECT_NEAR(small_errors(2).gain_at(0.5 / 3, ratio("b", far, 50)), 1 - std::exp(-0.4 + 0.2 * 1.8 * 2), 1e-12);
}

TEST(Odds, GrowWithThePredictedSpeedup) {
  for (const std::string family : {"decomposition", "async_tp", "ficco", "hybrid", "signaling", "token_split"})
    for (const double serial_us : {20.0, 200.0, 2000.0}) {
      Odds before{.faster = 0, .gain = -100, .worst_gain = -100};
      for (double speedup = 0.5; speedup < 2; speedup += 0.01) {
        const Odds odds = shipped_ratio_errors().of(ratio(family, speedup, serial_us));
        EXPECT_GE(odds.faster, before.faster) << family << ' ' << speedup;
        EXPECT_GT(odds.gain, before.gain);
        EXPECT_LT(odds.worst_gain, odds.gain);
        before = odds;
      }
      EXPECT_GT(before.faster, 0.97);
    }
}

TEST(Odds, BadTablesNameTheField) {
  const auto error = [](const std::string& text) { return error_of([&] { ratio_errors_from_text(text); }); };
  const auto table = [](const std::string& widening, const std::string& classes, const std::string& gpus) {
    return R"({"format": "weft.odds/2", "source": "", "widening": )" + widening + R"(, "classes": [)" + classes +
           R"(], "scales": [], "families": [], "ops": [], "gpus": [)" + gpus + "]}";
  };
  const auto time = [](const std::string& quantiles) {
    return R"({"from_us": 0, "shift": 0, "slope": 0, "growth": 0, "quantiles": [)" + quantiles + "]}";
  };
  EXPECT_THAT(error(table("0.5", "", "")), StartsWith("widening: expected"));
  EXPECT_THAT(error(table("1", "", "")), StartsWith("classes: expected a class from 0 us"));
  EXPECT_THAT(error(table("1", time("0, 1"), "")), StartsWith("scales: expected one of \"any\" family"));
  EXPECT_EQ(error(table("1", time("1, 0"), "")), "classes[0].quantiles[1]: expected ascending values, got 0");
  EXPECT_THAT(error(table("1", time("0"), "")), StartsWith("classes[0].quantiles: expected at least two values"));
  EXPECT_THAT(error(table("1", time("0, 1"), R"({"from_gpus": 4, "shift": 0, "cases": 1},
                                               {"from_gpus": 2, "shift": 0, "cases": 1})")),
              StartsWith("gpus[1]: expected ascending elements"));
}

}  // namespace odds_test
}  // namespace weft::scenarios::study
