#include "models/machine/gemm_choices_text.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace gemm_choices_text_test {

using testing::HasSubstr;

const std::string title = "weft.gemm_kernels/2\n";

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::int64_t> fields_of(const GemmChoice& choice) {
  const GemmKernel& kernel = choice.kernel;
  return {choice.m,      choice.n,         choice.k,         kernel.tile_m, kernel.tile_n,
          kernel.tile_k, kernel.cluster_m, kernel.cluster_n, kernel.stages, kernel.split_k};
}

std::vector<std::vector<std::int64_t>> fields_of(const GemmChoices& choices) {
  std::vector<std::vector<std::int64_t>> rows;
  for (const GemmChoice& choice : choices.answers()) rows.push_back(fields_of(choice));
  return rows;
}

/// The numbers between the commas, line by line, without the titles.
std::vector<std::vector<std::int64_t>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::int64_t>> rows;
  std::istringstream lines(csv);
  std::string line, number;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream numbers(line);
    for (rows.emplace_back(); std::getline(numbers, number, ',');) rows.back().push_back(std::stoll(number));
  }
  return rows;
}

TEST(GemmChoicesText, HasKernelsThatThereAre) {
  for (const char* kernel : {"5000x128x64 1x1 4 1", "128x128x64 128x1 4 1", "128x128x64 1x1 5000 1"}) {
    const std::string text = "weft.gemm_kernels/2\nkernel " + std::string(kernel) + "\n128 128:64\n";
    EXPECT_NE(error_of([&] { gemm_choices_from_text(text); }).find("line 2: expected a "), std::string::npos) << kernel;
  }
}

TEST(GemmChoicesText, HasNoMoreKernelsThanATableCanNumber) {
  std::string text = title;
  const auto add = [&text](std::size_t kernel) {
    text += "kernel " + std::to_string(1 + kernel / 256) + "x" + std::to_string(1 + kernel % 256) + "x64 1x1 4 1\n";
  };
  for (std::size_t kernel = 0; kernel < most_kernels; ++kernel) add(kernel);
  EXPECT_EQ(gemm_choices_from_text(text + "128 128:64\n").answers().front().kernel.tile_m, 256);
  add(most_kernels);
  EXPECT_THAT(error_of([&] { gemm_choices_from_text(text); }), HasSubstr("expected at most 65536 different kernels"));
}

TEST(GemmChoicesText, KeepsEveryFieldOfATableOfColumns) {
  const std::string csv = text_in(tests::source_folder() + "/tests/models/machine/gemm_kernels.csv");
  const auto rows = rows_of(csv);
  ASSERT_GT(rows.size(), 20u);
  const GemmChoices choices = gemm_choices_from_text(csv);
  EXPECT_EQ(fields_of(choices), rows);
  EXPECT_EQ(fields_of(gemm_choices_from_text(to_text(choices))), rows);
}

TEST(GemmChoicesText, SaysEachKernelOnceAndEachRowOfShapesOnOneLine) {
  const GemmKernel small{.tile_m = 64, .tile_n = 128, .stages = 5}, large{.tile_m = 128, .tile_n = 256, .cluster_m = 2};
  const GemmChoices choices{
      {64, 320, 128, large}, {64, 320, 192, large}, {128, 320, 64, large}, {64, 384, 128, large}, {8, 8, 8, small}};
  const std::string text = to_text(choices);
  EXPECT_EQ(text.substr(text.find("kernel 64")),
            "kernel 64x128x64 1x1 5 1\n8 8:8\n"
            "kernel 128x256x64 2x1 4 1\n320 64:128,64 64:64\n64 64:128\n");
}

TEST(GemmChoicesText, IsTheSameAfterItWasRead) {
  const std::string text =
      to_text(gemm_choices_from_text(text_in(tests::source_folder() + "/tests/models/machine/gemm_kernels.csv")));
  EXPECT_EQ(to_text(gemm_choices_from_text(text)), text);
}

TEST(GemmChoicesText, AlsoReadsWholeNumbers) {
  const std::string kernels = "kernel 8x8x64 1x1 4 1\n8 8:8,24 16:8\n24 8:8\nkernel 8x16x64 1x1 4 1\n8 24:8\n";
  const std::string steps = "kernel 8x8x64 1x1 4 1\n8 8:8,16 8:8\n16 8:8\nkernel 8x16x64 1x1 4 1\n8 24:8\n";
  EXPECT_EQ(fields_of(gemm_choices_from_text("weft.gemm_kernels/1\n" + kernels)),
            fields_of(gemm_choices_from_text(title + steps)));
}

TEST(GemmChoicesText, MayHoldNoAnswerAndComments) {
  EXPECT_TRUE(gemm_choices_from_text(to_text(GemmChoices())).empty());
  EXPECT_EQ(gemm_choices_from_text(title + "# one\nkernel 8x8x64 1x1 4 1\n\n# two\n8 8:8").size(), 1u);
}

TEST(GemmChoicesText, NamesTheLineThatIsWrong) {
  const auto error = [](const std::string& text) { return error_of([&] { gemm_choices_from_text(text); }); };
  const std::string kernel = "kernel 8x8x64 1x1 4 1\n";
  EXPECT_THAT(error(""), HasSubstr("weft.gemm_kernels/2"));
  EXPECT_THAT(error("m,n,k\n1,2,3\n"), HasSubstr("line 1: expected \"weft.gemm_kernels/2\""));
  EXPECT_THAT(error(title + "8 8:8\n"), HasSubstr("line 2: expected a line \"kernel"));
  EXPECT_THAT(error(title + "kernel 8x8x64 1x1 4\n"), HasSubstr("line 2: expected \"kernel"));
  EXPECT_THAT(error(title + "kernel 8x8x64 1x1 4 1 1\n"), HasSubstr("line 2: expected \"kernel"));
  EXPECT_THAT(error(title + "kernel 8x0x64 1x1 4 1\n"), HasSubstr("line 2: expected \"kernel"));
  for (const std::string line : {"8", "8 8", "8 8:", "8 8:8,", "8 8:8 ", "8 8:8;8", "8  8:8", "8 8:-8",
                                 "8 8:2147483648", "8 8:2147483647,1", "8 8:8 2147483640:8"})
    EXPECT_THAT(error(title + kernel + line), HasSubstr("line 3: expected \"N M:K,K")) << line;
  const std::string titles = "m,n,k,tile_m,tile_n,tile_k,cluster_m,cluster_n,stages,split_k\n";
  for (const std::string line : {"1,2,3", "1,2,3,4,5,6,7,8,9,10,", "1,2,3,4,5,6,7,8,9,0"})
    EXPECT_THAT(error(titles + "#\n" + line), HasSubstr("line 3: expected ten positive integers")) << line;
}

TEST(GemmChoicesText, HasOneKernelForEachShape) {
  EXPECT_THAT(
      error_of([] {
        gemm_choices_from_text(title + "kernel 8x8x64 1x1 4 1\n320 8:128\nkernel 8x8x64 1x1 4 2\n320 8:64,64\n");
      }),
      HasSubstr("m = 8, n = 320, k = 128: expected one kernel"));
}

}  // namespace gemm_choices_text_test
}  // namespace weft
