// Who may include what, read from the #include lines, and how long a file may be.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include "tests/structure/source_file.hpp"

namespace weft::tests {
namespace include_test {

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

/// A room is a folder of sources. It may include itself and what is listed, and its names stand in one namespace.
struct Room {
  std::string name_space;
  std::set<std::string> may_include;
};

std::set<std::string> operator+(std::set<std::string> some, const std::set<std::string>& others) {
  some.insert(others.begin(), others.end());
  return some;
}

/// The rooms and the order among them. What `models` declares is the language that all others speak, so that its names
/// stand in `weft` itself; the namespace of every other room is its folder's.
std::map<std::string, Room> rooms() {
  const std::set<std::string> up_to_schedule{"models/base", "models/schedule"};
  const std::set<std::string> up_to_machine = up_to_schedule + std::set<std::string>{"models/machine"};
  const std::set<std::string> models =
      up_to_machine + std::set<std::string>{"models/cost", "models/check", "models/execution"};
  const std::set<std::string> scenarios = models + std::set<std::string>{"scenarios", "scenarios/families"};
  const std::set<std::string> study = scenarios + std::set<std::string>{"sim", "scenarios/study"};
  const std::set<std::string> report = study + std::set<std::string>{"models/report", "scenarios/report"};
  const std::set<std::string> library = report + std::set<std::string>{"scenarios/library"};
  const std::set<std::string> evidence =
      study + std::set<std::string>{"calibration", "calibration/fitting", "calibration/evidence"};
  const std::set<std::string> tools =
      evidence + library + std::set<std::string>{"sim/meaning", "calibration/report", "tools", "tools/commands"};
  return {{"models/base", {"weft", {}}},
          {"models/schedule", {"weft", up_to_schedule}},
          {"models/machine", {"weft", up_to_machine}},
          {"models/cost", {"weft", up_to_machine + std::set<std::string>{"models/execution"}}},
          {"models/check", {"weft", up_to_machine}},
          {"models/execution", {"weft", up_to_machine}},
          {"models/report", {"weft::report", models}},
          {"sim", {"weft::sim", models}},
          {"sim/meaning", {"weft::sim::meaning", models + std::set<std::string>{"sim"}}},
          {"scenarios", {"weft::scenarios", scenarios}},
          {"scenarios/families", {"weft::scenarios::families", scenarios}},
          {"scenarios/study", {"weft::scenarios::study", study}},
          {"scenarios/report", {"weft::scenarios::report", report}},
          {"scenarios/library", {"weft::scenarios::library", library}},
          {"scenarios/python", {"weft::scenarios::python", library + std::set<std::string>{"sim/meaning"}}},
          {"calibration", {"weft::calibration", models}},
          {"calibration/device", {"weft::calibration::device", models + std::set<std::string>{"calibration"}}},
          {"calibration/fitting", {"weft::calibration::fitting", models + std::set<std::string>{"calibration"}}},
          {"calibration/evidence", {"weft::calibration::evidence", evidence}},
          {"calibration/report", {"weft::calibration::report", evidence + std::set<std::string>{"models/report"}}},
          {"tools", {"weft::tools", tools}},
          {"tools/commands", {"weft::tools::commands", tools}}};
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

TEST(SourceFiles, StandInAKnownRoom) {
  const std::map<std::string, Room> known = rooms();
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    if (file.folder != "tests" && !known.contains(folder_of(file.path))) found.push_back(file.path);
  EXPECT_THAT(found, IsEmpty());
}

TEST(SourceFiles, KeepToTheOrderOfTheRooms) {
  const std::map<std::string, Room> known = rooms();
  EXPECT_THAT(includes_where([&](const SourceFile& file, const std::string& header) {
                const std::string room = folder_of(file.path), other = folder_of(header);
                return known.contains(room) && known.contains(other) && room != other &&
                       !known.at(room).may_include.contains(other);
              }),
              IsEmpty());
}

TEST(SourceFiles, DeclareTheirNamesInTheNamespaceOfTheirRoom) {
  const std::map<std::string, Room> known = rooms();
  const std::regex first_namespace(R"(^namespace (weft[\w:]*) \{$)");
  std::vector<std::string> found;
  for (const SourceFile& file : source_files()) {
    if (!known.contains(folder_of(file.path))) continue;
    std::smatch match;
    for (const std::string& line : file.lines)
      if (std::regex_search(line, match, first_namespace) && match[1] != known.at(folder_of(file.path)).name_space &&
          match[1] != "weft" &&  // specialisations of what models declares
          !(file.folder == "models" && std::regex_match(match[1].str(), std::regex("weft::(machine|schedule)_\\w+"))))
        found.push_back(file.path + ": " + line);
  }
  EXPECT_THAT(found, IsEmpty());
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
                return header.starts_with("Eigen/") && folder_of(file.path) != "calibration/fitting" &&
                       folder_of(file.path) != "tests/calibration/fitting";
              }),
              IsEmpty());
}

TEST(SourceFiles, UseThreadsOfTbbOnlyInStudiesAndFits) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return begins_with_one_of(header, {"tbb/", "oneapi/"}) && file.folder != "tools" &&
                       file.folder != "tests" && folder_of(file.path) != "scenarios/study" &&
                       folder_of(file.path) != "calibration/evidence" && folder_of(file.path) != "calibration/fitting";
              }),
              IsEmpty());
}

TEST(SourceFiles, KeepTheWholeOfJsonOutOfHeaders) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return header == "nlohmann/json.hpp" && file.has_extension(".hpp") && file.folder != "tests";
              }),
              IsEmpty());
}

TEST(SourceFiles, OfHeadersAreReadOnce) {
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    if (file.has_extension(".hpp") && std::ranges::count(file.lines, "#pragma once") != 1) found.push_back(file.path);
  EXPECT_THAT(found, IsEmpty());
}

// Programs that include it need nothing but the C++ standard library and what is installed beside it.
TEST(SourceFiles, OfTheLibraryNeedNoHeaderOfOthers) {
  const std::regex standard("[a-z_0-9]+");
  const std::set<std::string> installed{"scenarios/library/weft.hpp", "models/base/input_error.hpp"};
  EXPECT_THAT(includes_where([&](const SourceFile& file, const std::string& header) {
                return installed.contains(file.path) && !installed.contains(header) &&
                       !std::regex_match(header, standard);
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

// A study is handed an executor or a clock; who asks it makes them.
TEST(SourceFiles, OfStudiesMakeNoExecutor) {
  EXPECT_THAT(includes_where([](const SourceFile& file, const std::string& header) {
                return folder_of(file.path) == "scenarios/study" && file.path != "scenarios/library/weft.cpp" &&
                       header.starts_with("sim/") && header != "sim/simulation_options.hpp" &&
                       header != "sim/mechanisms.hpp";
              }),
              IsEmpty());
}

// Test programs are compiled several files at a time, in which names without a namespace of their file would meet.
TEST(SourceFiles, OfTestsHaveANamespaceOfTheirOwn) {
  std::vector<std::string> found;
  for (const SourceFile& file : source_files()) {
    if (file.folder != "tests" || !file.has_extension("_test.cpp")) continue;
    const std::string own = "namespace " + std::filesystem::path(file.path).stem().string() + " {";
    if (std::ranges::find(file.lines, own) == file.lines.end()) found.push_back(file.path + ": expected " + own);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(SourceFiles, HaveAtMost500Lines) {
  std::vector<std::string> found;
  for (const SourceFile& file : source_files())
    if (file.lines.size() > 500) found.push_back(file.path);
  EXPECT_THAT(found, IsEmpty());
}

}  // namespace include_test
}  // namespace weft::tests
