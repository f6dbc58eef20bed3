// Measurements of mixes are predicted at the clock of their mix.
#include "calibration/evidence/turns.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace turns_test {

using namespace scenarios;

MeasuredCase measured(const std::string& run, const std::string& mix, const Family& family) {
  MeasuredCase one;
  one.request = {"a", 4, PairWorkload{PairOp::gemm_all_reduce, 8192, 8192, 8192}, {family, 0, {}}, {}};
  one.run = run;
  one.in_turn_with = mix;
  return one;
}

class InTheirMixes : public testing::Test {
 protected:
  std::vector<double> clocks_MHz(const std::vector<MeasuredCase>& all) const {
    std::vector<double> clocks;
    for (const MeasuredCase& one : in_their_mixes(all, machine))
      clocks.push_back(one.request.condition.fixed_clock_MHz);
    return clocks;
  }
  const Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
};

TEST_F(InTheirMixes, CasesOfOneMixHaveOneClock) {
  const std::vector<double> clocks =
      clocks_MHz({measured("x", "1", Serial{}), measured("x", "1", Decomposition{2}), measured("y", "1", Serial{})});
  EXPECT_GT(clocks[0], 0);
  EXPECT_EQ(clocks[0], clocks[1]);
  EXPECT_NE(clocks[0], clocks[2]);  // of another run
}

TEST_F(InTheirMixes, BesideGuestsTheClockIsTheOneWhoseMeanWasMeasured) {
  MeasuredCase one = measured("x", "1", Serial{}), other = measured("x", "1", Decomposition{2});
  for (MeasuredCase* each : {&one, &other})
    each->beside_guests = true, each->sm_clock_MHz = 0.7 * machine.gpu.max_clock_MHz;
  const std::vector<double> clocks = clocks_MHz({one, other});
  EXPECT_EQ(clocks[0], clocks[1]);
  EXPECT_LT(clocks[0], 0.98 * one.sm_clock_MHz);  // it goes up between the GEMMs
  EXPECT_GT(clocks[0], 0.3 * machine.gpu.max_clock_MHz);
  one.sm_clock_MHz = other.sm_clock_MHz = 0.8 * machine.gpu.max_clock_MHz;
  EXPECT_GT(clocks_MHz({one, other})[0], clocks[0]);
}

TEST_F(InTheirMixes, WhatWasMeasuredAloneStaysAsItIs) {
  EXPECT_EQ(clocks_MHz({measured("x", "", Serial{})}), std::vector<double>{0});
}

TEST_F(InTheirMixes, ACaseThatCannotBeDoneIsGivenBackAndCountsForNothing) {
  MeasuredCase impossible = measured("x", "1", Serial{});
  impossible.request.gpus = 64;
  const std::vector<double> with = clocks_MHz({measured("x", "1", Serial{}), impossible}),
                            without = clocks_MHz({measured("x", "1", Serial{})});
  EXPECT_EQ(with[0], without[0]);
  EXPECT_EQ(with[1], 0);
}

}  // namespace turns_test
}  // namespace weft::calibration::evidence
