#include "calibration/evidence/layer_kernel_fit.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "calibration/evidence/calibration_plan.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace layer_kernel_fit_test {

using fitting::FittedNumber;
using scenarios::RowKernel, scenarios::RowKernelWorkload;

Machine h200() { return read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json"); }

/// The kernels that a plan has, as a machine would run them at this clock.
std::vector<Load> loads_on(const Machine& machine, double clock_MHz) {
  std::vector<Load> loads;
  for (const PlanFile& file : calibration_plan(1, {1, 2}))
    if (file.name == "layer_kernels" || file.name == "norms_2gpu")
      for (scenarios::Case request : file.cases) {
        request.condition.fixed_clock_MHz = clock_MHz;
        const Trace trace = scenarios::study::predict(request, machine, tests::simulator()).trace;
        loads.push_back({request, trace.time_us, trace.power_W, clock_MHz / machine.gpu.max_clock_MHz});
      }
  return loads;
}

TEST(LayerKernelFit, FindsTheNumbersOfTheMachineThatRanThem) {
  const std::pair<const char*, const char*> numbers[] = {{"own_attention.heads_of_128", "efficiency"},
                                                         {"own_attention.heads_of_128", "start"},
                                                         {"own_attention.heads_of_64", "efficiency"},
                                                         {"own_attention.heads_of_64", "start"},
                                                         {"own_attention.decode", "hbm_share"},
                                                         {"power", "attention_energy"},
                                                         {"power", "attention_energy_64"},
                                                         {"own_rows", "hbm_share"},
                                                         {"reordering", "norm_tiles"},
                                                         {"reordering", "norm_sub_tiles"},
                                                         {"reordering", "norm_rows"}};
  Machine truth = h200();
  for (const auto& [section, key] : numbers) number_of(truth, section, key) *= 0.8;
  std::set<std::pair<std::string, std::string>> found;
  for (const FittedNumber& one : fit_layer_kernels(h200(), loads_on(truth, 1500))) {
    const double was = number_of(truth, one.section, one.key);
    EXPECT_NEAR(one.value, was, 0.02 * was + 0.003) << one.section << '.' << one.key;
    found.insert({one.section, one.key});
  }
  for (const auto& [section, key] : numbers) EXPECT_TRUE(found.contains({section, key})) << section << '.' << key;
}

TEST(LayerKernelFit, FindsAllOfRowsWhereManyOfAnySizeTell) {
  const char* numbers[] = {
      "activation_sm_bandwidth", "norm_sm_bandwidth", "hbm_share", "start", "norm_start", "norm_columns"};
  Machine truth = h200();
  for (const char* key : numbers) number_of(truth, "own_rows", key) *= 0.8;
  std::vector<Load> loads;
  for (std::int64_t i = 0; i < 300; ++i) {
    const RowKernelWorkload rows{.kernel = i % 2 == 0 ? RowKernel::add_rms_norm : RowKernel::swiglu,
                                 .m = 1 + (i * i * 7) % 8000,
                                 .n = 256 * (1 + i % 40)};
    scenarios::Case request{"rows", 1, rows, {scenarios::Serial{}, 0, {}}, {}};
    request.condition.fixed_clock_MHz = 1900;
    const Trace trace = scenarios::study::predict(request, truth, tests::simulator()).trace;
    loads.push_back({request, trace.time_us, trace.power_W, 1900 / truth.gpu.max_clock_MHz});
  }
  std::set<std::string> found;
  for (const FittedNumber& one : fit_layer_kernels(h200(), loads)) {
    const double was = number_of(truth, one.section, one.key);
    EXPECT_NEAR(one.value, was, 0.03 * was) << one.key;
    found.insert(one.key);
  }
  for (const char* key : numbers) EXPECT_TRUE(found.contains(key)) << key;
}

TEST(LayerKernelFit, FindsAllOfDecoding) {
  const std::string decode = "own_attention.decode";
  const std::pair<std::string, const char*> numbers[] = {{decode + ".up_to_8", "start"},
                                                         {decode + ".up_to_8", "item"},
                                                         {decode + ".up_to_8", "merge"},
                                                         {decode + ".up_to_16", "start"},
                                                         {decode + ".up_to_16", "item"},
                                                         {decode + ".up_to_16", "merge"},
                                                         {decode, "tile_64"},
                                                         {decode, "tile_128"},
                                                         {decode, "group"},
                                                         {decode, "hbm_share"},
                                                         {"power", "decode_energy"}};
  Machine truth = h200();
  for (const auto& [section, key] : numbers) number_of(truth, section, key) *= 0.9;
  std::vector<Load> loads;
  for (int i = 0; i < 120; ++i) {
    const int sequences = 1 + i * i % 90, kv_heads = 1 << i % 3, sharing = i % 2 == 0 ? 4 : 16;
    const scenarios::AttentionKernelWorkload attention{
        .tokens = sequences,
        .heads = kv_heads * sharing,
        .kv_heads = kv_heads,
        .head_dim = i % 5 < 2 ? 64 : 128,
        .sequences = sequences,
        .prefix = i % 7 == 0 ? 1'000'000 / sequences : 100 + i * 317 % 4000};
    scenarios::Case request{"decode", 1, attention, {scenarios::Serial{}, 0, {}}, {}};
    request.condition.fixed_clock_MHz = 1900;
    const Trace trace = scenarios::study::predict(request, truth, tests::simulator()).trace;
    loads.push_back({request, trace.time_us, trace.power_W, 1900 / truth.gpu.max_clock_MHz});
  }
  std::set<std::pair<std::string, std::string>> found;
  for (const FittedNumber& one : fit_layer_kernels(h200(), loads)) {
    const double was = number_of(truth, one.section, one.key);
    const double tolerance = one.section == "power" ? 0.1 : 0.05;  // what is left beside HBM's power
    EXPECT_NEAR(one.value, was, tolerance * was) << one.section << '.' << one.key;
    found.insert({one.section, one.key});
  }
  for (const auto& [section, key] : numbers) EXPECT_TRUE(found.contains({section, key})) << section << '.' << key;
}

TEST(LayerKernelFit, LeavesWhatTooFewTell) {
  std::vector<Load> loads = loads_on(h200(), 1500);
  loads.resize(fewest_loads - 1);
  EXPECT_TRUE(fit_layer_kernels(h200(), loads).empty());
}

}  // namespace layer_kernel_fit_test
}  // namespace weft::calibration::evidence
