#include "scenarios/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace search_test {

using testing::ElementsAre;

std::vector<std::string> ids(const std::vector<Case>& cases) {
  std::vector<std::string> result;
  for (const Case& request : cases) result.push_back(request.id);
  return result;
}

/// Ranks cases of the given names, the first of which is serial.
Ranking rank_times(const std::vector<std::pair<std::string, double>>& times, const Judge& judge = certain_odds,
                   Rule rule = Rule::least_regret) {
  std::vector<Case> cases;
  std::map<std::string, double> time_us(times.begin(), times.end());
  for (const auto& [name, time] : times) cases.emplace_back().id = name;
  return rank(
      cases,
      [&](const Case& request) {
        const double time = time_us.at(request.id);
        return Estimate{time, time, time};
      },
      judge, rule);
}

TEST(Candidates, ChunkCountsThatDoNotDivideAreSkipped) {
  const SearchSpace space{.chunks = {2, 3, 4}, .max_ctas = {}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "decomposition, chunks 2", "decomposition, chunks 4"));
}

TEST(Candidates, OverlapIsTriedWithEveryCtaLimit) {
  const SearchSpace space{.families = {{"decomposition"}}, .chunks = {2}, .max_ctas = {4, 8}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "decomposition, chunks 2", "decomposition, chunks 2, max_ctas 4",
                          "decomposition, chunks 2, max_ctas 8"));
}

TEST(Candidates, CollectivesOverPeerMemoryAreTriedWithTheirCtas) {
  const SearchSpace space{.families = {{"decomposition", "async_tp"}},
                          .chunks = {2},
                          .max_ctas = {},
                          .kernels = {{Collectives::two_shot, 8}}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "serial, max_ctas 8, collectives two_shot", "decomposition, chunks 2",
                          "decomposition, chunks 2, max_ctas 8, collectives two_shot"));
  EXPECT_THAT(ids(candidates(GemmWorkload{64, 32, 16}, 4, space)), ElementsAre("serial"));
}

TEST(Candidates, TheSwitchDoesAllCollectivesButAllToAll) {
  const SearchSpace space{
      .families = {{"decomposition"}}, .chunks = {2}, .max_ctas = {}, .kernels = {{Collectives::multimem, 8}}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "serial, max_ctas 8, collectives multimem", "decomposition, chunks 2",
                          "decomposition, chunks 2, max_ctas 8, collectives multimem"));
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "decomposition, chunks 2"));
}

TEST(KernelCollectives, AreThoseThatTheMachineHasNumbersOf) {
  const std::vector both{Collectives::two_shot, Collectives::multimem};
  const auto ways = [&](const char* machine) {
    std::set<Collectives> found;
    for (const auto& [by, ctas] : kernel_collectives(read_machine(machine_path(machine)), both)) found.insert(by);
    return found;
  };
  EXPECT_EQ(ways("h100x8-nvswitch"), std::set{Collectives::two_shot});
  EXPECT_EQ(ways("h100x8-nvswitch-nvls"), (std::set{Collectives::two_shot, Collectives::multimem}));
  EXPECT_TRUE(kernel_collectives(read_machine(machine_path("h100x8-nvswitch-nvls")), {}).empty());
}

TEST(Candidates, NcclOnSymmetricMemoryIsTriedWhereThePairsCollectiveIsOneOfIts) {
  const SearchSpace space{.families = {{"decomposition", "async_tp"}},
                          .chunks = {2},
                          .max_ctas = {},
                          .windows = {{Collectives::nccl_symmetric, CollectiveKind::all_gather},
                                      {Collectives::nccl_copy_engine, CollectiveKind::all_gather}}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 2, space)),
              ElementsAre("serial", "serial, collectives nccl_symmetric", "serial, collectives nccl_copy_engine",
                          "decomposition, chunks 2", "decomposition, chunks 2, collectives nccl_symmetric",
                          "decomposition, chunks 2, collectives nccl_copy_engine", "async_tp, input copied",
                          "async_tp, input symmetric"));
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 2, space)),
              ElementsAre("serial", "decomposition, chunks 2"));
}

