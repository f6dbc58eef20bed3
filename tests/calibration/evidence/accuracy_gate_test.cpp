// Predictions on the committed measurements do not move unseen, neither up nor down, and none is lost. A change that
// moves them stores the new errors with its reason, and the difference is part of the review:
//   tools/accept_accuracy "REASON"
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/evidence/accuracy_targets.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/calibration/evidence/stored_values.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace accuracy_gate_test {

using nlohmann::ordered_json;
using tests::differences;
using tests::Percentages;
using tests::StoredValues;

const std::string golden = tests::source_folder() + "/tests/tools/golden/accuracy.json";
const std::string measurements = tests::source_folder() + "/calibration/measurements/";

constexpr double allowed_for_a_case = 0.5, allowed_for_a_target = 0.1;  // percentage points

/// Of every `stride`-th question all cases, so that the gate takes seconds.
struct GateFile {
  std::string name;
  int stride = 1;
};
const std::vector<GateFile> files{{"validation-2026-11-21/validation_2gpu.jsonl.gz"},
                                  {"validation-2026-11-21/validation_4gpu.jsonl.gz"},
                                  {"h200x4-2026-11-21/random_2gpu.jsonl.gz"},
                                  {"h200x4-2026-11-21/random_4gpu.jsonl.gz"},
                                  {"h200x4-2026-11-21/gemm.jsonl.gz", 8}};

std::vector<MeasuredCase> cases_of(const GateFile& file) {
  std::vector<MeasuredCase> cases = read_measurements(std::filesystem::path(measurements + file.name));
  std::erase_if(cases, [&](const MeasuredCase& one) {
    return std::stoi(one.request.id) % file.stride != 0;  // ids are QUESTION.CASE or a number
  });
  return cases;
}

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

double tenth(double value) { return std::round(10 * value) / 10 + 0.0; }  // never -0

/// The cases of a file have as many GPUs.
std::string name_of_case(const Comparison& one) {
  const scenarios::Case& request = one.measured.request;
  return describe(request.workload) + " | " + describe(request.schedule);
}

std::string name_of_target(const TargetResult& one) {
  return std::string(one.row) + ", " + std::string(name_of(one.statistic));
}

/// Two measurements of one case have names of their own.
void add(Percentages& errors, const std::string& name, double percent) {
  std::string own = name;
  for (int number = 2; errors.contains(own); ++number) own = name + " | " + std::to_string(number);
  errors[own] = percent;
}

Percentages errors_of(const GateFile& file) {
  Percentages errors;
  std::size_t refused = 0;
  for (const Comparison& one : compare(cases_of(file), h200(), refused))
    add(errors, name_of_case(one), tenth(100 * one.error()));
  EXPECT_EQ(refused, 0u) << file.name;
  return errors;
}

Percentages targets_found() {
  std::vector<MeasuredCase> measured;
  for (const GateFile& file : files)
    for (MeasuredCase& one : cases_of(file)) measured.push_back(std::move(one));
  Percentages reached;
  for (const TargetResult& one : target_results(evidence_of(measured, h200())))
    if (one.cases > 0) reached[name_of_target(one)] = tenth(one.reached_percent);
  return reached;
}

/// By the name of a file, or targets.
ordered_json all_found() {
  ordered_json found{{"targets", targets_found()}};
  for (const GateFile& file : files) found[file.name] = errors_of(file);
  return found;
}

ordered_json checksums_of_measurements() {
  ordered_json checksums;
  for (const GateFile& file : files) {
    std::ifstream text(measurements + file.name, std::ios::binary);
    checksums[file.name] = table_checksum(std::string(std::istreambuf_iterator<char>(text), {}));
  }
  return checksums;
}

/// With a reason in WEFT_ACCEPT_ACCURACY, what is found takes the place of what was stored.
const StoredValues& stored() {
  static const StoredValues values = [] {
    StoredValues read(std::filesystem::exists(golden) ? ordered_json::parse(std::ifstream(golden))
                                                      : ordered_json::object());
    if (const char* reason = std::getenv("WEFT_ACCEPT_ACCURACY")) {
      read.change(checksums_of_measurements(), all_found(), reason);
      if (read.complaint().empty()) std::ofstream(golden) << read.json().dump(0) << '\n';  // a line each, and no more
    }
    return read;
  }();
  return values;
}

std::string lines(const std::vector<std::string>& differences) {
  std::string text;
  for (const std::string& line : differences) text += line + '\n';
  return text;
}

TEST(AccuracyGate, StoredValuesHaveAReason) { EXPECT_EQ(stored().complaint(), ""); }

TEST(AccuracyGate, MeasurementsAreThoseThatTheValuesWereMadeFrom) {
  EXPECT_EQ(stored().made_from(), checksums_of_measurements());
}

TEST(AccuracyGate, NoCaseMovesOrIsLostUnseen) {
  for (const GateFile& file : files)
    EXPECT_EQ(lines(differences(stored().percentages(file.name), errors_of(file), allowed_for_a_case)), "")
        << file.name;
}

TEST(AccuracyGate, TargetsKeepTheirStoredLevel) {
  EXPECT_EQ(lines(differences(stored().percentages("targets"), targets_found(), allowed_for_a_target)), "");
}

}  // namespace accuracy_gate_test
}  // namespace weft::calibration::evidence
