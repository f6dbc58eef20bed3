// The library as programs use it: its answers are those of the command, and what is wrong is said as there.
#include "scenarios/library/weft.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/prediction_json.hpp"
#include "tests/models/error_of.hpp"
#include "tests/simulator.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::scenarios::study {
namespace weft_test {

using tests::simulator;

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string chunked_text =
    R"({"id": "a", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 4096, "n": 4096, "k": 2048},
        "schedule": {"family": "decomposition", "chunks": 2, "max_ctas": 8}, "measured": {"gemm_us": 120.5}})";

const weft::Case chunked{.id = "a",
                         .gpus = 4,
                         .workload = {{"op", "gemm+all_reduce"}, {"m", 4096}, {"n", 4096}, {"k", 2048}},
                         .schedule = {{"family", "decomposition"}, {"chunks", 2}, {"max_ctas", 8}},
                         .measured_gemm_us = 120.5};

const Profile& profile() {
  static const Profile opened("h200x8-nvswitch");
  return opened;
}

TEST(Library, AnswersACaseAsTheCommandDoes) {
  const Case request = scenarios::case_from_json(nlohmann::json::parse(chunked_text));
  const Prediction predicted = predict(request, read_machine(machine_path("h200x8-nvswitch")), simulator());
  const weft::Prediction answer = profile().predict(chunked_text);
  EXPECT_EQ(answer.json, to_json("a", predicted).dump());
  EXPECT_EQ(answer.id, "a");
  EXPECT_EQ(answer.time_us, predicted.time_us);
  EXPECT_EQ(answer.serial_us, predicted.serial_us);
  EXPECT_EQ(answer.bound_us, predicted.bound_us);
  EXPECT_EQ(answer.low_us, predicted.low_us);
  EXPECT_EQ(answer.high_us, predicted.high_us);
  EXPECT_EQ(answer.limited_by, name_of(predicted.limited_by));
  EXPECT_EQ(answer.runnable, predicted.runnable);
  EXPECT_EQ(answer.schedule, chunked.schedule);
}

TEST(Library, AnswersTheSameForAValueAndForItsText) {
  EXPECT_EQ(profile().predict(chunked).json, profile().predict(chunked_text).json);
  weft::Case read = weft::case_from_json(chunked_text);
  EXPECT_EQ(read.workload.at("dtype"), "bf16");
  read.workload.erase("dtype");
  EXPECT_EQ(read, chunked);
}

TEST(Library, FillsInWhatIsSearched) {
  weft::Case request = chunked;
  request.schedule = {{"family", "signaling"}, {"groups", "searched"}};
  const weft::Prediction answer = profile().predict(request);
  EXPECT_TRUE(std::holds_alternative<std::vector<std::int64_t>>(answer.schedule.at("groups").content));
  request.schedule = answer.schedule;
  EXPECT_EQ(profile().predict(request).time_us, answer.time_us);
}

TEST(Library, ChoosesTheFastestOfTheGivenSchedulesAndSerial) {
  const weft::Fields four{{"family", "decomposition"}, {"chunks", 4}}, serial{{"family", "serial"}};
  const weft::Ranking ranking = profile().choose(chunked, {chunked.schedule, four, serial});
  ASSERT_EQ(ranking.fastest_first.size(), 3u);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_LE(ranking.fastest_first[i - 1].time_us, ranking.fastest_first[i].time_us);
  EXPECT_EQ(ranking.fastest_first[ranking.serial].schedule, serial);
  EXPECT_EQ(ranking.fastest_first[ranking.serial].speedup, 1);
  weft::Case fastest = chunked;
  fastest.schedule = ranking.fastest().schedule;
  EXPECT_EQ(profile().predict(fastest).time_us, ranking.fastest().time_us);
}

TEST(Library, ChoosesAsTheFamilyBestDoes) {
  weft::Case best = chunked;
  best.schedule = {{"family", "best"}};
  EXPECT_EQ(profile().choose(chunked).fastest().time_us, profile().choose(chunked, {best.schedule}).fastest().time_us);
}

