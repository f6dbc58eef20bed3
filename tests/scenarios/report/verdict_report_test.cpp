#include "scenarios/report/verdict_report.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "models/report/writers.hpp"

namespace weft::tests {
namespace verdict_report_test {

using namespace scenarios;
using testing::HasSubstr;
using testing::Not;
using weft::report::to_text;

study::Explored explored(const Family& family, bool runnable, const std::vector<std::string>& other_software = {}) {
  study::Explored one;
  one.candidate.request = {.id = "", .gpus = 8, .workload = PairWorkload{}, .schedule = {family}, .measured = {}};
  one.runnable = runnable;
  one.other_software = other_software;
  return one;
}

const study::Explored async_tp = explored(AsyncTp{}, true, {"PyTorch (async TP)"});
const study::Explored pushes = explored(Hybrid{.mover = HybridMover::push, .pieces = HybridPieces::shards}, true);
const study::Explored signaling = explored(Signaling{}, true);
const study::Explored signaling_elsewhere = explored(Signaling{}, false, {"FlashOverlap"});

/// The longest of answers: four pairs in three ways, of which something else runs today, and a lot that is not counted.
struct LongAnswer {
  LongAnswer() {
    scenario.gpus = 8;
    scenario.model = ModelConfig{.layers = 80};
    scenario.model->ignored = {"sliding windows", "vision", "the first layers"};
    verdict.sizes = {{.size = 16384,
                      .baseline = {.name = "all-reduce, serial", .time_us = 9895.4, .odds = {}, .schedules = {}},
                      .best = plan(pushes),
                      .runnable = plan(async_tp)}};
    verdict.pays_from = 16384;
    verdict.layers = 80;
    verdict.memory = {.weights_GB = 127.9, .keys_values_GB = 1.1, .activations_GB = 1.0};
    verdict.is_of_layers = true;
    machine.name = "h200x8-nvswitch";
    machine.runtime = Runtime::cuda;
    machine.architecture = Architecture::hopper;
  }

  static study::Plan plan(const study::Explored& of_output, const study::Explored& of_gate_up = signaling) {
    return {.name = "sequence parallel, pairs overlapped",
            .time_us = 7978.9,
            .odds = {.faster = 1, .gain = 0.229, .worst_gain = 0.199},
            .schedules = {{"qkv projection, sequence parallel", &async_tp},
                          {"attention output projection, sequence parallel", &of_output},
                          {"MLP gate and up projection, sequence parallel", &of_gate_up},
                          {"MLP down projection, sequence parallel", &async_tp}}};
  }

  std::string text(std::size_t width) const {
    weft::report::Report report{
        .title = "qwen3-235b-a22b, 8 GPUs of h200x8-nvswitch",
        .sections = {scenarios::report::verdict_section(verdict, study::Exploration{}, scenario, machine, evidence)}};
    return to_text(report, {.width = width});
  }

