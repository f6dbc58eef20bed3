// Attention on the simulator beside PyTorch's on an H200.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/evidence/json_lines.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace attention_accuracy_test {

/// A graph with nothing but the attention of `tokens` after `prefix`.
Schedule alone(std::int64_t tokens, int heads, int kv_heads, int head_dim, std::int64_t prefix) {
  Schedule schedule;
  schedule.name = "attention";
  schedule.implementation = Implementation::pytorch;
  schedule.streams = {{.name = "s0"}};
  const std::int64_t columns = std::int64_t{heads + 2 * kv_heads} * head_dim;
  schedule.buffers = {{.name = "qkv", .rows = prefix + tokens, .columns = columns, .layout = {}},
                      {.name = "out", .rows = tokens, .columns = std::int64_t{heads} * head_dim, .layout = {}}};
  const Slice qkv{0, 0, RowRange{prefix, tokens}, 0, columns};
  const Slice out{1, 0, RowRange{0, tokens}, 0, std::int64_t{heads} * head_dim};
  schedule.operations = {
      {.name = "attention",
       .after = {},
       .work = Attention{
           .qkv = qkv, .output = out, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .prefix = prefix}}};
  return schedule;
}

TEST(AttentionAccuracy, StaysCloseToWhatWasMeasured) {
  const auto lines =
      open_lines(tests::source_folder() + "/calibration/measurements/attention-2026-11-21/attention.jsonl.gz", "times");
  Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  machine.condition.condition = Condition::after_pause;  // as these were measured
  std::vector<double> all, long_ones;
  for (std::string line; std::getline(*lines, line);) {
    const auto measured = nlohmann::json::parse(line);
    if (measured.value("op", "") != "attention") continue;
    const Schedule schedule = alone(measured.at("tokens"), measured.at("heads"), measured.at("kv_heads"),
                                    measured.at("head_dim"), measured.at("prefix"));
    const double predicted_us = sim::SimulatedExecutor().run(schedule, machine).time_us;
    const double time_us = measured.at("time_us");
    const double error = std::abs(predicted_us / time_us - 1);
    all.push_back(error);
    if (time_us >= 200) long_ones.push_back(error);
    EXPECT_LT(error, 0.45) << line << ": predicted " << predicted_us << " us";
  }
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };
  ASSERT_EQ(all.size(), 104u);
  EXPECT_LT(mean(all), 0.09);
  EXPECT_LT(mean(long_ones), 0.05);
}

}  // namespace attention_accuracy_test
}  // namespace weft::calibration::evidence