TEST(Candidates, NoWindowHasRowsOfEachRanksOwnNumber) {
  const SearchSpace space{.families = {{"decomposition"}},
                          .chunks = {2},
                          .max_ctas = {},
                          .windows = {{Collectives::nccl_copy_engine, CollectiveKind::all_to_all}}};
  PairWorkload pair{PairOp::gemm_all_to_all, 64, 32, 16};
  EXPECT_EQ(candidates(pair, 2, space).size(), 4u);
  pair.imbalance = 1.5;
  EXPECT_THAT(ids(candidates(pair, 2, space)), ElementsAre("serial", "decomposition, chunks 2"));
}

TEST(WindowCollectives, AreThoseThatTheMachineHasCurvesOf) {
  using enum CollectiveKind;
  Machine machine;
  machine.symmetric_collectives = {
      {.kind = all_reduce, .gpus = 2, .transport = Transport::nccl_symmetric},
      {.kind = all_reduce, .gpus = 2, .max_ctas = 4, .transport = Transport::nccl_symmetric},
      {.kind = all_gather, .gpus = 2, .transport = Transport::nccl_copy_engine}};
  const std::vector ways{Collectives::nccl_symmetric, Collectives::nccl_copy_engine};
  EXPECT_EQ(window_collectives(machine, 2, ways),
            (std::vector<WindowCollective>{{Collectives::nccl_symmetric, all_reduce},
                                           {Collectives::nccl_copy_engine, all_gather}}));
  EXPECT_TRUE(window_collectives(machine, 4, ways).empty());
  EXPECT_TRUE(window_collectives(machine, 2, {}).empty());
}

TEST(Candidates, IndependentWorkIsTriedInBothOrders) {
  EXPECT_THAT(ids(candidates(ConcurrentPair{64, 32, 16, 64}, 4, {.max_ctas = {}})),
              ElementsAre("serial", "concurrent, first collective", "concurrent, first gemm"));
}

TEST(Candidates, WhatHasNothingToOverlapIsSerial) {
  EXPECT_THAT(ids(candidates(GemmWorkload{64, 32, 16}, 4)), ElementsAre("serial"));
  EXPECT_THAT(ids(candidates(CollectiveWorkload{CollectiveKind::all_gather, 64}, 4)), ElementsAre("serial"));
}

TEST(Candidates, AsyncTpIsTriedWithEveryInputThatTheOpHas) {
  const SearchSpace space{.families = {{"async_tp"}}};
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "async_tp, input copied", "async_tp, input symmetric"));
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4, space)),
              ElementsAre("serial", "async_tp, input copied", "async_tp, form rotating"));
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16}, 4, space)), ElementsAre("serial"));
}

TEST(Candidates, OfTwoGpusAsyncTpsSumsGoRoundUnlessItIsAskedForByName) {
  const auto forms = [](int gpus, const SearchSpace& space) {
    std::vector<std::string> found;
    for (const std::string& id : ids(candidates(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, gpus, space)))
      if (id.starts_with("async_tp")) found.push_back(id);
    return found;
  };
  EXPECT_THAT(forms(2, {}), ElementsAre("async_tp, form rotating"));
  EXPECT_THAT(forms(4, {}), ElementsAre("async_tp, input copied", "async_tp, form rotating"));
  EXPECT_THAT(forms(2, {.families = {{"async_tp"}}}), ElementsAre("async_tp, input copied", "async_tp, form rotating"));
}

TEST(Candidates, FiccoIsTriedWithTheChunksThatDivide) {
  const SearchSpace space{.max_ctas = {}};
  const auto with = [&](std::int64_t m, std::int64_t k) {
    return ids(candidates(PairWorkload{PairOp::all_to_all_gemm, m, 32, k}, 4, space));
  };
  EXPECT_EQ(with(64, 16).size(), 1u + 8u);
  EXPECT_THAT(with(4, 16),
              ElementsAre("serial", "ficco, uniform fused 2d copy_engine", "ficco, uniform unfused 2d copy_engine",
                          "ficco, hetero fused 2d copy_engine", "ficco, hetero unfused 2d copy_engine"));
  EXPECT_THAT(with(64, 15), testing::Each(testing::Not(testing::HasSubstr("2d"))));
  EXPECT_THAT(with(63, 16), ElementsAre("serial"));
}

