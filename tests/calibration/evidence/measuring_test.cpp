// Which cases are measured, and which the file holds already.
#include "calibration/evidence/measuring.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace measuring_test {

using scenarios::Case;

class CasesToMeasure : public testing::Test {
 protected:
  static Case pair(const std::string& id, std::int64_t m, const scenarios::Family& family = scenarios::Serial{}) {
    return {id, 2, scenarios::PairWorkload{scenarios::PairOp::gemm_all_reduce, m, 512, 1024}, {family, 0, {}}, {}};
  }

  /// The file holds `before`.
  Measuring measuring(const std::vector<Case>& before, const std::vector<Case>& asked, bool in_turn = false) {
    Measurement measurement;
    measurement.time_us = 10;
    for (const Case& one : before) file.add(one, measurement);
    return {asked, machine, {.run = {}, .in_turn = in_turn}, file, simulator};
  }

  const tests::TemporaryFolder folder;
  const Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  MeasurementFileWriter file{folder.path() / "file.jsonl", false};
  sim::SimulatedExecutor simulator;
  const Case serial = pair("a", 2048), other = pair("b", 4096),
             overlapped = pair("c", 2048, scenarios::Decomposition{2});
};

TEST_F(CasesToMeasure, AreThoseThatTheFileDoesNotHold) {
  const Measuring some = measuring({serial}, {serial, other, overlapped});
  EXPECT_EQ(some.to_measure(), 2u);
  EXPECT_EQ(some.measured_before(), 1u);
}

TEST_F(CasesToMeasure, AreNoneWhereTheFileHoldsAll) {
  const Measuring none = measuring({serial, other}, {other, serial});
  EXPECT_EQ(none.to_measure(), 0u);
  EXPECT_EQ(none.measured_before(), 2u);
}

TEST_F(CasesToMeasure, InTurnAreAllOfAWorkloadOfWhichOneIsMissing) {
  const Measuring again = measuring({serial, other}, {serial, other, overlapped}, true);
  EXPECT_EQ(again.to_measure(), 2u);
  EXPECT_EQ(again.measured_before(), 1u);
}

TEST_F(CasesToMeasure, ThatAreAllRefusedHaveFailed) {
  Case flushed = serial;
  flushed.condition.timing.l2 = L2Before::flushed;
  Measuring none = measuring({}, {flushed});
  EXPECT_THROW(none.run({}), ExecutionError);
  EXPECT_NE(folder.read("file.jsonl").find("\"error\":\"timing: expected back_to_back"), std::string::npos);
}

TEST_F(CasesToMeasure, AreTimedBackToBack) {
  Case flushed = serial;
  flushed.condition.timing.l2 = L2Before::flushed;
  EXPECT_EQ(measuring({}, {flushed}).to_measure(), 0u);
}

}  // namespace measuring_test
}  // namespace weft::calibration::evidence
