// weft predict as scripts use it: what a line does to the others, and what the exit status says.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction_lines.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace predict_command_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string predict = "predict --machine h200x8-nvswitch --in cases.jsonl";
const std::string all_reduce = R"({"id": "a", "gpus": 4, "workload": {"op": "all_reduce", "bytes": 1048576}})";
const std::string pair =
    R"({"id": "b", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 4096, "n": 2048, "k": 1024}, "schedule": {"family": "best"}})";

class PredictCommand : public testing::Test {
 protected:
  CommandResult answer(const std::string& lines, const std::string& options = "") const {
    folder_.write("cases.jsonl", lines);
    return run_weft(predict + options, folder_);
  }
  static std::vector<json> lines_of(const std::string& text) {
    std::vector<json> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
    return lines;
  }
  TemporaryFolder folder_;
};

TEST_F(PredictCommand, AnswersLinesThatEndAsOnOtherSystemsAndSkipsEmptyOnes) {
  const CommandResult result = answer("\r\n" + all_reduce + "\r\n\n \t\n" + all_reduce);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(lines_of(result.output).size(), 2u);
  EXPECT_EQ(answer("").status, 0);
}

TEST_F(PredictCommand, GoesOnAfterALineThatIsNoJson) {
  const std::string bad_utf8 = "{\"id\": \"a\xff\"}", no_text = "\x80\x81\xfe", half = "{\"id\": ";
  const CommandResult result =
      answer(all_reduce + "\n" + bad_utf8 + "\n" + no_text + "\n\n" + half + "\n" + all_reduce + "\n");
  EXPECT_EQ(result.status, 1);
  const std::vector<json> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 5u);
  for (const std::size_t good : {0, 4}) EXPECT_TRUE(lines[good].contains("time_us"));
  const std::vector<int> numbers{2, 3, 5};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(lines[i + 1]["id"], nullptr);
    EXPECT_EQ(lines[i + 1]["line"], numbers[i]);
    EXPECT_THAT(lines[i + 1]["error"], AllOf(HasSubstr("expected JSON"), Not(HasSubstr("line 1"))));
  }
}

TEST_F(PredictCommand, SaysWhereACaseWithoutAnIdStands) {
  const std::vector<json> lines = lines_of(answer(all_reduce + "\n[1, 2]\n" + R"({"gpus": 2})" + "\n").output);
  ASSERT_EQ(lines.size(), 3u);
  for (const int line : {2, 3}) EXPECT_EQ(lines[line - 1]["line"], line);
}

TEST_F(PredictCommand, AnswersACaseThatCannotBeDoneUnderItsId) {
  const std::string long_word = "x" + [] {
    std::string letters;
    for (int i = 0; i < 40; ++i) letters += "é";
    return letters;
  }();
  const CommandResult result = answer(R"({"id": "c", "gpus": 4, "workload": {"op": ")" + long_word + "\"}}\n");
  EXPECT_EQ(result.status, 1);
  const std::vector<json> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["id"], "c");
  EXPECT_THAT(lines[0]["error"], HasSubstr("workload.op: expected one of gemm, "));
}

TEST_F(PredictCommand, KeepsTheIdOfALineWithANumberTooLargeOrAKeyTwice) {
  const std::string large =
      R"({"note": "1e999", "id": "a\"1e999", "gpus": 4, "workload": {"op": "gemm", "m": -1e999}})";
  const std::string twice = R"({"gpus": 4, "gpus": 8, "id": "b"})", nameless = R"({"gpus": 1e999})";
  const std::vector<json> lines = lines_of(answer(large + "\n" + twice + "\n" + nameless + "\n").output);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["id"], "a\"1e999");
  EXPECT_THAT(lines[0]["error"], HasSubstr("number overflow parsing '-1e999'"));
  EXPECT_EQ(lines[1]["id"], "b");
  EXPECT_EQ(lines[2]["id"], nullptr);
  EXPECT_EQ(lines[2]["line"], 3);
}

TEST_F(PredictCommand, AnswersALineWhoseIdIsNestedWithoutEnd) {
  const std::string deep = R"({"id": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  const CommandResult result = answer(deep + "\n" + all_reduce + "\n");
  EXPECT_EQ(result.status, 1);
  const std::vector<json> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["id"], nullptr);
  EXPECT_THAT(lines[0]["error"], HasSubstr("levels of nesting"));
  EXPECT_TRUE(lines[1].contains("time_us"));
}

