// Several GEMMs and nothing else, on the simulator beside an H200 under load.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace gemm_chains_test {

/// `gemms` of them, one after the other: the same B and parts of one A and one C, or operands of their own.
Schedule chain(const MatrixSize& size, int gemms, bool are_chunks) {
  Schedule schedule;
  schedule.name = "chain";
  schedule.gpus = 1;
  schedule.streams = {{.name = "s0"}};
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    schedule.buffers.push_back({.name = name, .rows = rows, .columns = columns, .layout = {}});
    return static_cast<BufferId>(schedule.buffers.size()) - 1;
  };
  BufferId a = 0, b = 0, c = 0;
  for (int i = 0; i < gemms; ++i) {
    const std::string number = std::to_string(i);
    if (i == 0 || !are_chunks) {
      const std::int64_t rows = are_chunks ? gemms * size.m : size.m;
      a = add("A" + number, rows, size.k), b = add("B" + number, size.n, size.k), c = add("C" + number, rows, size.n);
    }
    const RowRange rows{are_chunks ? i * size.m : 0, size.m};
    schedule.operations.push_back(
        {.name = "gemm " + number,
         .after = {},
         .work = Gemm{
             .a = {a, 0, rows, 0, size.k}, .b = {b, 0, RowRange{0, size.n}, 0, size.k}, .c = {c, 0, rows, 0, size.n}}});
  }
  return schedule;
}

TEST(GemmChains, TakeAsLongAsWasMeasured) {
  std::ifstream lines(tests::source_folder() + "/calibration/measurements/gemm-chains-2026-11-29/h200.csv");
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  std::map<std::string, std::vector<double>> errors;
  std::string line, kind;
  std::getline(lines, line);  // of names
  while (std::getline(lines, kind, ',')) {
    MatrixSize size;
    int gemms = 0;
    double time_us = 0;
    char comma = 0;
    lines >> size.m >> comma >> size.n >> comma >> size.k >> comma >> gemms >> comma >> time_us;
    std::getline(lines, line);
    const Schedule schedule = chain(size, gemms, kind == "chunks");
    errors[kind].push_back(sim::SimulatedExecutor().run(schedule, machine).time_us / time_us - 1);
  }
  ASSERT_EQ(errors.size(), 3u);
  for (const auto& [of_kind, all] : errors) {
    double sum = 0;
    for (const double error : all) sum += std::abs(error);
    EXPECT_EQ(all.size(), 20u) << of_kind;
    EXPECT_LT(sum / static_cast<double>(all.size()), 0.03) << of_kind;
  }
}

}  // namespace gemm_chains_test
}  // namespace weft::calibration::evidence
