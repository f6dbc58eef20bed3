// Predictions on the committed measurements must not get worse unseen. A change that moves them rewrites the file:
//   WEFT_REWRITE_GOLDEN=1 build/release/bin/weft_tools_tests --gtest_filter='AccuracyGate*'
// and the difference is part of the review.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "calibration/evidence/accuracy_targets.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

const std::string golden = tests::source_folder() + "/tests/tools/golden/accuracy.json";
const std::string measurements = tests::source_folder() + "/calibration/measurements/";

constexpr double allowed_for_a_case = 3, allowed_for_a_target = 0.3;  // percentage points

/// Of every `stride`-th question all cases, so that the gate takes seconds.
struct GateFile {
  std::string name;
  int stride = 1;
};
const std::vector<GateFile> files{{"validation-2026-11-21/validation_2gpu.jsonl"},
                                  {"validation-2026-11-21/validation_4gpu.jsonl"},
                                  {"h200x4-2026-11-21/random_2gpu.jsonl"},
                                  {"h200x4-2026-11-21/random_4gpu.jsonl"},
                                  {"h200x4-2026-11-21/gemm.jsonl", 8}};

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

std::string name_of_case(const Comparison& one) {
  const scenarios::Case& request = one.measured.request;
  return describe(request.workload) + " | " + describe(request.schedule) + " | " + gpus_name(one);
}

std::string name_of_target(const TargetResult& one) {
  return std::string(one.row) + ", " + std::string(name_of(one.statistic));
}

/// Reads one part of the file; where it is to be rewritten, writes `found` there before.
ordered_json golden_part(const std::string& part, const ordered_json& found) {
  const bool is_rewritten = std::getenv("WEFT_REWRITE_GOLDEN") != nullptr;
  ordered_json json = std::filesystem::exists(golden) ? ordered_json(read_json_file(golden)) : ordered_json();
  if (is_rewritten) {
    json[part] = found;
    write_json_file(golden, json);
  }
  return json[part];
}

TEST(AccuracyGate, NoCaseIsWorseThanStored) {
  ordered_json found;
  for (const GateFile& file : files) {
    std::size_t refused = 0;
    for (const Comparison& one : compare(cases_of(file), h200(), refused))
      found[file.name][name_of_case(one)] = tenth(100 * one.error());
    EXPECT_EQ(refused, 0u) << file.name;
  }
  const ordered_json stored = golden_part("error_percent", found);
  for (const auto& [file, errors] : found.items())
    for (const auto& [name, error] : errors.items()) {
      ASSERT_TRUE(stored[file].contains(name)) << file << ": " << name;
      EXPECT_LE(std::abs(error.get<double>()), std::abs(stored[file][name].get<double>()) + allowed_for_a_case)
          << file << ": " << name;
    }
}

TEST(AccuracyGate, TargetsKeepTheirStoredLevel) {
  std::vector<MeasuredCase> measured;
  for (const GateFile& file : files)
    for (MeasuredCase& one : cases_of(file)) measured.push_back(std::move(one));
  const std::vector<TargetResult> results = target_results(evidence_of(measured, h200()));
  ordered_json found;
  for (const TargetResult& one : results)
    if (one.cases > 0) found[name_of_target(one)] = tenth(one.reached_percent);
  const ordered_json stored = golden_part("reached_percent", found);
  for (const TargetResult& one : results) {
    if (one.cases == 0) continue;
    ASSERT_TRUE(stored.contains(name_of_target(one))) << name_of_target(one);
    const double level = stored[name_of_target(one)].get<double>();
    if (one.bound == Bound::at_most)
      EXPECT_LE(one.reached_percent, level + allowed_for_a_target) << name_of_target(one);
    else
      EXPECT_GE(one.reached_percent, level - allowed_for_a_target) << name_of_target(one);
  }
}

}  // namespace
}  // namespace weft::calibration::evidence