TEST_F(PredictCommand, AnswersInCharactersThatCanBePrinted) {
  const CommandResult result = answer(R"({"id": "c", "gpus": 4, "workload": {"op": "\u001b[31m\u0085"}})");
  EXPECT_THAT(lines_of(result.output).at(0)["error"], HasSubstr(R"(got "\u001b[31m\u0085")"));
}

TEST_F(PredictCommand, AnswersALineBeforeTheNextIsWritten) {
  folder_.write("ask.sh", R"(coproc weft { "$1" predict --machine h200x8-nvswitch; }
for id in first second; do
  echo '{"id": "'$id'", "gpus": 4, "workload": {"op": "all_reduce", "bytes": 1048576}}' >&"${weft[1]}"
  read -r -t 60 answer <&"${weft[0]}" || exit 3
  echo "$answer"
done
)");
  const CommandResult result = run("bash ask.sh '" WEFT_PROGRAM "'", folder_);
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::vector<json> lines = lines_of(result.output);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["id"], "first");
  EXPECT_EQ(lines[1]["id"], "second");
}

TEST_F(PredictCommand, GivesTheSameBitsForACaseAloneAndAmongOthers) {
  const CommandResult both = answer(all_reduce + "\n" + pair + "\n");
  EXPECT_EQ(both.output, answer(all_reduce).output + answer(pair).output);
}

TEST_F(PredictCommand, TakesTheScheduleThatItAnsweredBack) {
  const json answered = lines_of(answer(pair).output).at(0);
  json request = json::parse(pair);
  request["schedule"] = answered["schedule"];
  EXPECT_EQ(lines_of(answer(request.dump()).output).at(0), answered);
}

TEST_F(PredictCommand, WritesSchedulesUnderIdsThatAreFileNames) {
  EXPECT_EQ(answer(all_reduce, " --schedules .").status, 0);
  EXPECT_THAT(folder_.file_names(), testing::Contains("a.json"));
  std::string outside = all_reduce;
  outside.replace(outside.find("\"a\""), 3, "\"../a\"");
  const CommandResult result = answer(outside, " --schedules .");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("id: expected a file's name without a folder"));
}

// Whichever thread wrote last decided what the file held.
TEST_F(PredictCommand, WritesTheScheduleOfTheFirstOfManyCasesWithOneId) {
  std::string lines = pair + "\n";
  for (int i = 1; i < 600; ++i) {
    json other = json::parse(i % 2 == 0 ? all_reduce : pair);
    other["id"] = "b";
    other["gpus"] = 2;
    lines += other.dump() + "\n";
  }
  EXPECT_EQ(answer(pair, " --schedules .").status, 0);
  const std::string of_first = folder_.read("b.json");
  const CommandResult result = answer(lines, " --schedules .");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(folder_.read("b.json"), of_first);
  const std::vector<json> answers = lines_of(result.output);
  ASSERT_EQ(answers.size(), 600u);
  EXPECT_TRUE(answers[0].contains("time_us"));
  for (std::size_t i = 1; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["id"], "b");
    EXPECT_THAT(answers[i].value("error", ""), HasSubstr("id: expected each once, for its schedule's file"));
  }
  EXPECT_EQ(answer(lines).status, 0);  // without a file for each there is nothing to confuse
}

/// Keeps each write as it comes.
class Writes : public std::streambuf {
 public:
  std::vector<std::string> all;

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    all.emplace_back(text, static_cast<std::size_t>(size));
    return size;
  }
  int overflow(int letter) override {
    all.emplace_back(1, static_cast<char>(letter));
    return letter;
  }
};

TEST(PredictionLines, AreWrittenWholeWhereverARunEnds) {
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += all_reduce + "\n";
  std::istringstream in(lines);
  Writes writes;
  std::ostream out(&writes);
  EXPECT_TRUE(scenarios::study::predict_lines(in, out, read_machine(machine_path("h200x8-nvswitch")), simulator()));
  EXPECT_GT(writes.all.size(), 1u);
  for (const std::string& one : writes.all) EXPECT_THAT(one, testing::EndsWith("}\n"));
}

TEST_F(PredictCommand, SaysWhenItsResultsFindNoRoom) {
  const CommandResult result = answer(all_reduce, " --out /dev/full");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("/dev/full could not be written"));
}

}  // namespace predict_command_test
}  // namespace weft::tests
