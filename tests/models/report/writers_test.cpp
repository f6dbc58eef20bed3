#include "models/report/writers.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/base/text.hpp"
#include "tests/models/error_of.hpp"

namespace weft::report {
namespace writers_test {

/// A report with every kind of cell.
Report sample() {
  Table table{{"name", droppable("us", 3), droppable("interval", 1), droppable("speedup", 2), "error"}, {}};
  table.rows.push_back({"gemm", Number{812, 1}, Interval{780, 840}, ratio(1), "-"});
  table.rows.push_back({"all_reduce, \"NCCL\" | 8", Number{55.5, 1}, Interval{50, 61}, ratio(1.2345), error(-0.051)});
  return {.title = "Two kernels", .sections = {{"8 GPUs", table, {"Overlap pays."}}}, .notes = {"2 simulated."}};
}

TEST(Writers, TextSetsNumbersToTheRightAndWordsToTheLeft) {
  EXPECT_EQ(written(sample(), "text"),
            "Two kernels\n"
            "\n"
            "8 GPUs\n"
            "name                       us   interval  speedup   error\n"
            "gemm                    812.0  780 - 840   1.000x       -\n"
            "all_reduce, \"NCCL\" | 8   55.5    50 - 61   1.234x  -5.1 %\n"
            "Overlap pays.\n"
            "2 simulated.\n");
}

TEST(Writers, KnowTheirFormats) {
  EXPECT_EQ(error_of([] { written(sample(), "xml"); }),
            "format: expected one of text, json, csv, markdown, got \"xml\"");
}

TEST(Writers, CsvHasTheNumbersWithoutUnits) {
  EXPECT_EQ(written(sample(), "csv"),
            "name,us,interval,speedup,error\n"
            "gemm,812.0,780 - 840,1.000,-\n"
            "\"all_reduce, \"\"NCCL\"\" | 8\",55.5,50 - 61,1.234,-5.1\n");
}

TEST(Writers, CsvIsTheRowsOfAReportThatHasThem) {
  Report report = sample();
  report.rows = {{"case", "time_us"}, {{"first", Number{1.5, 1}}, {"second", Number{2, 1}}}};
  EXPECT_EQ(written(report, "csv"), "case,time_us\nfirst,1.5\nsecond,2.0\n");
  EXPECT_EQ(written(report, "text"), written(sample(), "text"));
}

TEST(Writers, MarkdownEscapesBars) {
  EXPECT_EQ(written(sample(), "markdown"),
            "# Two kernels\n"
            "\n"
            "## 8 GPUs\n"
            "\n"
            "| name | us | interval | speedup | error |\n"
            "| :-- | --: | --: | --: | --: |\n"
            "| gemm | 812.0 | 780 - 840 | 1.000x | - |\n"
            "| all_reduce, \"NCCL\" \\| 8 | 55.5 | 50 - 61 | 1.234x | -5.1 % |\n"
            "\n"
            "Overlap pays.\n"
            "\n"
            "2 simulated.\n");
}

TEST(Writers, JsonIsThatOfTheReport) {
  Report report = sample();
  report.document = nlohmann::ordered_json{{"time_us", 812.5}};
  EXPECT_EQ(nlohmann::json::parse(written(report, "json")), nlohmann::json({{"time_us", 812.5}}));
}

TEST(Writers, JsonOfAReportWithoutItsOwnHasTheSections) {
  const nlohmann::json json = nlohmann::json::parse(written(sample(), "json"));
  EXPECT_EQ(json["title"], "Two kernels");
  EXPECT_EQ(json["sections"][0]["columns"][1], "us");
  EXPECT_EQ(json["sections"][0]["rows"][1][1], 55.5);
  EXPECT_EQ(json["sections"][0]["notes"][0], "Overlap pays.");
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

Report table_alone() {
  Report report = sample();
  return {.sections = {{"", report.sections[0].table, {}}}};
}

TEST(TextWriter, ATableAsWideAsTheTerminalIsWhole) {
  const std::string whole = to_text(table_alone());
  EXPECT_EQ(to_text(table_alone(), {.width = longest_line(whole)}), whole);
}

TEST(TextWriter, ANarrowerTableLosesItsLeastImportantColumnsAndSaysSo) {
  EXPECT_EQ(to_text(table_alone(), {.width = 46}),
            "name                       us  speedup   error\n"
            "gemm                    812.0   1.000x       -\n"
            "all_reduce, \"NCCL\" | 8   55.5   1.234x  -5.1 %\n"
            "Left out, the lines being short (--wide shows all): interval.\n");
}

TEST(TextWriter, WordsAreFoldedWhereEveryColumnMustBeShown) {
  const Table table{{"what", "us"}, {{"a shared link between the two halves of the machine", Number{7}}}};
  EXPECT_EQ(to_text({.sections = {{.table = table}}}, {.width = 30}),
            "what                        us\n"
            "a shared link between the    7\n"
            "two halves of the machine\n");
}

TEST(TextWriter, ColumnsAreFoldedOneAfterTheOtherButNotWithinAWord) {
  const std::string words = "twelve words of which a line of a narrow terminal holds no more than half";
  const std::string path = "a/path/that/has/no/space/in/it/and/is/longer/than/least";
  const std::string text =
      to_text({.sections = {{.table = {{"a", "b", "c"}, {{words, path, words}}}}}}, {.width = 110});
  EXPECT_LE(longest_line(text), 110u);
  EXPECT_NE(text.find(path), std::string::npos);
}

TEST(TextWriter, LongNamesOfNumbersAreFoldedToo) {
  const Table table{.columns = {{"cause"}, {"pushes chunk by chunk, in four pieces"}, {"serial"}},
                    .rows = {{std::string("gaps"), Number{1, 1}, Number{2, 1}}}};
  EXPECT_EQ(to_text({.sections = {{.table = table}}}, {.width = 40}),
            "cause  pushes chunk by chunk, in  serial\n"
            "                     four pieces\n"
            "gaps                         1.0     2.0\n");
}

TEST(TextWriter, AWordThatIsOneCharacterTooLongGoesToTheNextLine) {
  const std::string word(12, 'a'), shorter(11, 'b');
  const Table table{{"what"}, {{word + " " + word}, {word + " " + shorter}}};
  EXPECT_EQ(to_text({.sections = {{.table = table}}}, {.width = 24}),
            "what\n" + word + "\n" + word + "\n" + word + " " + shorter + "\n");
}

TEST(TextWriter, CountsCharactersAndNotBytes) {
  const Table table{{"a", "b"}, {{"µµµ", "x"}}};
  EXPECT_EQ(to_text({.sections = {{.table = table}}}), "a    b\nµµµ  x\n");
}

TEST(TextWriter, WordsThatBeginWithADigitStandToTheLeft) {
  const Table table{{"what"}, {{"8x H200"}, {"a server"}}};
  EXPECT_EQ(to_text({.sections = {{.table = table}}}), "what\n8x H200\na server\n");
}

TEST(TextWriter, ColoursOnlyWhereAsked) {
  EXPECT_EQ(to_text(sample()).find('\033'), std::string::npos);
  EXPECT_NE(to_text(sample(), {.is_coloured = true}).find("\033[1mTwo kernels\033[0m\n"), std::string::npos);
}

TEST(SignedPercent, ShowsTheSignOfBoth) {
  EXPECT_EQ(signed_percent(0.0312), "+3.1 %");
  EXPECT_EQ(signed_percent(-0.0312), "-3.1 %");
}

}  // namespace writers_test
}  // namespace weft::report
