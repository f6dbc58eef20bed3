// Times that the user measured: the prediction builds on them.
#include "tools/prediction.hpp"

#include <gtest/gtest.h>

#include "models/machine_json.hpp"
#include "scenarios/parts.hpp"
#include "tools/machine_files.hpp"

namespace weft::tools {
namespace {

using scenarios::Case;
using scenarios::PairOp;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

double time_us(const scenarios::Workload& workload, int gpus, const Machine& machine) {
  return predict({"", gpus, workload, {}, {}}, machine, {.serial = false}).time_us;
}

struct Given {
  scenarios::PairWorkload pair;
  int gpus;
  double gemm_factor, collective_factor;  ///< measured over predicted without it
};

class MeasuredTimes : public testing::TestWithParam<Given> {
 protected:
  const Given given = GetParam();
  const scenarios::Parts parts = *scenarios::parts_of(given.pair);
  const scenarios::Measured measured{given.gemm_factor * time_us(parts.gemm, given.gpus, h200()),
                                     given.collective_factor* time_us(parts.collective, given.gpus, h200())};
  const Case serial{"", given.gpus, given.pair, {}, measured};
  const Machine scaled = with_measured_times(serial, h200());
};
INSTANTIATE_TEST_SUITE_P(, MeasuredTimes,
                         testing::Values(Given{{PairOp::gemm_all_reduce, 8192, 8192, 4096}, 4, 1.1, 0.9},
                                         Given{{PairOp::gemm_all_reduce, 8192, 8192, 4096}, 4, 0.9, 1.2},
                                         Given{{PairOp::gemm_reduce_scatter, 2048, 3200, 1472}, 2, 1.3, 1.3},
                                         Given{{PairOp::all_gather_gemm, 20480, 1088, 704}, 2, 0.8, 0.8},
                                         Given{{PairOp::gemm_all_to_all, 64, 1024, 2048}, 2, 1.2, 1.3},
                                         Given{{PairOp::gemm_all_to_all, 64, 1024, 2048}, 2, 0.9, 0.8}));

TEST_P(MeasuredTimes, PartsAloneTakeThem) {
  EXPECT_NEAR(time_us(parts.gemm, given.gpus, scaled) / *measured.gemm_us, 1, 0.01);
  EXPECT_NEAR(time_us(parts.collective, given.gpus, scaled) / *measured.collective_us, 1, 0.01);
}

TEST_P(MeasuredTimes, SerialTakesTheirSum) {
  const double gap_us = h200().latencies.graph_gap_us, sum_us = *measured.gemm_us + *measured.collective_us - gap_us;
  EXPECT_NEAR(predict(serial, h200()).time_us / sum_us, 1, 0.1);  // a graph's launch and the power limit overlap too
}

TEST(MeasuredTime, EitherMayBeLeftOut) {
  const scenarios::PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 8192, 4096};
  const Case without{"", 2, pair, {scenarios::Decomposition{4}}, {}};
  Case slow_gemm = without, slow_collective = without;
  slow_gemm.measured.gemm_us = 2 * time_us(scenarios::parts_of(pair)->gemm, 2, h200());
  slow_collective.measured.collective_us = 2 * time_us(scenarios::parts_of(pair)->collective, 2, h200());
  const double time = predict(without, h200()).time_us;
  EXPECT_GT(predict(slow_gemm, h200()).time_us, 1.5 * time);  // the GEMM is the longer part
  EXPECT_GT(predict(slow_collective, h200()).time_us, time);
}

TEST(MeasuredTime, TheSerialTimeBuildsOnThemToo) {
  const scenarios::PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 8192, 4096};
  const Case serial{"", 2, pair, {}, {1000, 500}};
  Case chunked = serial;
  chunked.schedule.family = scenarios::Decomposition{4};
  EXPECT_DOUBLE_EQ(predict(chunked, h200()).serial_us, predict(serial, h200()).time_us);
}

}  // namespace
}  // namespace weft::tools
