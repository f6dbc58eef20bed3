#include "calibration/evidence/odds_check.hpp"

#include <gmock/gmock.h>

#include "scenarios/study/odds.hpp"
#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::evidence {
namespace odds_check_test {

double probability(double speedup, double serial_us) {
  return scenarios::study::shipped_ratio_errors()
      .of({.family = "decomposition",
           .op = op_of(pair_workload),
           .gpus = 2,
           .speedup = speedup,
           .serial_us = serial_us})
      .faster;
}

TEST(OddsCheck, CountsTheFasterOnesOfEachTenth) {
  const auto bins = odds_bins(
      contests_of({comparison(pair_workload, serial, 1000, 1000), comparison(pair_workload, two_chunks, 800, 800),
                   comparison(pair_workload, four_chunks, 1100, 800)}),
      true);
  const auto tenth = std::min<std::size_t>(static_cast<std::size_t>(probability(1000. / 800, 1000) * 10), 9);
  EXPECT_EQ(bins[tenth].cases, 2u);
  EXPECT_DOUBLE_EQ(bins[tenth].predicted, probability(1000. / 800, 1000));
  EXPECT_DOUBLE_EQ(bins[tenth].measured, 0.5);
  EXPECT_EQ(bins[0].cases, 0u);
}

TEST(OddsCheck, AdviceIsSerialWhereALossIsExpected) {
  // 0.2 % faster is less than what decomposition was measured to lose against its predictions.
  EXPECT_THAT(regrets_of_advice(contests_of({comparison(pair_workload, serial, 1000, 1000),
                                             comparison(pair_workload, two_chunks, 500, 998)}),
                                true),
              testing::ElementsAre(1.0));
  EXPECT_THAT(regrets_of_advice(contests_of({comparison(pair_workload, serial, 1000, 1000),
                                             comparison(pair_workload, two_chunks, 1200, 800)}),
                                true),
              testing::ElementsAre(testing::DoubleNear(0.2, 1e-12)));
}

TEST(OddsCheck, AdviceMayBeSerialByOtherCollectives) {
  scenarios::ScheduleChoice by_two_shot = serial;
  by_two_shot.collectives = scenarios::Collectives::two_shot;
  EXPECT_THAT(regrets_of_advice(contests_of({comparison(pair_workload, serial, 1000, 1000),
                                             comparison(pair_workload, by_two_shot, 500, 500),
                                             comparison(pair_workload, two_chunks, 990, 990)}),
                                true),
              testing::ElementsAre(0.0));
}

}  // namespace odds_check_test
}  // namespace weft::calibration::evidence
