// Cases in turn: which make a mix, and what becomes of their lines.
#include "scenarios/study/in_turn.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/machine/machine_json.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios::study {
namespace in_turn_test {

using nlohmann::json;
using testing::ElementsAre;

Case pair(int gpus, std::int64_t m, const Family& family = Serial{}) {
  return {"a", gpus, PairWorkload{PairOp::gemm_all_reduce, m, 8192, 8192}, {family, 0, {}}, {}};
}

TEST(MixesOf, AreOfOneWorkloadOnAsManyGpus) {
  EXPECT_THAT(mixes_of({pair(4, 8192), pair(2, 8192), pair(4, 8192, Decomposition{2}), pair(4, 4096)}),
              ElementsAre(ElementsAre(0u, 2u), ElementsAre(1u), ElementsAre(3u)));
}

TEST(MixesOf, AreOfOneNumberOfConnections) {
  Case of_one_queue = pair(4, 8192, Decomposition{2});
  of_one_queue.schedule.max_connections = 2;
  EXPECT_THAT(mixes_of({pair(4, 8192), of_one_queue, pair(4, 8192, Decomposition{2})}),
              ElementsAre(ElementsAre(0u, 2u), ElementsAre(1u)));
}

class LinesInTurn : public testing::Test {
 protected:
  std::vector<std::string> answered(const std::vector<std::string>& lines) const {
    return lines_in_turn(lines, machine, tests::simulator(), tests::simulator().mix_clock());
  }
  const Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  const std::string
      serial = R"({"id": "s", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 8192}})",
      chunks = R"({"id": "c", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 8192},
                                "schedule": {"family": "decomposition", "chunks": 4}})",
      short_run = R"({"id": "t", "gpus": 4, "condition": "short", "workload": {"op": "gemm+all_reduce",
                                   "m": 8192, "n": 8192, "k": 8192}})";
};

TEST_F(LinesInTurn, HaveTheClockOfTheirMix) {
  const std::vector<std::string> lines = answered({serial, chunks});
  const double clock_MHz = json::parse(lines[0])["condition"]["mix_clock_MHz"];
  EXPECT_LT(clock_MHz, machine.gpu.max_clock_MHz);
  EXPECT_EQ(json::parse(lines[1])["condition"]["mix_clock_MHz"], clock_MHz);
  EXPECT_EQ(json::parse(lines[1])["schedule"], json::parse(chunks)["schedule"]);
}

// Its GEMM takes all SMs and waits for transfers that need some.
TEST_F(LinesInTurn, LeaveOutOneThatComesToNoEnd) {
  const std::string stuck =
      R"({"id": "d", "gpus": 4, "workload": {"op": "all_gather+gemm", "m": 8192, "n": 8192, "k": 8192},
      "schedule": {"family": "hybrid", "trigger": "tile_group", "mover": "nccl", "pieces": "chunks", "count": 4,
                   "gemm_sms": )" +
      std::to_string(machine.gpu.sms()) + "}}";
  const std::string gather =
      R"({"id": "s", "gpus": 4, "workload": {"op": "all_gather+gemm", "m": 8192, "n": 8192, "k": 8192}})";
  const std::vector<std::string> lines = answered({gather, stuck, gather});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(json::parse(lines[0])["condition"].contains("mix_clock_MHz"));
  EXPECT_FALSE(json::parse(lines[1]).contains("condition"));
}

TEST_F(LinesInTurn, SayWhetherOneOfTheirMixHasTheLibraryOnABranch) {
  EXPECT_FALSE(json::parse(answered({serial})[0])["condition"].contains("library_on_branch"));
  for (const std::string& line : answered({serial, chunks}))
    EXPECT_EQ(json::parse(line)["condition"]["library_on_branch"], true) << line;
}

TEST_F(LinesInTurn, SayWhetherOneOfTheirProcessMakesKernelsLate) {
  const auto are_late = [](const std::string& line) { return json::parse(line)["condition"].contains("late_kernels"); };
  json of_pytorch = json::parse(chunks), eager = json::parse(chunks), serial_of_pytorch = json::parse(serial);
  of_pytorch["schedule"]["implementation"] = "pytorch";
  serial_of_pytorch["schedule"] = {{"family", "serial"}, {"implementation", "pytorch"}};
  eager["schedule"]["launch"] = "eager";
  for (const std::string& line : answered({serial, chunks})) EXPECT_FALSE(are_late(line));
  EXPECT_TRUE(are_late(answered({serial, eager.dump()})[0]));
  const std::vector<std::string> both = answered({serial, serial_of_pytorch.dump(), of_pytorch.dump()});
  EXPECT_FALSE(are_late(both[0])) << "PyTorch's schedules take turns with weft's, in a process of their own";
  EXPECT_TRUE(are_late(both[1]));
  EXPECT_TRUE(are_late(both[2]));
}

TEST_F(LinesInTurn, StayWhereTheyAreNoCaseOrHaveAConditionOfTheirOwn) {
  EXPECT_THAT(answered({"no json", short_run, R"({"id": 1})"}), ElementsAre("no json", short_run, R"({"id": 1})"));
}

TEST_F(LinesInTurn, ThatCannotBeDoneStayAsTheyAre) {
  const std::string impossible =
      R"({"id": "x", "gpus": 64, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 8192}})";
  EXPECT_EQ(answered({impossible}).front(), impossible);
}

TEST_F(LinesInTurn, ThatNothingCanSimulateLeaveTheTurnsOfOthersAsTheyAre) {
  const std::string on_unknown_kernels = R"({"id": "u", "gpus": 4, "schedule": {"collectives": "multimem"},
      "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 8192}})";
  const std::vector<std::string> lines = answered({serial, on_unknown_kernels, chunks});
  EXPECT_EQ(lines[1], on_unknown_kernels);
  EXPECT_EQ(lines[0], answered({serial, chunks}).front());
  EXPECT_EQ(answered({on_unknown_kernels}).front(), on_unknown_kernels);
}

}  // namespace in_turn_test
}  // namespace weft::scenarios::study