TEST(Candidates, GroupsAreSearchedWhereTheResultHasWholeTilesForEveryRank) {
  const SearchSpace space{.families = {{"signaling"}}, .max_ctas = {8}};
  const auto of = [&](PairOp op, std::int64_t m, int gpus) {
    return ids(candidates(PairWorkload{op, m, 256, 16}, gpus, space)).size();
  };
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_reduce_scatter, 256, 256, 16}, 4, space)),
              ElementsAre("serial", "signaling, groups searched", "signaling, groups searched, max_ctas 8"));
  EXPECT_EQ(of(PairOp::gemm_all_reduce, 384, 3), 3u);
  EXPECT_EQ(of(PairOp::gemm_reduce_scatter, 384, 3), 1u);
  EXPECT_EQ(of(PairOp::gemm_all_reduce, 300, 3), 1u);
}

TEST(Candidates, LayersAreSplitOrOverlapInsideOfTheirPairs) {
  LayerWorkload layer{.tokens = 64, .hidden = 32, .heads = 4, .kv_heads = 4, .head_dim = 8, .intermediate = 32};
  const SearchSpace space{.max_ctas = {}};
  EXPECT_THAT(ids(candidates(layer, 4, space)),
              ElementsAre("serial", "decomposition, chunks 2", "decomposition, chunks 4", "decomposition, chunks 8",
                          "token_split, first searched, comm_ctas 8"));
  EXPECT_THAT(ids(candidates(layer, 1, space)), ElementsAre("serial"));
  EXPECT_THAT(ids(candidates(layer, 4, {.max_ctas = {}, .fused_norm_ctas = {2, 4}})),
              testing::IsSupersetOf({"serial", "token_split, first searched, comm_ctas 8",
                                     "token_split, first searched, comm_ctas 2, fused norm",
                                     "token_split, first searched, comm_ctas 4, fused norm"}));
  layer.sequence_parallel = true;
  EXPECT_THAT(ids(candidates(layer, 4, space)),
              ElementsAre("serial", "decomposition, chunks 2", "decomposition, chunks 4", "decomposition, chunks 8",
                          "async_tp, input copied", "async_tp, input symmetric"));
  layer.sequence_parallel = false;
  layer.tokens = layer.hidden = 256;
  EXPECT_THAT(ids(candidates(layer, 4, space)), testing::Contains("signaling, groups searched"));
}

TEST(Candidates, AttentionIsStagedWithEachExchange) {
  const SearchSpace space{.stages = {2, 64}, .max_ctas = {}};
  EXPECT_THAT(ids(candidates(AttentionWorkload{64, 4, 2, 8}, 4, space)),
              ElementsAre("serial", "staged, stages searched", "staged, stages 2",
                          "staged, stages searched, queries travel", "staged, stages 2, queries travel"));
}

TEST(Candidates, OnlyCollectivesAreTriedWithEveryCtaLimit) {
  const SearchSpace space{.families = {{"async_tp", "signaling", "ficco"}}, .max_ctas = {8}};
  for (const Case& request : candidates(PairWorkload{PairOp::all_gather_gemm, 512, 128, 16}, 4, space))
    EXPECT_EQ(request.schedule.max_ctas > 0, request.id.find("collective, max_ctas") != std::string::npos);
}

TEST(Candidates, HybridsAreOneLaunchWhereTheMachineRunsItAndByTileGroupsElsewhere) {
  for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all})
    for (const bool own_launches : {false, true}) {
      const auto hybrids = sensible_hybrids({op, 4096, 2048, 1024}, 4, {.own_launches = own_launches});
      const auto begins_by = [&](HybridTrigger trigger) {
        return std::ranges::any_of(hybrids, [&](const Hybrid& hybrid) { return hybrid.trigger == trigger; });
      };
      EXPECT_EQ(begins_by(HybridTrigger::one_launch), own_launches);
      EXPECT_EQ(begins_by(HybridTrigger::tile_group), !own_launches);
      EXPECT_TRUE(begins_by(HybridTrigger::kernel_end));
    }
}