TEST(Library, ChoosesAmongWhatCanRun) {
  const auto can_run = Field(&RankedSchedule::runnable, true);
  const Profile a800("a800x8-nvswitch");  // which has no kernel that signals
  weft::Case unmeasured = chunked;
  unmeasured.measured_gemm_us.reset();
  EXPECT_THAT(a800.choose(unmeasured).fastest_first, Not(Each(can_run)));
  const weft::Ranking ranking = a800.choose(unmeasured, Among::runnable);
  EXPECT_GT(ranking.fastest_first.size(), 1u);
  EXPECT_THAT(ranking.fastest_first, Each(can_run));
}

TEST(Library, ExploresAndExplainsAWorkload) {
  const weft::Ranking ranking = profile().explore(chunked);
  EXPECT_EQ(ranking.question, "gemm+all_reduce");
  EXPECT_THAT(ranking.fastest_first, Contains(Field(&RankedSchedule::name, HasSubstr("hybrid"))));
  EXPECT_THAT(ranking.fastest().losses, Not(IsEmpty()));
  EXPECT_THAT(ranking.fastest_first[ranking.serial].losses, Not(IsEmpty()));
}

TEST(Library, ExploresAWorkloadThatHasOnlyASerialSchedule) {
  const weft::Case gemm{.id = "g", .workload = {{"op", "gemm"}, {"m", 4096}, {"n", 4096}, {"k", 2048}}};
  EXPECT_EQ(profile().explore(gemm).fastest_first.size(), 1u);
  EXPECT_FALSE(profile().explore(gemm).overlap_pays());
}

TEST(Library, ExploresTheQuestionsOfAScenario) {
  const tests::TemporaryFolder folder;
  folder.write("pair.json", R"({"format": "weft.scenario/1", "op": "all_gather+gemm", "m": [1024, 2048], "n": 1024,
                                "k": 1024, "gpus": 2, "families": ["decomposition"]})");
  const std::vector<weft::Ranking> rankings = profile().explore_scenario(folder.path() / "pair.json");
  ASSERT_EQ(rankings.size(), 2u);
  EXPECT_EQ(rankings[0].size, 1024);
  EXPECT_EQ(rankings[1].size, 2048);
}

TEST(Library, ReportsWhatItFoundInWordsTablesAndPictures) {
  const Report report = profile().report({.what = "m=4096 n=4096 k=2048 op=gemm+all_reduce", .gpus = 4});
  ASSERT_FALSE(report.verdict().empty());
  EXPECT_THAT(report.verdict().front(), AnyOf(StartsWith("Overlap"), StartsWith("Faster collectives")));
  EXPECT_THAT(report.written("text"), HasSubstr("4 GPUs of h200x8-nvswitch\n\n" + report.verdict().front()));
  EXPECT_THAT(report.written("csv"), StartsWith("rows,gpus,pair,schedule,time_us,"));
  EXPECT_EQ(nlohmann::json::parse(report.written("json"))["answers"][0]["size"], 4096);
  EXPECT_THAT(report.losses_picture(), AllOf(StartsWith("<svg"), HasSubstr(">serial<")));
}

TEST(Library, ReportsOfWrongQuestionsAndInUnknownFormatsAreRefused) {
  EXPECT_THAT(error_of([] { profile().report({.what = "m=0 n=8 k=8 op=gemm+all_reduce"}); }),
              StartsWith("m: expected"));
  EXPECT_THAT(error_of([] { profile().report({.what = "m=8 n=8 k=8 op=gemm+all_reduce", .gpus = 64}); }),
              StartsWith("gpus: expected at most 8"));
  const Report report = profile().report({.what = "m=4096 n=4096 k=2048 op=gemm+all_reduce", .gpus = 2});
  EXPECT_THAT(error_of([&] { report.written("xml"); }), StartsWith("format: expected one of text, json"));
}

