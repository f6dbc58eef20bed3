#include "scenarios/likely_hybrids.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "models/cost/collective_model.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace likely_hybrids_test {

const SearchSpace space{.max_ctas = {8}, .gemm_sms = {60}};

std::vector<std::string> names_of(const std::vector<ScheduleChoice>& choices) {
  std::vector<std::string> names;
  for (const ScheduleChoice& choice : choices) names.push_back(describe(choice));
  return names;
}

auto traits_of(const ScheduleChoice& choice) {
  const auto& hybrid = std::get<Hybrid>(choice.family);
  return std::tuple(hybrid.trigger, hybrid.mover, hybrid.pieces, hybrid.sums == HybridSums::in_gemm);
}

TEST(LikelyHybrids, AreAllThatMakeSenseEachOnce) {
  for (const auto& [op, name] : NamesOf<PairOp>::names) {
    const PairWorkload pair{op, 4096, 4096, 4096};
    std::vector<std::string> likely = names_of(likely_hybrids(pair, 4, space, round_machine()));
    std::vector<std::string> all = names_of(hybrid_choices(pair, 4, space));
    std::sort(likely.begin(), likely.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(likely, all) << name;
  }
}

TEST(LikelyHybrids, BeginWithTheBestOfEveryKind) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 4096, 4096, 4096};
  const std::vector<ScheduleChoice> likely = likely_hybrids(pair, 4, space, round_machine());
  std::set<decltype(traits_of(likely.front()))> kinds;
  for (const ScheduleChoice& choice : likely) kinds.insert(traits_of(choice));
  std::set<decltype(traits_of(likely.front()))> first;
  for (std::size_t i = 0; i < kinds.size(); ++i) first.insert(traits_of(likely[i]));
  EXPECT_EQ(first.size(), kinds.size());
  const auto time_us = [&](const ScheduleChoice& choice) {
    return estimated_hybrid_us(pair, 4, choice, round_machine());
  };
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (const ScheduleChoice& other : likely)
      if (traits_of(other) == traits_of(likely[i])) {
        EXPECT_LE(time_us(likely[i]), time_us(other)) << describe(other);
      }
}

TEST(LikelyHybrids, ThatLookAlikeComeAfterThoseThatDiffer) {
  const PairWorkload pair{PairOp::all_gather_gemm, 4096, 4096, 4096};
  const std::vector<ScheduleChoice> likely = likely_hybrids(pair, 4, space, round_machine());
  const auto& last = std::get<Hybrid>(likely.back().family);
  EXPECT_TRUE(last.ahead || last.urgent || last.kernel_barrier) << describe(likely.back());
}

// Two chunks: the second transfer follows the second GEMM and the first transfer.
TEST(LikelyHybrids, EstimateOfChunksIsAPipelineOfTwoStages) {
  const Machine machine = round_machine();
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 4096, 4096, 4096};
  const CollectiveTiming collective =
      time_collective(machine, CollectiveKind::reduce_scatter, 4, Bytes{4096} * 4096 * 2 / 2, 0);
  const double transfer_us =
      (collective.latency_us + collective.transfer_us) * (1 + machine.collective_kernel.beside_gemm) +
      machine.latencies.fork_gap_us;
  const MatrixSize half{2048, 4096, 4096};
  const double sms = machine.gpu.sms();
  const double gemm_us =
      estimated_gemm_us(machine, half, choose_gemm_kernel(machine, half)) * sms / (sms - collective.ctas) +
      machine.latencies.join_gap_us;
  EXPECT_DOUBLE_EQ(estimated_hybrid_us(pair, 4, {Hybrid{.count = 2}, 0, Launch::graph}, machine),
                   std::max(2 * gemm_us, gemm_us + transfer_us) + transfer_us);
}

TEST(LikelyHybrids, ImbalancedRowsHaveAnEstimateToo) {
  const PairWorkload pair{.op = PairOp::all_to_all_gemm, .m = 4096, .n = 4096, .k = 4096, .imbalance = 1.37};
  for (const ScheduleChoice& choice : likely_hybrids(pair, 4, space, round_machine()))
    EXPECT_GT(estimated_hybrid_us(pair, 4, choice, round_machine()), 0) << describe(choice);
}

}  // namespace likely_hybrids_test
}  // namespace weft::scenarios
