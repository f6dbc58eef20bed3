#include "scenarios/study/given_times.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/parts.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/models/error_of.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace given_times_test {

using tests::simulator;

using scenarios::Case;
using scenarios::PairOp;
using scenarios::PairWorkload;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

double time_us(const scenarios::Workload& workload, int gpus, const Machine& machine) {
  return predict({"", gpus, workload, {}, {}}, machine, simulator(), {.serial = false}).time_us;
}

double simulated_us(const Schedule& schedule, const Machine& machine) {
  return simulator().run(schedule, machine).time_us;
}

struct Given {
  PairWorkload pair;
  int gpus;
  double factor;  ///< measured over predicted without it
};

class MeasuredTimes : public testing::TestWithParam<Given> {
 protected:
  const Given given = GetParam();
  const scenarios::Parts parts = *scenarios::parts_of(given.pair);
  const double gemm_us = given.factor * time_us(parts.gemm, given.gpus, h200());
  const double collective_us = given.factor * time_us(parts.collective, given.gpus, h200());
};
INSTANTIATE_TEST_SUITE_P(, MeasuredTimes,
                         testing::Values(Given{{PairOp::gemm_all_reduce, 8192, 8192, 4096}, 4, 0.9},
                                         Given{{PairOp::gemm_all_reduce, 8192, 8192, 4096}, 4, 1.2},
                                         Given{{PairOp::gemm_reduce_scatter, 2048, 3200, 1472}, 2, 1.3},
                                         Given{{PairOp::all_gather_gemm, 20480, 1088, 704}, 2, 0.8},
                                         Given{{PairOp::gemm_all_to_all, 64, 1024, 2048}, 2, 1.2}));

TEST_P(MeasuredTimes, TheGemmAloneTakesThem) {
  const Machine scaled = with_given_times({"", given.gpus, given.pair, {}, {gemm_us, {}}}, h200(), simulated_us);
  EXPECT_NEAR(time_us(parts.gemm, given.gpus, scaled) / gemm_us, 1, 0.01);
  EXPECT_EQ(time_us(parts.collective, given.gpus, scaled), time_us(parts.collective, given.gpus, h200()));
}

TEST_P(MeasuredTimes, TheCollectiveAloneTakesThemButForItsLaunch) {
  constexpr double launch_allowance_us = 10;
  const Machine scaled = with_given_times({"", given.gpus, given.pair, {}, {{}, collective_us}}, h200(), simulated_us);
  EXPECT_NEAR(time_us(parts.collective, given.gpus, scaled), collective_us, launch_allowance_us + 0.01 * collective_us);
  EXPECT_EQ(time_us(parts.gemm, given.gpus, scaled), time_us(parts.gemm, given.gpus, h200()));
}

TEST(MeasuredTime, IsMetWhereRowsDoNotBeginAt16Bytes) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 4096, 4098, 4096};
  const scenarios::Workload gemm = scenarios::parts_of(pair)->gemm;
  const double gemm_us = 1.5 * time_us(gemm, 2, h200());
  EXPECT_NEAR(time_us(gemm, 2, with_given_times({"", 2, pair, {}, {gemm_us, {}}}, h200(), simulated_us)) / gemm_us, 1,
              0.01);
}

TEST(MeasuredTime, OfACollectiveIsMetWithoutACurve) {
  const Machine machine = read_machine(machine_path("mi355x8-mesh"));
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 4096};
  const scenarios::Workload collective = scenarios::parts_of(pair)->collective;
  const double without_us = time_us(collective, 8, machine);
  for (const double factor : {0.8, 1.5}) {
    const Machine scaled = with_given_times({"", 8, pair, {}, {{}, factor * without_us}}, machine, simulated_us);
    EXPECT_NEAR(time_us(collective, 8, scaled), factor * without_us, 10 + 0.03 * without_us) << factor;
  }
}

TEST(MeasuredTime, MakesAChunkedScheduleSlower) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 8192, 4096};
  const scenarios::Parts parts = *scenarios::parts_of(pair);
  const Case without{"", 2, pair, {scenarios::Decomposition{4}}, {}};
  Case slow_gemm = without, slow_collective = without;
  slow_gemm.measured.gemm_us = 2 * time_us(parts.gemm, 2, h200());
  slow_collective.measured.collective_us = 2 * time_us(parts.collective, 2, h200());
  const double time = predict(without, h200(), simulator()).time_us;
  EXPECT_GT(predict(slow_gemm, h200(), simulator()).time_us, 1.5 * time);  // the GEMM is the longer part
  EXPECT_GT(predict(slow_collective, h200(), simulator()).time_us, time);
}

TEST(MeasuredTime, OfAScenarioCountsForEverySchedule) {
  scenarios::Scenario scenario;
  scenario.gpus = 2;
  scenario.sizes = {8192};
  scenario.plain = {PairWorkload{PairOp::gemm_reduce_scatter, 8192, 8192, 4096}};
  scenario.measured = {1000, 500};
  const Exploration exploration = explore(scenario, h200(), simulator());
  ASSERT_GT(exploration.answers[0].fastest_first.size(), 2u);
  for (const Explored& one : exploration.answers[0].fastest_first) {
    Case request = one.candidate.request;
    EXPECT_EQ(request.measured, scenario.measured) << request.id;
    EXPECT_DOUBLE_EQ(one.candidate.estimate.time_us, predict(request, h200(), simulator()).time_us) << request.id;
  }
}

TEST(MeasuredTime, TheSerialTimeBuildsOnItToo) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 8192, 4096};
  const Case serial{"", 2, pair, {}, {1000, 500}};
  Case chunked = serial;
  chunked.schedule.family = scenarios::Decomposition{4};
  EXPECT_DOUBLE_EQ(predict(chunked, h200(), simulator()).serial_us, predict(serial, h200(), simulator()).time_us);
}

TEST(MeasuredTime, BelowWhatTheMachineNeedsIsRefused) {
  const auto error_with = [](const Measured& measured) {
    return error_of([&] {
      predict({"", 4, PairWorkload{PairOp::gemm_reduce_scatter, 8192, 8192, 4096}, {}, measured}, h200(), simulator());
    });
  };
  EXPECT_EQ(error_with({1, {}}).substr(0, 45), "measured.gemm_us: expected at least 462.182 u");
  EXPECT_NE(error_with({{}, 1e-300}).find("measured.collective_us: expected at least"), std::string::npos);
  EXPECT_EQ(error_with({600, 250}), "");
}

}  // namespace given_times_test
}  // namespace weft::scenarios::study