TEST(Library, SimulatesTheScheduleThatItBuilt) {
  const tests::TemporaryFolder folder;
  weft::Case request = chunked;
  request.measured_gemm_us = std::nullopt;
  const std::string schedule = profile().build(request);
  const Simulation simulation = profile().simulate(schedule);
  EXPECT_EQ(simulation.time_us, profile().predict(request).time_us);
  ASSERT_FALSE(simulation.spans.empty());
  for (const Simulation::Span& span : simulation.spans) EXPECT_LE(span.start_us, span.end_us);
  folder.write("schedule.json", schedule);
  EXPECT_EQ(profile().simulate_file(folder.path() / "schedule.json").time_us, simulation.time_us);
}

TEST(Library, DrawsTheScheduleThatItBuilt) {
  EXPECT_THAT(profile().lanes_picture(profile().build(chunked)), AllOf(StartsWith("<svg"), HasSubstr("<title>")));
}

TEST(Library, SimulatesOneIterationOfAScheduleThatRepeatsItself) {
  const weft::Case layer{.id = "layer",
                         .gpus = 4,
                         .workload = {{"op", "transformer_layer"},
                                      {"tokens", 2048},
                                      {"hidden", 4096},
                                      {"heads", 32},
                                      {"kv_heads", 8},
                                      {"head_dim", 128},
                                      {"intermediate", 14336}}};
  const std::string schedule = profile().build(layer);
  ASSERT_THAT(schedule, HasSubstr("repeats_per_iteration"));
  EXPECT_EQ(profile().simulate(schedule).time_us, profile().predict(layer).time_us);
}

TEST(Library, NamesTheFieldThatIsWrong) {
  weft::Case request = chunked;
  request.workload["m"] = -1;
  EXPECT_THAT(error_of([&] { profile().predict(request); }), HasSubstr("workload.m: expected"));
  EXPECT_THAT(error_of([] { profile().predict("{"); }), HasSubstr("expected JSON"));
  EXPECT_THAT(error_of([] {
                profile().choose(chunked, {{{"family", "decomposition"}, {"pieces", 2}}});
              }),
              HasSubstr("schedule.chunks"));
  EXPECT_THAT(error_of([] { Profile("nowhere"); }), HasSubstr("machine: expected a path or one of "));
  EXPECT_THAT(error_of([] { profile().simulate_file("no.json"); }), HasSubstr("no.json: expected"));
}

TEST(Library, CallsAScheduleThatGetsStuckBadInput) {
  std::ifstream file(scenario_folder() / "launch_control/deadlock_spinning.json");
  const std::string stuck{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(error_of([&] { profile().simulate(stuck); }), HasSubstr("schedule: "));
}

TEST(Library, TakesWhatProgramsHaveAsValues) {
  const std::size_t rows = 4096;
  const std::string op = "gemm";
  const weft::Case gemm{.id = "g", .workload = {{"op", op}, {"m", rows}, {"n", 4096u}, {"k", std::int16_t{2048}}}};
  EXPECT_GT(profile().predict(gemm).time_us, 0);
  const weft::Fields groups{{"groups", {2, 3, 3}}, {"fused_norm", true}, {"imbalance", 1.5}};
  EXPECT_EQ(groups.at("groups"), (std::vector<std::int64_t>{2, 3, 3}));
  EXPECT_TRUE(std::holds_alternative<bool>(groups.at("fused_norm").content));
  EXPECT_TRUE(std::holds_alternative<double>(groups.at("imbalance").content));
}

TEST(Library, AnswersSeveralThreadsAtOnce) {
  const std::string alone = profile().predict(chunked).json;
  const Profile shared = profile();
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (std::string& answer : answers) threads.emplace_back([&] { answer = shared.predict(chunked).json; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(answers, Each(alone));
}

}  // namespace weft_test
}  // namespace weft::scenarios::study
