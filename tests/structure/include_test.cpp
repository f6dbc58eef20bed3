// Who may include what, read from the #include lines, and how long a file may be.
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <regex>
#include <set>

#include "tests/structure/source_file.hpp"

namespace weft::tests {
namespace {

using testing::IsEmpty;

/// "FILE includes HEADER" for every include of the project for which `is_wrong` holds.
std::vector<std::string> includes_where(
    const std::function<bool(const SourceFile& file, const std::string& header)>& is_wrong) {
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    for (const std::string& header : file.includes())
      if (is_wrong(file, header)) found.push_back(file.path + " includes " + header);
  return found;
}

bool begins_with_one_of(const std::string& header, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes)
    if (header.starts_with(prefix)) return true;
  return false;
}

TEST(SourceFiles, AreFoundInEveryFolder) {
  std::set<std::string> folders;
  for (const SourceFile& file : source_files()) folders.insert(file.folder);
  EXPECT_THAT(folders, testing::ElementsAre("calibration", "models", "scenarios", "sim", "tests", "tools"));
}

TEST(SourceFiles, KeepToTheFolderOrder) {
  const std::map<std::string, std::set<std::string>> may_include{
      {"models", {"models"}},
      {"sim", {"models", "sim"}},
      {"calibration", {"models", "calibration"}},
      {"scenarios", {"models", "scenarios"}},
      {"tools", {"models", "sim", "calibration", "scenarios", "tools"}},
      {"tests", {"models", "sim", "calibration", "scenarios", "tools", "tests"}}};
  EXPECT_THAT(includes_where([&](const SourceFile& file, const std::string& header) {
                const std::string folder = header.substr(0, header.find('/'));
                return may_include.contains(folder) && !may_include.at(file.folder).contains(folder);
              }),
              IsEmpty());
}

TEST(SourceFiles, IncludeFromTheRoot) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                const auto beside = (project_root() / file.path).parent_path() / header;
                return header.starts_with(".") ||
                       (std::filesystem::exists(beside) && !std::filesystem::exists(project_root() / header));
              }),
              IsEmpty());
}

TEST(SourceFiles, UseCudaOnlyInTheDevicePart) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return begins_with_one_of(header,
                                          {"cuda", "cublas", "nccl", "cupti", "nvml", "nvtx", "cooperative_g"}) &&
                       !file.path.starts_with("calibration/device/");
              }),
              IsEmpty());
}

TEST(SourceFiles, UseEigenOnlyForFitting) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return header.starts_with("Eigen/") &&
                       !(file.folder == "calibration" && file.path.find("fit") != std::string::npos);
              }),
              IsEmpty());
}

TEST(SourceFiles, UseThreadsOfTbbOnlyInTools) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return begins_with_one_of(header, {"tbb/", "oneapi/"}) && file.folder != "tools";
              }),
              IsEmpty());
}

TEST(SourceFiles, KeepTheWholeOfJsonOutOfHeaders) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return header == "nlohmann/json.hpp" && file.has_extension(".hpp") && file.folder != "tests";
              }),
              IsEmpty());
}

// Other machines' mathematical libraries round these differently; + - * / and sqrt are exact everywhere.
TEST(SourceFiles, OfTheSimulatorCallNoTranscendentalFunction) {
  const std::regex call(R"(\bstd::(pow|exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|cbrt|hypot|tgamma|erf)\()");
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    for (const std::string& line : file.lines)
      if (file.folder == "sim" && std::regex_search(line, call)) found.push_back(file.path + ": " + line);
  EXPECT_THAT(found, IsEmpty());
}

TEST(SourceFiles, HaveAtMost500Lines) {
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    if (file.lines.size() > 500) found.push_back(file.path);
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace weft::tests
