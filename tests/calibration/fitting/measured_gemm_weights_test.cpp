#include "calibration/fitting/measured_gemm_weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "calibration/fitting/lone_gemm.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/machine/gemm_networks.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::fitting {
namespace measured_gemm_weights_test {

Machine machine() { return read_machine(tests::source_folder() + "/tests/sim/test_machine.json"); }

/// GEMMs that take and draw more than the formula says, the more of both the more rows they have; two runs, of which
/// the second is of a GPU that draws a tenth more for all.
std::vector<GemmObservation> observe(const Machine& machine, int count, double most_more = 0.2) {
  std::mt19937 random(2);
  std::vector<GemmObservation> observations;
  for (int i = 0; i < count; ++i) {
    const auto below = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    const std::int64_t m = 64 + below(4000), n = 128 * (1 + below(16)), k = 64 * (8 + below(32));
    const MatrixSize size{m, n, k};
    const LoneGemm gemm = lone_gemm(machine, size, DataType::bf16, choose_gemm_kernel(machine, size), 0.9);
    const double more = most_more * std::log2(static_cast<double>(size.m) / 64) / 6;
    const double W = machine.power.idle_W + gemm.dynamic_W + more * gemm.switching_W;
    observations.push_back({.size = size,
                            .time_us = gemm.time_us * (1 + more * gemm.of_tiles),
                            .reading = ClockReading{0.9, i % 2 == 0 ? W : 1.1 * W},
                            .run = i % 2 == 0 ? "first" : "second"});
  }
  return observations;
}

TEST(TimeWeights, FindWhatTheFormulaLeavesOut) {
  const MeasuredGemmWeights found = fit_time_weights(machine(), observe(machine(), 2000));
  EXPECT_EQ(found.weights.size(), weight_count(time_network));
  EXPECT_EQ(found.gemms, 200u);
  EXPECT_GT(found.formula_error, 0.08);
  EXPECT_LT(found.error, 0.01);
}

TEST(EnergyWeights, FindWhatTheFormulaLeavesOutWhateverOneGpuDrawsMore) {
  std::vector<GemmObservation> observed = observe(machine(), 2000);
  for (GemmObservation& one : observed)  // nothing is left out of times
    one.time_us = lone_gemm(machine(), one.size, one.dtype, choose_gemm_kernel(machine(), one.size), 0.9).time_us;
  const MeasuredGemmWeights found = fit_energy_weights(machine(), observed);
  EXPECT_EQ(found.weights.size(), weight_count(energy_network));
  EXPECT_LT(found.error, found.formula_error / 3);
}

TEST(TimeWeights, StayAsTheyAreWhereTooFewTell) {
  Machine one = machine();
  EXPECT_TRUE(fit_time_weights(one, observe(one, 500)).weights.empty());
  one.gemm_networks.time.assign(weight_count(time_network), 0);
  EXPECT_EQ(fit_time_weights(one, observe(one, 100)).weights, one.gemm_networks.time);
}

TEST(TimeWeights, OfALikeMachineNeedFewMore) {
  Machine one = machine();
  one.gemm_networks.time = fit_time_weights(one, observe(one, 2000)).weights;
  Machine formula = machine();
  const MeasuredGemmWeights found = fit_time_weights(one, observe(formula, 500, 0.25));
  EXPECT_NE(found.weights, one.gemm_networks.time);
  EXPECT_LT(found.error, 0.02);
}

}  // namespace measured_gemm_weights_test
}  // namespace weft::calibration::fitting
