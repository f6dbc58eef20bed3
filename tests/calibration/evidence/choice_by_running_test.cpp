#include "calibration/evidence/choice_by_running.hpp"

#include <gmock/gmock.h>

#include <map>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/question_text.hpp"
#include "tests/simulator.hpp"

namespace weft::calibration::evidence {
namespace choice_by_running_test {

using namespace scenarios;

TriedPair five_of(const std::string& question) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  const Scenario scenario = read_question(question, {.gpus = 2});
  const study::Exploration exploration =
      study::explore(scenario, machine, tests::simulator(), {.least_schedules = study::usual_schedules});
  return worth_trying(exploration, 5, machine).at(0);
}

// Copies of chunks that wait for tile groups are predicted fastest of all, six times over.
TEST(WorthTrying, TakesTheFirstTwoOfAKindAndSerial) {
  const TriedPair pair = five_of("m=8192 n=8192 k=3584 op=gemm+all_reduce");
  std::map<std::tuple<std::size_t, int, int>, int> of_kind;
  int serial = 0;
  for (const TriedSchedule& one : pair.fastest_first) {
    const Family& family = one.request.schedule.family;
    serial += std::holds_alternative<Serial>(family);
    if (const auto* hybrid = std::get_if<Hybrid>(&family)) {
      EXPECT_LE((++of_kind[{family.index(), static_cast<int>(hybrid->trigger), static_cast<int>(hybrid->mover)}]), 2);
    }
  }
  EXPECT_EQ(pair.fastest_first.size(), 6u);
  EXPECT_EQ(serial, 1);
  EXPECT_GE(of_kind.size(), 2u);
}

// Serial by another transport is a schedule like any other, and so many are tried besides the reference.
TEST(WorthTrying, HasOneReferenceAndSoManyOthers) {
  for (const char* question : {"m=1024 n=1536 k=1280 op=gemm+all_reduce", "m=256 n=1024 k=16384 op=gemm+all_reduce"}) {
    const TriedPair pair = five_of(question);
    EXPECT_EQ(pair.fastest_first.size(), 6u) << question;
    int references = 0;
    for (const TriedSchedule& one : pair.fastest_first)
      if (one.is_reference) {
        ++references;
        EXPECT_EQ(one.request.schedule, ScheduleChoice{}) << question;
      }
    EXPECT_EQ(references, 1) << question;
  }
}

TEST(WorthTrying, BeginsWithTheFastestThatRuns) {
  const TriedPair pair = five_of("m=1024 n=1536 k=1280 op=gemm+all_reduce");
  for (const TriedSchedule& one : pair.fastest_first)
    EXPECT_LE(pair.fastest_first.front().predicted_us, one.predicted_us);
}

// Serial draws less power than what overlaps, so that it has a lower clock in turn than by itself, and the others a
// higher one.
TEST(WorthTrying, IsPredictedAtTheClockOfTheTurns) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  std::vector<TriedPair> pairs{five_of("m=8192 n=8192 k=3584 op=gemm+all_reduce")};
  const TriedPair alone = pairs.front();
  predict_in_turn(pairs, machine, tests::simulator(), tests::simulator().mix_clock());
  double least = 1e9, most = 0;
  for (std::size_t i = 0; i < alone.fastest_first.size(); ++i) {
    const double longer = pairs[0].fastest_first[i].predicted_us / alone.fastest_first[i].predicted_us;
    const bool is_serial = std::holds_alternative<Serial>(alone.fastest_first[i].request.schedule.family);
    if (is_serial) {
      EXPECT_GT(longer, 1.0);
    }
    least = std::min(least, longer), most = std::max(most, longer);
  }
  EXPECT_LT(least, 1.0);
  EXPECT_LT(most, 1.2);
}

}  // namespace choice_by_running_test
}  // namespace weft::calibration::evidence