TEST(Candidates, AllCanBeBuilt) {
  for (const auto& [op, name] : NamesOf<PairOp>::names)
    for (const std::int64_t m : {1, 3, 6, 9, 18, 64})
      for (const std::int64_t k : {5, 9})
        for (const Case& request : candidates(PairWorkload{op, m, 7, k}, 3)) {
          if (request.id == "serial") continue;
          EXPECT_EQ(build_error(request.workload, 3, request.schedule.family), "") << request.id;
        }
}

TEST(Candidates, FamiliesThatAreNotAskedForAreLeftOut) {
  EXPECT_THAT(ids(candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, {.families = {{"signaling"}}})),
              ElementsAre("serial"));
}

TEST(Candidates, LaunchIsTheOneAskedFor) {
  for (const Case& request :
       candidates(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, {.launch = Launch::eager}))
    EXPECT_EQ(request.schedule.launch, Launch::eager);
}

TEST(Ranking, OrdersByTimeAndKeepsTheOrderOfEquals) {
  const Ranking ranking = rank_times({{"serial", 100}, {"b", 120}, {"c", 80}, {"d", 80}});
  EXPECT_EQ(ranking.fastest_first[0].request.id, "c");
  EXPECT_EQ(ranking.fastest_first[1].request.id, "d");
  EXPECT_EQ(ranking.reference().request.id, "serial");
  EXPECT_EQ(ranking.serial, 2u);
}

TEST(Ranking, KnowsWhetherAnyScheduleOverlaps) {
  std::vector<Case> cases(2);  // serial, and serial by other collectives
  const auto estimate = [](const Case&) { return Estimate{1, 1, 1}; };
  EXPECT_FALSE(rank(cases, estimate).may_overlap());
  cases.emplace_back().schedule.family = Decomposition{2};
  EXPECT_TRUE(rank(cases, estimate).may_overlap());
}

TEST(Ranking, SpeedupIsOverSerial) {
  EXPECT_DOUBLE_EQ(rank_times({{"serial", 100}, {"c", 80}}).fastest().speedup, 100.0 / 80);
}

// Half a percent buys no chunks and no signals.
TEST(Ranking, FasterCollectivesOfSerialAreAdvisedWhereOverlapAddsNextToNothing) {
  const auto advice = [](double overlapped_us) {
    std::vector<Case> cases(3);
    cases[1].id = "faster collectives";
    cases[2].id = "chunks";
    cases[2].schedule.family = Decomposition{2};
    return rank(cases,
                [&](const Case& request) {
                  const double time_us = request.id == "chunks" ? overlapped_us : request.id.empty() ? 100 : 80;
                  return Estimate{time_us, time_us, time_us};
                })
        .advice()
        .request.id;
  };
  EXPECT_EQ(advice(79.6), "faster collectives");
  EXPECT_EQ(advice(79.4), "chunks");
}

/// Odds of the candidates by name.
Judge judge_with(const std::map<std::string, Odds>& odds) {
  return [odds](const Candidate& candidate, double serial_us) {
    EXPECT_EQ(serial_us, 100);
    EXPECT_EQ(candidate.speedup, 100 / candidate.estimate.time_us);
    return odds.at(candidate.request.id);
  };
}

TEST(Ranking, CertainPredictionsAdviseTheFastest) {
  const Ranking ranking = rank_times({{"serial", 100}, {"b", 90}, {"c", 80}});
  EXPECT_TRUE(ranking.overlap_pays());
  EXPECT_EQ(ranking.advice().request.id, "c");
  EXPECT_DOUBLE_EQ(ranking.advice().odds.gain, 0.2);
  EXPECT_DOUBLE_EQ(ranking.saved_us(), 20);
}

TEST(Ranking, TheLeastExpectedTimeIsAdvisedAndNotTheFastestPredicted) {
  const Ranking ranking =
      rank_times({{"serial", 100}, {"b", 90}, {"c", 80}}, judge_with({{"b", {.9, .10, .02}}, {"c", {.8, .08, -.1}}}));
  EXPECT_EQ(ranking.fastest().request.id, "c");
  EXPECT_EQ(ranking.advice().request.id, "b");
  EXPECT_DOUBLE_EQ(ranking.saved_us(), 10);
}

