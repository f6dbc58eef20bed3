// Kernels that follow each other in one graph, beside the same alone, as they were measured.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "models/base/text_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration {
namespace rows_of_kernels_test {

nlohmann::json runs_of(const std::string& file) {
  return nlohmann::json::parse(
      read_text_file(tests::source_folder() + "/calibration/measurements/rows-2026-12-01/" + file))["runs"];
}

double predicted_us(const Schedule& schedule) {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return tests::simulator().run(schedule, machine).time_us;
}

Schedule on_one_stream() {
  Schedule schedule;
  schedule.gpus = 1;
  schedule.streams.push_back({"main", 0});
  return schedule;
}

/// Of one kind, each has rows of a and of c of its own; of several kinds that take turns, those of a kind have the
/// same.
Schedule row_of_gemms(const nlohmann::json& run) {
  Schedule schedule = on_one_stream();
  const auto kinds = static_cast<std::int64_t>(run["kinds"].size());
  const std::int64_t gemms = run["gemms"], of_a_kind = kinds == 1 ? gemms : 1;
  std::vector<Gemm> turns;
  for (std::int64_t kind = 0; kind < kinds; ++kind) {
    const nlohmann::json& size = run["kinds"][static_cast<std::size_t>(kind)];
    const std::int64_t m = size[0], n = size[1], k = size[2];
    Gemm gemm;
    gemm.a = tests::add_buffer(schedule, "a" + std::to_string(kind), of_a_kind * m, k);
    gemm.b = tests::add_buffer(schedule, "b" + std::to_string(kind), n, k);
    gemm.c = tests::add_buffer(schedule, "c" + std::to_string(kind), of_a_kind * m, n);
    gemm.a.rows = gemm.c.rows = RowRange{0, m};
    turns.push_back(gemm);
  }
  for (std::int64_t i = 0; i < gemms; ++i) {
    Gemm gemm = turns[static_cast<std::size_t>(i % kinds)];
    if (kinds == 1) gemm.a.rows = gemm.c.rows = RowRange{i * std::int64_t{run["kinds"][0][0]}, run["kinds"][0][0]};
    schedule.operations.push_back({"gemm " + std::to_string(i), 0, {}, gemm});
  }
  return schedule;
}

Schedule row_of_copies(const nlohmann::json& run) {
  Schedule schedule = on_one_stream();
  const std::int64_t copies = run["copies"], rows = run["rows"];
  Copy copy;
  copy.source = tests::add_buffer(schedule, "from", copies * rows, run["of_columns"]);
  copy.destination = tests::add_buffer(schedule, "to", copies * rows, run["of_columns"]);
  copy.source.columns = copy.destination.columns = run["columns"];
  for (std::int64_t i = 0; i < copies; ++i) {
    copy.source.rows = copy.destination.rows = RowRange{i * rows, rows};
    schedule.operations.push_back({"copy " + std::to_string(i), 0, {}, copy});
  }
  return schedule;
}

/// Mean errors of predictions, by how many kernels there are in a row.
std::map<std::int64_t, double> mean_errors(const nlohmann::json& runs, const std::string& count,
                                           Schedule (*schedule_of)(const nlohmann::json&)) {
  std::map<std::int64_t, std::pair<double, int>> sums;
  for (const nlohmann::json& run : runs) {
    auto& [sum, number] = sums[run[count]];
    sum += predicted_us(schedule_of(run)) / run["time_us"].get<double>() - 1;
    ++number;
  }
  std::map<std::int64_t, double> means;
  for (const auto& [length, sum] : sums) means[length] = sum.first / sum.second;
  return means;
}

// GEMMs that are alone in their graph are 2.6 % too slow. With gaps as between kernels by which ranks meet, rows of 16
// are 13 % too slow.
TEST(RowsOfKernels, OfGemmsTakeAsLongAsMeasuredHoweverLong) {
  for (const auto& [gemms, error] : mean_errors(runs_of("gemms_h200.json"), "gemms", row_of_gemms))
    EXPECT_LT(std::abs(error), 0.045) << gemms;
}

TEST(RowsOfKernels, OfCopiesTakeAsLongAsMeasuredHoweverLong) {
  for (const auto& [copies, error] : mean_errors(runs_of("copies_h200.json"), "copies", row_of_copies))
    EXPECT_LT(std::abs(error), 0.1) << copies;
}

}  // namespace rows_of_kernels_test
}  // namespace weft::calibration