  Scenario scenario;
  study::Verdict verdict;
  Machine machine;
  study::Evidence evidence{.grade = Grade::measured};
};

TEST(FirstScreen, SaysWhatTheMemoryOfAGpuDoesNotHold) {
  LongAnswer answer;
  answer.machine.gpu.memory_GB = 141;
  EXPECT_THAT(answer.text(1000), HasSubstr("Memory: 130.0 GB a GPU (weights 127.9). "));
  answer.machine.gpu.memory_GB = 80;
  EXPECT_THAT(answer.text(1000), HasSubstr("Memory: 130.0 GB a GPU (weights 127.9), too much for its 80 GB. "));
}

TEST(FirstScreen, SaysWhichWaysOfRunningTheModelItIsNotAbout) {
  LongAnswer answer;
  answer.scenario.model->ignored.clear();
  answer.scenario.model->experts = 8;
  answer.scenario.forms = {LayerForm::all_reduce, LayerForm::sequence_parallel};
  answer.scenario.sizes = {1, 1001, 1024};
  EXPECT_THAT(scenarios::report::not_counted(answer.scenario),
              testing::ElementsAre("Not counted: expert parallelism: each expert is split over all GPUs; sequence "
                                   "parallelism with numbers of tokens that are no multiple of 8 GPUs (1, 1001)."));
  EXPECT_THAT(answer.text(1000), HasSubstr("Not counted: 2, below."));
}

TEST(FirstScreen, SaysWhatLiesOutsideOfWhatWasMeasured) {
  LongAnswer answer;
  EXPECT_THAT(answer.text(1000), Not(HasSubstr("Beyond what")));
  answer.evidence.outside = {"gpus", "n"};
  EXPECT_THAT(
      answer.text(1000),
      HasSubstr("Evidence: its numbers are measured on such machines. Beyond what was measured there: 8 GPUs, n."));
}

TEST(FirstScreen, SaysWhichNumbersNobodyPublishedAndHowToMeasureThem) {
  LongAnswer answer;
  answer.evidence = {.grade = Grade::assumed,
                     .assumed = {{"the rate of all-gather of 4 GPUs", study::MeasuredBy::nccl_tests},
                                 {"gaps between kernels", study::MeasuredBy::calibration}}};
  EXPECT_THAT(answer.text(1000),
              HasSubstr("Evidence: over a tenth of the time rests on assumptions, since not published: the rate of "
                        "all-gather of 4 GPUs, gaps between kernels. Measure: weft profile new "
                        "--nccl-tests LOG, weft calibrate."));
  EXPECT_THAT(answer.text(1000), HasSubstr("\nNo winner: too much is assumed. Stay with "));
  EXPECT_THAT(answer.text(1000), HasSubstr("\nA guess at "));
  EXPECT_THAT(answer.text(1000), Not(HasSubstr("Plan: ")));
  answer.machine.runtime = Runtime::rocm;  // which weft does not calibrate
  EXPECT_THAT(answer.text(1000), HasSubstr("--nccl-tests LOG, into the profile by hand."));
}

TEST(FirstScreen, HasAtMostTenLinesOf100CharactersAndElevenOf80) {
  for (const auto& [width, most] : {std::pair{80u, 11u}, {100u, 10u}}) {
    const std::string text = LongAnswer().text(width);
    std::istringstream stream(text);
    std::size_t lines = 0;
    for (std::string line; std::getline(stream, line);) {
      EXPECT_LE(line.size(), width);
      lines += line.empty() ? 0 : 1;
    }
    EXPECT_LE(lines, most) << text;
  }
}

TEST(FirstScreen, SaysPlanGainOddsMemoryAndWhatRunsToday) {
  const std::string text = LongAnswer().text(0);
  EXPECT_THAT(text, HasSubstr("Overlap pays, against all-reduce, serial."));
  EXPECT_THAT(text, HasSubstr("layer 9.895 -> 7.979 ms (-19.4 %), 80 layers 791.6 -> 638.3 ms."));
  EXPECT_THAT(text, HasSubstr("async TP (qkv, MLP down); pushes shard by shard (attention output); "));
  EXPECT_THAT(text, HasSubstr("Odds: 100 % to be faster, 22.9 % gain expected, 19.9 % in the worst of 20 cases."));
  EXPECT_THAT(text,
              HasSubstr("Runs today: this plan with async TP (attention output), -19.4 %, 100 % to be faster, by "));
  EXPECT_THAT(
      text, HasSubstr("Memory: 130.0 GB a GPU (weights 127.9). Evidence: its numbers are measured on such machines."));
  EXPECT_THAT(text, HasSubstr("Not counted: 3, below."));
}

TEST(FirstScreen, SaysThePlanOfEachSizeAndOfSerialNoOdds) {
  LongAnswer answer;
  study::SizePlans small = answer.verdict.sizes.front();
  small.size = 512;
  small.best = small.baseline;
  answer.verdict.sizes.insert(answer.verdict.sizes.begin(), small);
  const weft::report::Report report{
      .title = "", .sections = {scenarios::report::plans_section(answer.verdict, answer.scenario, Grade::measured)}};
  const std::string text = to_text(report, {.width = 0});
  EXPECT_THAT(text, HasSubstr("A layer against all-reduce, serial\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n *512 +9\\.895 +9\\.895 +- +- +- +all-reduce, serial\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n *16384 +9\\.895 +7\\.979 +22\\.9 % +19\\.9 % +100 % +sequence "
                                           "parallel, pairs overlapped\n"));
}

TEST(FirstScreen, DoesNotCallAGainOfLessThanOnePercentMore) {
  LongAnswer answer;
  answer.verdict.sizes.front().best.odds = {.faster = 0.54, .gain = 0.003, .worst_gain = -0.03};
  EXPECT_THAT(answer.text(0), HasSubstr("Overlap pays little, against all-reduce, serial."));
}

TEST(FirstScreen, SaysWhichSoftwareRunsAllOfAPlanOrElseItsParts) {
  LongAnswer answer;
  EXPECT_THAT(answer.text(0), HasSubstr("to be faster, by weft run."));
  answer.verdict.sizes.front().runnable = LongAnswer::plan(async_tp, signaling_elsewhere);
  EXPECT_THAT(answer.text(0), HasSubstr("to be faster, in parts by FlashOverlap, PyTorch (async TP), weft run."));
}

TEST(FirstScreen, DoesNotCutAPercentSignFromItsNumber) {
  for (std::size_t width = 30; width < 100; ++width)
    EXPECT_THAT(LongAnswer().text(width), Not(HasSubstr("\n%"))) << width;
}

/// Serial by the library's collectives as the last of twelve.
TEST(ShortRanking, TellsTheOddsOfAllButTheSerialOneItComparesWith) {
  study::Answer answer{.pair = "pair", .form = {}, .ranking = {}, .fastest_first = {}};
  const auto add = [&](const std::string& id, const Family& family, double time_us, Collectives collectives) {
    study::Explored one = explored(family, true);
    one.candidate.request.id = id;
    one.candidate.request.schedule.collectives = collectives;
    one.candidate.estimate.time_us = time_us;
    one.candidate.odds.faster = 0.9;
    answer.ranking.fastest_first.push_back(one.candidate);
    answer.fastest_first.push_back(std::move(one));
  };
  add("faster collectives", Serial{}, 100, Collectives::two_shot);
  for (const Collectives collectives : {Collectives::nccl, Collectives::two_shot})
    for (const Family& family :
         {Family(AsyncTp{}), Family(Signaling{}), Family(Decomposition{}), Family(Ficco{}), Family(Staged{})})
      add("other " + std::to_string(answer.fastest_first.size()), family, 110, collectives);
  add("serial", Serial{}, 200, Collectives::nccl);
  answer.ranking.serial = answer.fastest_first.size() - 1;
  const weft::report::Section section = scenarios::report::short_ranking(answer, Scenario{}, Grade::measured);
  const auto& rows = section.table.rows;
  ASSERT_EQ(rows.size(), 10u);
  const weft::report::Report report{.title = "", .sections = {section}};
  std::istringstream text(to_text(report, {.width = 1000}));
  std::string first, last;
  for (std::string line; std::getline(text, line);) {
    if (line.find("serial,") == 0) first = line;
    if (line.find("serial  ") == 0) last = line;
  }
  EXPECT_THAT(first, HasSubstr("90 %"));
  EXPECT_THAT(last, HasSubstr("200.0"));
  EXPECT_THAT(last, Not(HasSubstr("90 %")));
}

}  // namespace verdict_report_test
}  // namespace weft::tests
