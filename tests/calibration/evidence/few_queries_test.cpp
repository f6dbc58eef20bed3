#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/base/statistics.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace few_queries_test {

using nlohmann::json;

double predicted_us(const json& measured, Implementation implementation) {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  scenarios::AttentionKernelWorkload workload;
  workload.sequences = measured.at("sequences");
  workload.tokens = measured.at("queries").get<std::int64_t>() * workload.sequences;
  workload.prefix = measured.at("prefix");
  workload.heads = measured.at("heads");
  workload.kv_heads = measured.at("kv_heads");
  workload.head_dim = 128;
  scenarios::Case request{.id = "a", .gpus = 1, .workload = workload, .schedule = {}, .measured = {}};
  request.schedule.implementation = implementation;
  return scenarios::study::predict(request, machine, tests::simulator()).time_us;
}

// Two new tokens a sequence take PyTorch up to ten times as long as one, since heads share no blocks then; kernels that
// let them do not. Nothing is fitted to these times.
TEST(FewQueries, OfPyTorchShareNoBlocksAsItWasMeasured) {
  std::ifstream file(tests::source_folder() + "/calibration/peers/few_queries_h200.jsonl");
  std::vector<double> errors;
  for (std::string line; std::getline(file, line);) {
    const json measured = json::parse(line);
    if (!measured.contains("queries")) continue;
    const double time_us = predicted_us(measured, Implementation::pytorch);
    errors.push_back(std::abs(time_us / measured.at("flash_us").get<double>() - 1));
    if (measured.at("queries") == 2 && measured.at("sequences") > 1) {
      EXPECT_GT(time_us, 3 * predicted_us(measured, Implementation::weft)) << line;
    }
  }
  ASSERT_EQ(errors.size(), 60u);
  EXPECT_LT(median(errors), 0.06);
  EXPECT_LT(mean(errors), 0.16);
}

}  // namespace few_queries_test
}  // namespace weft::calibration::evidence
