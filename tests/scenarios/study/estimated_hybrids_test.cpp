// The estimate that ranks hybrids, beside the simulator that knows better: how far it is off, and whether what it puts
// first is worth the simulation. The bounds are what was found, rounded up; a better estimate lowers them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/likely_hybrids.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/scenarios/built_by_model.hpp"

namespace weft::scenarios::study {
namespace estimated_hybrids_test {

constexpr int gpus = 4;

/// Times of all hybrids of a pair, in the order of likely_hybrids().
struct Times {
  std::vector<double> estimated_us, simulated_us;
};

Times times_of(const PairWorkload& pair, const Machine& machine) {
  Times times;
  sim::SimulatedExecutor executor(sim::times_only);
  for (const ScheduleChoice& hybrid :
       likely_hybrids(pair, gpus, {.chunks = {2, 4}, .max_ctas = {8}, .gemm_sms = {}}, machine)) {
    const Case request{.id = "a", .gpus = gpus, .workload = pair, .schedule = hybrid, .measured = {}};
    times.estimated_us.push_back(estimated_hybrid_us(pair, gpus, hybrid, machine));
    times.simulated_us.push_back(executor.run(built_by_model(request, machine), machine).time_us);
  }
  return times;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

/// Spearman's: 1 where both put all in the same order, 0 where one says nothing about the other.
double rank_correlation(const Times& times) {
  const std::vector<double> a = ranks_of(times.estimated_us), b = ranks_of(times.simulated_us);
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  const auto n = static_cast<double>(a.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

double mean_error(const Times& times) {
  double sum = 0;
  for (std::size_t i = 0; i < times.estimated_us.size(); ++i)
    sum += std::abs(times.estimated_us[i] / times.simulated_us[i] - 1);
  return sum / static_cast<double>(times.estimated_us.size());
}

/// By how much the fastest of the first `count` is slower than the fastest of all.
double regret_of_first(const Times& times, std::ptrdiff_t count) {
  const auto first = times.simulated_us.begin();
  return *std::min_element(first, first + count) / *std::min_element(first, times.simulated_us.end()) - 1;
}

/// What was found with 216 or 224 hybrids of each of six pairs: of three operations, with 2048 and 8192 rows.
struct Row {
  std::string profile;
  double correlation, error;           ///< means over the pairs
  double largest_regret, mean_regret;  ///< of the first 16
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.profile; }
};

class EstimatedHybrids : public testing::TestWithParam<Row> {};

TEST_P(EstimatedHybrids, ComeCloseToSimulatedOnes) {
  const Machine machine = read_machine(machine_path(GetParam().profile));
  double correlation = 0, error = 0, regret = 0, largest_regret = 0;
  constexpr int pairs = 6;
  for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::all_gather_gemm})
    for (const std::int64_t m : {2048, 8192}) {
      const Times times = times_of({op, m, 4096, 4096}, machine);
      ASSERT_GT(times.simulated_us.size(), 200);
      correlation += rank_correlation(times) / pairs;
      error += mean_error(times) / pairs;
      const double one = regret_of_first(times, 16);
      regret += one / pairs;
      largest_regret = std::max(largest_regret, one);
    }
  EXPECT_GT(correlation, GetParam().correlation);
  EXPECT_LT(error, GetParam().error);
  EXPECT_LT(regret, GetParam().mean_regret);
  EXPECT_LT(largest_regret, GetParam().largest_regret);
}

INSTANTIATE_TEST_SUITE_P(On, EstimatedHybrids,
                         testing::Values(Row{"h200x8-nvswitch", 0.3, 0.19, 0.11, 0.03},
                                         Row{"mi300x8-mesh", 0.6, 0.26, 0.025, 0.006}),
                         [](const testing::TestParamInfo<Row>& row) {
                           return row.param.profile.substr(0, row.param.profile.find('x'));
                         });

}  // namespace estimated_hybrids_test
}  // namespace weft::scenarios::study