TEST(Ranking, CarefulAdviceHasTheBestOfTheWorstCases) {
  const Judge judge = judge_with({{"b", {.7, .03, .01}}, {"c", {.9, .2, -.01}}});
  EXPECT_EQ(rank_times({{"serial", 100}, {"b", 90}, {"c", 80}}, judge).advice().request.id, "c");
  EXPECT_EQ(rank_times({{"serial", 100}, {"b", 90}, {"c", 80}}, judge, Rule::careful).advice().request.id, "b");
}

TEST(Ranking, AnExpectedLossStaysWithSerial) {
  const Ranking ranking = rank_times({{"serial", 100}, {"c", 95}}, judge_with({{"c", {.4, -.01, -.1}}}));
  EXPECT_FALSE(ranking.overlap_pays());
  EXPECT_EQ(ranking.advice().request.id, "serial");
  EXPECT_DOUBLE_EQ(ranking.saved_us(), 0);
}

TEST(Ranking, WhatIsPredictedSlowerIsNotAdvisedHoweverMuchPastErrorsPromise) {
  const Ranking ranking = rank_times({{"serial", 100}, {"c", 103}}, judge_with({{"c", {.5, .01, -.1}}}));
  EXPECT_FALSE(ranking.overlap_pays());
}

TEST(Crossover, IsTheSizeFromWhichOnOverlapAlwaysPays) {
  EXPECT_EQ(crossover({{256, false}, {512, true}, {1024, false}, {2048, true}, {4096, true}}), 2048);
}

TEST(Crossover, DoesNotDependOnTheOrder) { EXPECT_EQ(crossover({{4096, true}, {256, false}, {2048, true}}), 2048); }

TEST(Crossover, IsTheSmallestSizeWhereOverlapAlwaysPays) { EXPECT_EQ(crossover({{256, true}, {512, true}}), 256); }

TEST(Crossover, IsNowhereWhereTheLargestSizeDoesNotPay) {
  EXPECT_EQ(crossover({{256, true}, {512, false}}), std::nullopt);
  EXPECT_EQ(crossover({}), std::nullopt);
}

TEST(Rank, WhatTheGpusCannotReachComesLastAndIsNeverAdvised) {
  std::vector<Case> cases(3);
  cases[0].id = "serial", cases[1].id = "pulls", cases[2].id = "chunks";
  const auto ranked = [&](double chunks_us) {
    const std::map<std::string, double> time_us{{"serial", 10}, {"pulls", 5}, {"chunks", chunks_us}};
    return rank(cases, [&](const Case& one) {
      return Estimate{.time_us = time_us.at(one.id), .is_out_of_reach = one.id == "pulls"};
    });
  };
  EXPECT_EQ(ranked(8).fastest().request.id, "chunks");
  EXPECT_EQ(ranked(8).fastest_first.back().request.id, "pulls");
  EXPECT_EQ(ranked(8).fastest_first.back().why_not, WhyNot::needs_peer_access);
  EXPECT_EQ(ranked(8).advice().request.id, "chunks");
  EXPECT_EQ(ranked(11).advice().request.id, "serial");
}

TEST(Rank, WhatIsAssumedIsAdvisedOnlyWhereEverythingIs) {
  const auto ranked = [](const std::string& known) {
    std::vector<Case> cases(3);
    cases[0].id = "serial", cases[1].id = "assumed", cases[2].id = "published";
    const std::map<std::string, double> time_us{{"serial", 10}, {"assumed", 5}, {"published", 8}};
    return rank(cases, [&](const Case& one) {
      const double time = time_us.at(one.id);
      return Estimate{time, time, time, known.find(one.id) == std::string::npos};
    });
  };
  const Ranking some = ranked("serial, published");
  EXPECT_EQ(some.fastest().request.id, "assumed");
  EXPECT_EQ(some.fastest().why_not, WhyNot::assumed);
  EXPECT_EQ(some.advice().request.id, "published");
  EXPECT_EQ(ranked("serial").advice().request.id, "serial");
  EXPECT_EQ(ranked("").advice().request.id, "assumed");
  EXPECT_EQ(ranked("published").advice().request.id, "published");
}

}  // namespace search_test
}  // namespace weft::scenarios
