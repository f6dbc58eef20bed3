#include "calibration/evidence/mixed_loads.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace mixed_loads_test {

using namespace scenarios;

Machine machine() { return read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json"); }

/// Serial pairs whose GEMMs have this many columns to sum over, as a machine would run them.
std::vector<Load> loads_on(const Machine& machine, std::int64_t k, const RunCondition& condition = {}) {
  std::vector<Load> loads;
  for (std::int64_t m = 2048; m <= 8192; m += 512) {
    Case request{"a", 4, PairWorkload{PairOp::gemm_all_reduce, m, 4096, k}, {Serial{}, 0, {}}, {}};
    request.condition = condition;
    const Trace trace = study::predict(request, machine, tests::simulator()).trace;
    loads.push_back({request, trace.time_us, trace.power_W, trace.clock_MHz / machine.gpu.max_clock_MHz});
  }
  return loads;
}

// At a clock that is held the energies of the operations are known.
TEST(MixedLoads, AtTheLimitTellWhatTheirOperationsTakeTogether) {
  Machine truth = machine();
  truth.power.mixed_energy = 1.2;
  std::vector<Load> loads = loads_on(truth, 16384, {.fixed_clock_MHz = 1500});
  const auto found = mixed_energy(machine(), loads);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, 1.2, 0.01);
  loads.resize(3);
  EXPECT_FALSE(mixed_energy(machine(), loads));
}

TEST(MixedLoads, FarBelowTheLimitTellTheClockBetweenTensorCoresWork) {
  Machine truth = machine();
  truth.power.clock_between = 0.96;
  const auto found = clock_between(machine(), loads_on(truth, 512));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value, 0.96, 0.002);
}

}  // namespace mixed_loads_test
}  // namespace weft::calibration::evidence
