// Who looks at operations names every kind of them, so that a new kind does not compile until it is handled everywhere:
// match() (models/schedule/schedule.hpp) refuses a handler that takes anything, and nothing else may be asked of
// `Work`.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <string_view>

#include "tests/structure/source_file.hpp"

namespace weft::tests {
namespace operation_visit_test {

using testing::Each;
using testing::IsEmpty;
using testing::StartsWith;

std::string text_of(const SourceFile& file) {
  std::string text;
  for (const std::string& line : file.lines) text += line + "\n";
  return text;
}

std::string schedule_header() {
  for (const SourceFile& file : source_files())
    if (file.path == "models/schedule/schedule.hpp") return text_of(file);
  return "";
}

/// "Gemm|GroupedGemm|…", read from the declaration of `Work`.
std::string kinds() {
  const std::string header = schedule_header();
  std::smatch work;
  if (!std::regex_search(header, work, std::regex(R"(using Work = std::variant<([\s\w,]+)>;)"))) return "";
  return std::regex_replace(work[1].str(), std::regex(R"(,\s*)"), "|");
}

/// "FILE: TEXT" for all text of the product that `what` matches.
std::vector<std::string> places(const std::string& what) {
  const std::regex pattern(what);
  std::vector<std::string> found;
  for (const SourceFile& file : source_files()) {
    if (file.folder == "tests" || file.path == "models/schedule/schedule.hpp") continue;
    const std::string text = text_of(file);
    for (auto match = std::sregex_iterator(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match)
      found.push_back(file.path + ": " + match->str());
  }
  return found;
}

TEST(VisitsOfOperations, KnowTheKinds) {
  const std::string all = kinds();
  EXPECT_GE(std::count(all.begin(), all.end(), '|'), 12) << all;
}

TEST(VisitsOfOperations, AskForNoSingleKind) {
  EXPECT_THAT(places(R"(\b(holds_alternative|get_if|get)<(const )?(weft::)?()" + kinds() + ")>"), IsEmpty());
}

/// The last of the arguments of a call whose opening parenthesis stands at `open`.
std::string last_argument(const std::string& text, std::size_t open) {
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (std::string_view("([{").find(text[at]) != std::string_view::npos) ++depth;
    if (text[at] == ',' && depth == 1) begin = at + 1;
    if (std::string_view(")]}").find(text[at]) != std::string_view::npos && --depth == 0)
      return text.substr(begin, at - begin);
  }
  return "";
}

TEST(VisitsOfOperations, GoThroughMatch) {
  const std::string visit = "std::visit(";
  const std::regex is_work(R"((^|\W)work\s*$)");
  std::vector<std::string> found;
  for (const SourceFile& file : source_files()) {
    if (file.folder == "tests" || file.path == "models/schedule/schedule.hpp") continue;
    const std::string text = text_of(file);
    for (auto at = text.find(visit); at != std::string::npos; at = text.find(visit, at + 1))
      if (std::regex_search(last_argument(text, at + visit.size() - 1), is_work))
        found.push_back(file.path + ": " + text.substr(at, 80));
  }
  EXPECT_THAT(found, IsEmpty());
}

// Reading JSON makes an operation of each kind to ask it for its word, and needs nothing else of it.
TEST(VisitsOfOperations, ListKindsByName) {
  EXPECT_THAT(places(R"(variant_alternative_t<\w+, Work>)"),
              Each(StartsWith("models/schedule/schedule_json_reader.cpp:")));
}

}  // namespace operation_visit_test
}  // namespace weft::tests
