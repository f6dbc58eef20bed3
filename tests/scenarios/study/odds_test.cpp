#include "scenarios/study/odds.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "scenarios/study/odds_json.hpp"
#include "tests/models/error_of.hpp"

namespace weft::scenarios::study {
namespace {

/// z is -2, 0 or 2, each with one third; family "a" is known from 100 us on.
RatioErrors small_errors() {
  return {.strata = {{"any", 0, 0, 0, 0.1, 10}, {"a", 100, 0.02, -0.5, 0.05, 5}},
          .residuals = {{0, {-2, 0, 2}}},
          .widening = 2};
}

TEST(Odds, OfAnEvenPredictionAreEven) {
  const Odds odds = small_errors().of("b", 1, 50, true);
  EXPECT_DOUBLE_EQ(odds.faster, 0.5);
  // The scale is widened: no case of family "b" was measured.
  EXPECT_NEAR(odds.gain, 1 - (std::exp(0.4) + 1 + std::exp(-0.4)) / 3, 1e-12);
  EXPECT_LT(odds.worst_gain, odds.gain);
}

TEST(Odds, AreThoseOfTheFamilyAndItsClassOfTimes) {
  const double x = std::log(1.2), expected = x + 0.02 - 0.5 * x;
  const Odds odds = small_errors().of("a", 1.2, 100, true);
  EXPECT_NEAR(odds.gain, 1 - (std::exp(-expected + 0.1) + std::exp(-expected) + std::exp(-expected - 0.1)) / 3, 1e-12);
  EXPECT_NE(small_errors().of("a", 1.2, 99, true), odds);
}

TEST(Odds, OfAnotherMachineAreWider) {
  const Odds known = small_errors().of("a", 1.2, 100, true), other = small_errors().of("a", 1.2, 100, false);
  EXPECT_LT(other.faster, known.faster);
  EXPECT_LT(other.worst_gain, known.worst_gain);
}

TEST(Odds, TheSlopeEndsWhereMeasurementsDo) {
  const auto expected = [](double x) { return x + 0.02 - 0.5 * 0.5; };
  EXPECT_NEAR(small_errors().of("a", std::exp(2.0), 100, true).gain,
              1 - std::exp(-expected(2)) * (std::exp(0.1) + 1 + std::exp(-0.1)) / 3, 1e-12);
}

TEST(Odds, GrowWithThePredictedSpeedup) {
  for (const std::string family : {"decomposition", "async_tp", "ficco", "hybrid", "signaling", "token_split"})
    for (const double serial_us : {20.0, 200.0, 2000.0}) {
      Odds before{.faster = 0, .gain = -100, .worst_gain = -100};
      for (double speedup = 0.5; speedup < 2; speedup += 0.01) {
        const Odds odds = shipped_ratio_errors().of(family, speedup, serial_us, true);
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
  EXPECT_EQ(error(R"({"format": "weft.odds/1", "source": "", "widening": 1, "strata": [], "residuals": []})")
                .rfind("strata: expected a stratum of \"any\" family", 0),
            0);
  EXPECT_EQ(error(R"({"format": "weft.odds/1", "source": "", "widening": 0.5, "strata": [], "residuals": []})")
                .rfind("widening: expected", 0),
            0);
  EXPECT_EQ(error(R"({"format": "weft.odds/1", "source": "", "widening": 1, "strata": [{"family": "any", "from_us": 0,
      "shift": 0, "slope": 0, "scale": 0.1, "cases": 3}], "residuals": [{"from_us": 0, "quantiles": [1, 0]}]})"),
            "residuals[0].quantiles[1]: expected ascending values, got 0");
}

}  // namespace
}  // namespace weft::scenarios::study
