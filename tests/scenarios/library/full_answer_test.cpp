#include "scenarios/library/full_answer.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/report/writers.hpp"
#include "scenarios/library/question.hpp"
#include "tests/models/error_of.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::scenarios::library {
namespace full_answer_test {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

FullAnswer answer_of(const AnswerOptions& options) {
  const auto [scenario, profile] =
      read_question({.what = "m=2048,4096 n=4096 k=2048 op=gemm+all_reduce", .machine = "h200x8-nvswitch", .gpus = 4});
  return {scenario, profile, options};
}

TEST(FullAnswer, HasAVerdictTheRankingAndWhatItLosesTimeTo) {
  const FullAnswer answer = answer_of({.space = Space::named});
  const std::string text = weft::report::to_text(answer.report());
  EXPECT_THAT(text, StartsWith("4 GPUs of h200x8-nvswitch\n\n"));
  EXPECT_THAT(text, HasSubstr(answer.leading_in_words() + ", 4 GPUs\nschedule"));
  EXPECT_THAT(text, HasSubstr("\nWhere the time goes, in us\n"));
  EXPECT_THAT(answer.losses_picture(), HasSubstr(">" + answer.leading().fastest().candidate.request.id + "<"));
}

TEST(FullAnswer, IsAboutOneSizeWhereOneIsAsked) {
  const FullAnswer answer = answer_of({.size = 2048, .space = Space::named});
  EXPECT_EQ(answer.leading().size, 2048);
  EXPECT_EQ((*answer.report().document.json())["answers"].size(), 1u);
  EXPECT_EQ(error_of([] { answer_of({.size = 5}); }), "size: expected a size of the scenario, got 5");
}

TEST(FullAnswer, HasTheLossesThatWereAskedFor) {
  const auto with_losses = [](const FullAnswer& answer) {
    int schedules = 0;
    const weft::report::Report report = answer.report();
    for (const auto& one : (*report.document.json())["answers"])
      for (const auto& schedule : one["schedules"]) schedules += schedule.contains("losses") ? 1 : 0;
    return schedules;
  };
  const int of_leading = with_losses(answer_of({.space = Space::named}));
  EXPECT_GE(with_losses(answer_of({.space = Space::named, .has_losses = true})), of_leading + 2);  // of two answers
  EXPECT_GT(with_losses(answer_of({.space = Space::named, .has_all_losses = true})), of_leading);
  EXPECT_THAT(error_of([] { answer_of({.why = "nothing"}); }), StartsWith("schedule: expected one of the ranking"));
}

TEST(FullAnswer, RunsItsFastestSchedule) {
  const FullAnswer answer = answer_of({.space = Space::named});
  EXPECT_EQ(answer.winning_schedule().machine, "h200x8-nvswitch");
  EXPECT_DOUBLE_EQ(answer.winning_run().trace.time_us, answer.leading().advice().candidate.estimate.time_us);
}

TEST(FullAnswer, FillsAPageWithGainsThatItAsksForItself) {
  const FullAnswer answer = answer_of({.size = 2048, .space = Space::named});
  const std::string page = answer.page("<script>{\"weft\": \"content\"}</script>");
  EXPECT_THAT(page, HasSubstr("\"format\":\"weft.report/1\""));
  EXPECT_THAT(page, Not(HasSubstr("\"gains\":[]")));
}

TEST(Questions, NameTheirMachineOrAreAskedAboutOne) {
  EXPECT_THAT(error_of([] { read_question({.what = "m=8 n=8 k=8 op=gemm+all_reduce", .gpus = 2}); }),
              StartsWith("--machine: expected the name or path of a profile"));
  tests::TemporaryFolder folder;
  folder.write("asked.json", R"({"format": "weft.scenario/1", "machine": "nowhere", "gpus": 2,
                                 "op": "gemm+all_reduce", "m": [64], "n": 64, "k": 64})");
  const std::string path = (folder.path() / "asked.json").string();
  EXPECT_THAT(error_of([&] { read_question({.what = path, .machine = "h200x8-nvswitch"}); }),
              StartsWith(path + ": machine: expected a path or one of "));
}

}  // namespace full_answer_test
}  // namespace weft::scenarios::library
