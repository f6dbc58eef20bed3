#include "scenarios/study/answer_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/odds.hpp"
#include "scenarios/study/verdict.hpp"
#include "tests/models/error_of.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace answer_report_test {

using testing::ElementsAre;
using testing::HasSubstr;

const Machine& machine() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Scenario scenario() {
  Scenario scenario;
  scenario.gpus = 4;
  scenario.sizes = {512, 8192};
  for (const std::int64_t size : scenario.sizes)
    scenario.plain.push_back(PairWorkload{PairOp::gemm_reduce_scatter, size, 8192, 3584});
  return scenario;
}

const Exploration& exploration() {
  static const Exploration exploration = explore(scenario(), machine(), tests::simulator());
  return exploration;
}

TEST(Gains, AreOfEverySizeUnderTheBestOverlappedSchedule) {
  const std::vector<Gain> gains = gains_of(exploration(), scenario(), machine());
  ASSERT_EQ(gains.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Ranking& ranking = exploration().answers[i].ranking;
    EXPECT_EQ(gains[i].size, scenario().sizes[i]);
    EXPECT_EQ(gains[i].serial_us, ranking.reference().estimate.time_us);
    EXPECT_NE(gains[i].schedule, "serial");
    EXPECT_EQ(gains[i].is_advised, ranking.overlap_pays());
    EXPECT_LT(gains[i].odds.worst_gain, gains[i].odds.gain);
    EXPECT_LT(gains[i].odds.gain, gains[i].best_gain);
  }
}

TEST(Gains, AtTheShareOfTheWorstOfTwentyAreTheWorstOfTwenty) {
  const RatioErrors& errors = shipped_ratio_errors();
  for (const double serial_us : {30., 300., 3000.}) {
    const PredictedRatio ratio{
        .family = "decomposition", .op = "gemm+all_reduce", .gpus = 4, .speedup = 1.1, .serial_us = serial_us};
    EXPECT_EQ(errors.gain_at(0.05, ratio), errors.of(ratio).worst_gain);
  }
}

TEST(Widths, HaveTheGainsOfAllNumbersOfGpus) {
  const Widths widths = over_widths(scenario(), exploration(), machine(), tests::simulator(), {});
  std::vector<std::pair<int, std::int64_t>> cells;
  for (const Gain& gain : widths.gains) cells.emplace_back(gain.gpus, gain.size);
  using Cell = std::pair<int, std::int64_t>;
  EXPECT_THAT(cells,
              ElementsAre(Cell{2, 512}, Cell{2, 8192}, Cell{4, 512}, Cell{4, 8192}, Cell{8, 512}, Cell{8, 8192}));
  EXPECT_EQ(widths.crossovers.size(), 3u);
}

std::vector<DrawnRun> runs() {
  sim::SimulatedExecutor executor;
  return drawn_runs(exploration().answers.back(), machine(), executor,
                    [&](const Schedule& schedule, const Machine& on) { return executor.observe(schedule, on); });
}

TEST(DrawnRuns, AreOfTheFastestOverlappedScheduleAndOfSerial) {
  const std::vector<DrawnRun> drawn = runs();
  ASSERT_EQ(drawn.size(), 2u);
  const Ranking& ranking = exploration().answers.back().ranking;
  EXPECT_EQ(drawn[0].timeline.trace.time_us, ranking.fastest().estimate.time_us);
  EXPECT_EQ(drawn[1].timeline.trace.time_us, ranking.reference().estimate.time_us);
  EXPECT_EQ(drawn[1].schedule, "serial");
}

TEST(DrawnRuns, AMeasuredOneStandsBehindTheRunWhoseOperationsItHas) {
  std::vector<DrawnRun> drawn = runs();
  Trace measured = drawn[1].timeline.trace;
  measured.source = "measured";
  add_measured(drawn, measured);
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[2].schedule, "serial");
  EXPECT_EQ(drawn[2].timeline.trace.source, "measured");
  EXPECT_TRUE(drawn[2].timeline.tracks.empty());
}

TEST(DrawnRuns, AMeasuredOneOfOtherOperationsIsRefused) {
  std::vector<DrawnRun> drawn = runs();
  Trace measured = drawn[1].timeline.trace;
  measured.spans.front().operation = "other";
  EXPECT_THAT(error_of([&] { add_measured(drawn, measured); }), HasSubstr("operation: expected those of"));
}

TEST(AnswerReport, KeepsSerialAndTheAdviceOfEachAnswerAndThinsTracks) {
  AnswerReport report{
      .exploration = exploration(), .scenario = scenario(), .widths = {}, .evidence = {}, .leading = 1, .runs = runs()};
  Track& track = report.runs[0].timeline.tracks[0];
  track.points.clear();
  for (int i = 0; i < 100'000; ++i) track.points.push_back({i * 1e-3, i == 50'000 ? 132. : i % 2 * 10.});
  const nlohmann::ordered_json json = to_json(report, machine());
  for (const auto& answer : json["exploration"]["answers"]) {
    int serial = 0, advised = 0;
    for (const auto& one : answer["schedules"]) {
      serial += one["is_serial"].get<bool>();
      advised += one["is_advised"].get<bool>();
    }
    EXPECT_EQ(serial, 1);
    EXPECT_EQ(advised, 1);
    EXPECT_LE(answer["schedules"].size(), 16u);
  }
  const auto& values = json["runs"][0]["tracks"][0]["values"];
  EXPECT_LT(values.size(), 5000u);
  EXPECT_EQ(std::count(values.begin(), values.end(), 132.), 1);
}

}  // namespace answer_report_test
}  // namespace weft::scenarios::study
