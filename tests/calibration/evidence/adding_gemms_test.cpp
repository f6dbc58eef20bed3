// GEMMs that add to a matrix, beside the same that do not, as they were measured.
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
namespace adding_gemms_test {

/// As many GEMMs of m / gemms rows, one after the other, with a delay after each; the last `adding` of them add to
/// their rows of c. Of operands that are `sliced`, they take one of so many parts of k.
Schedule row_of_gemms(const nlohmann::json& run) {
  const std::int64_t m = run["m"], n = run["n"], k = run["k"], gemms = run["gemms"], adding = run["adding"];
  const std::int64_t slices = run.value("sliced", 1);
  const double delay_us = run.value("delay_us", 0.0);
  Schedule schedule;
  schedule.gpus = 1;
  const Slice a = tests::add_buffer(schedule, "a", m, slices * k), b = tests::add_buffer(schedule, "b", n, slices * k);
  const Slice c = tests::add_buffer(schedule, "c", m, n);
  schedule.streams.push_back({"main", 0});
  const std::int64_t rows = m / gemms;
  for (std::int64_t i = 0; i < gemms; ++i) {
    Gemm gemm;
    gemm.a = a, gemm.b = b, gemm.c = c;
    gemm.a.rows = gemm.c.rows = RowRange{i * rows, rows};
    if (slices > 1) {
      gemm.a.first_column = gemm.b.first_column = k;
      gemm.a.columns = gemm.b.columns = k;
    }
    if (i >= gemms - adding) gemm.addend = gemm.c;
    schedule.operations.push_back({"gemm " + std::to_string(i), 0, {}, gemm});
    if (delay_us > 0) schedule.operations.push_back({"delay " + std::to_string(i), 0, {}, Delay{delay_us}});
  }
  return schedule;
}

/// Mean and mean absolute error of how much longer rows take that add, predicted over measured.
struct Errors {
  double mean = 0, mean_absolute = 0;
};

Errors errors_on(const std::string& machine_name, const std::string& file) {
  const Machine machine = read_machine(machine_path(machine_name));
  const auto measured =
      nlohmann::json::parse(read_text_file(tests::source_folder() + "/calibration/measurements/" + file));
  std::map<std::string, double> plain;  // predicted over measured
  Errors errors;
  for (const nlohmann::json& run : measured["runs"]) {
    const double ratio = tests::simulator().run(row_of_gemms(run), machine).time_us / run["time_us"].get<double>();
    const std::string shape = run["m"].dump() + "x" + run["n"].dump() + "x" + run["k"].dump() + " by " +
                              run["gemms"].dump() + (run.contains("sliced") ? ", sliced" : "") +
                              (run.contains("delay_us") ? ", apart " + run["delay_us"].dump() : "");
    if (run["adding"] == 0) {
      plain[shape] = ratio;
      continue;
    }
    const double error = std::log(ratio / plain.at(shape));
    errors.mean += error / static_cast<double>(measured["runs"].size() / 2);
    errors.mean_absolute += std::abs(error) / static_cast<double>(measured["runs"].size() / 2);
  }
  return errors;
}

// Rows that add are 0.5 to 1 % too slow; without the time in which tiles wait for what they add to, 2 to 3 % too fast.
TEST(AddingGemms, TakeLongerThanOthersAsMeasured) {
  for (const char* gpu : {"h100", "h200"}) {
    const Errors errors =
        errors_on(std::string(gpu) + "x8-nvswitch", "gemms-2026-11-24/" + std::string(gpu) + "_adding.json");
    EXPECT_LT(std::abs(errors.mean), 0.01) << gpu;
    EXPECT_LT(errors.mean_absolute, 0.014) << gpu;
  }
}

// Small k, so that what is added to is most of the time: it is up to 2.2 times as long. Were nothing of it left to the
// next kernel, it would be longer.
TEST(AddingGemms, TakeLongerThanOthersAsMeasuredWhereTheMemoryDecides) {
  for (const char* file : {"h200_adding.json", "h200_apart.json"}) {
    const Errors errors = errors_on("h200x8-nvswitch", std::string("adding-2026-12-01/") + file);
    EXPECT_LT(std::abs(errors.mean), 0.02) << file;
    EXPECT_LT(errors.mean_absolute, 0.05) << file;
  }
}

}  // namespace adding_gemms_test
}  // namespace weft::calibration
