#include "scenarios/case_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"

namespace weft::scenarios {
namespace case_json_test {

using nlohmann::json;

const json gemm_case = json::parse(R"({"id": "a", "gpus": 4, "workload": {"op": "gemm", "m": 8, "n": 16, "k": 32}})");
const json pair_case = json::parse(
    R"({"id": "a", "gpus": 4, "workload": {"op": "gemm+all_reduce", "m": 8, "n": 16, "k": 32, "dtype": "bf16"},
        "schedule": {"family": "decomposition", "chunks": 2}})");

/// The complaint about `base` with the value at `pointer` ("/workload/m") replaced.
std::string error_with(json base, const std::string& pointer, const json& value) {
  base[json::json_pointer(pointer)] = value;
  return error_of([&] { case_from_json(base); });
}

std::string error_without(json base, const std::string& parent, const std::string& key) {
  base[json::json_pointer(parent)].erase(key);
  return error_of([&] { case_from_json(base); });
}

TEST(CaseJson, LeftOutScheduleIsSerialInAGraphWithTheLibrarysCtas) {
  const Case read = case_from_json(gemm_case);
  EXPECT_EQ(read.workload, Workload(GemmWorkload{8, 16, 32, DataType::bf16}));
  EXPECT_EQ(read.schedule, (ScheduleChoice{Serial{}, 0, Launch::graph}));
  EXPECT_EQ(read.measured, Measured{});
}

TEST(CaseJson, ReadsTheExampleOfTheContract) {
  const Case read = case_from_json(json::parse(R"({"id": "a1", "gpus": 8,
      "workload": {"op": "gemm+all_to_all", "m": 8192, "n": 4096, "k": 1024, "dtype": "fp8", "imbalance": 1.5},
      "schedule": {"family": "decomposition", "chunks": 4, "max_ctas": 8, "launch": "eager"},
      "measured": {"gemm_us": 812.0, "collective_us": 355.5}})"));
  EXPECT_EQ(read, (Case{.id = "a1",
                        .gpus = 8,
                        .workload = PairWorkload{PairOp::gemm_all_to_all, 8192, 4096, 1024, DataType::fp8, 1.5},
                        .schedule = {Decomposition{4}, 8, Launch::eager},
                        .measured = {812.0, 355.5}}));
}

TEST(CaseJson, ReadsTheConditionOfTheRun) {
  json asked = gemm_case;
  EXPECT_EQ(case_from_json(asked).condition, RunCondition{});
  asked["condition"] = "short";
  EXPECT_EQ(case_from_json(asked).condition, RunCondition{Condition::after_pause});
  EXPECT_EQ(to_json(case_from_json(asked))["condition"], "short");
  asked["condition"] = {{"clock_MHz", 1700}};
  EXPECT_EQ(case_from_json(asked).condition, (RunCondition{Condition::sustained, 1700}));
  EXPECT_EQ(case_from_json(to_json(case_from_json(asked))), case_from_json(asked));
  asked["condition"] = {{"mix_clock_MHz", 1700}};
  EXPECT_EQ(case_from_json(asked).condition, (RunCondition{Condition::sustained, 1700, /*is_of_mix=*/true}));
  EXPECT_EQ(case_from_json(to_json(case_from_json(asked))), case_from_json(asked));
  asked["condition"] = {{"mix_clock_MHz", 1700}, {"library_on_branch", true}};
  EXPECT_TRUE(case_from_json(asked).condition.library_on_branch);
  EXPECT_FALSE(case_from_json(asked).condition.late_kernels);
  EXPECT_EQ(case_from_json(to_json(case_from_json(asked))), case_from_json(asked));
  asked["condition"] = {{"mix_clock_MHz", 1700}, {"late_kernels", true}};
  EXPECT_TRUE(case_from_json(asked).condition.late_kernels);
  EXPECT_EQ(case_from_json(to_json(case_from_json(asked))), case_from_json(asked));
  asked["condition"] = "sustained";
  EXPECT_FALSE(to_json(case_from_json(asked)).contains("condition"));
}

TEST(CaseJson, RefusesOtherConditions) {
  EXPECT_EQ(error_with(gemm_case, "/condition", "long"), "condition: expected one of sustained, short, got \"long\"");
  EXPECT_EQ(error_with(gemm_case, "/condition", {{"clock_MHz", 0}}),
            "condition.clock_MHz: expected a number from 100.0 to 10000.0, got 0");
  EXPECT_EQ(error_with(gemm_case, "/condition", {{"MHz", 1700}}),
            "condition.clock_MHz: expected this key, it is missing");
  EXPECT_NE(error_with(gemm_case, "/condition", {{"clock_MHz", 1700}, {"library_on_branch", true}}), "");
}

TEST(CaseJson, ReadsHowAnIterationIsTimed) {
  json asked = gemm_case;
  asked["timing"] = "back_to_back";
  EXPECT_EQ(case_from_json(asked), case_from_json(gemm_case));
  EXPECT_FALSE(to_json(case_from_json(asked)).contains("timing"));
  asked["timing"] = {{"added_us", 7.5}, {"l2", "flushed"}};
  EXPECT_EQ(case_from_json(asked).condition.timing, (Timing{7.5, L2Before::flushed}));
  EXPECT_EQ(json(to_json(case_from_json(asked))["timing"]), asked["timing"]);
  EXPECT_FALSE(to_json(case_from_json(asked)).contains("condition"));
  asked["condition"] = "short";
  EXPECT_EQ(case_from_json(to_json(case_from_json(asked))), case_from_json(asked));
}

TEST(CaseJson, RefusesOtherTimings) {
  EXPECT_EQ(error_with(gemm_case, "/timing", "alone"),
            "timing: expected back_to_back, or an object of added_us and l2, got \"alone\"");
  EXPECT_EQ(error_with(gemm_case, "/timing", {{"added_us", -1}}),
            "timing.added_us: expected a number from 0.0 to 1000000.0, got -1");
  EXPECT_EQ(error_with(gemm_case, "/timing", {{"l2", "warm"}}),
            "timing.l2: expected one of kept, flushed, cold, got \"warm\"");
}

TEST(CaseJson, EveryOpSurvivesWritingAndReading) {
  std::vector<Workload> workloads{
      GemmWorkload{8, 16, 32, DataType::fp8},   CopyWorkload{64, CopyPattern::one_peer},
      CopyWorkload{64, CopyPattern::all_peers}, ConcurrentPair{8, 16, 32, 64, DataType::bf16},
      LayerWorkload{128, 64, 8, 4, 16, 256},    LayerWorkload{128, 64, 8, 4, 16, 256, DataType::bf16, true, 8, 2}};
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) workloads.push_back(CollectiveWorkload{kind, 1024});
  for (const auto& [op, name] : NamesOf<PairOp>::names) workloads.push_back(PairWorkload{op, 8, 16, 32});
  for (const auto& [mask, name] : NamesOf<AttentionMask>::names)
    workloads.push_back(AttentionWorkload{64, 8, 4, 16, mask});
  workloads.push_back(PairWorkload{PairOp::all_to_all_gemm, 8, 16, 32, DataType::bf16, 1.25});
  for (const Workload& workload : workloads) {
    const Case written{.id = "x", .gpus = 4, .workload = workload, .schedule = {}, .measured = {}};
    EXPECT_EQ(case_from_json(to_json(written)), written) << to_json(written).dump();
  }
}

TEST(CaseJson, EveryFamilySurvivesWritingAndReading) {
  const std::vector<Family> families{
      Serial{},
      Decomposition{4},
      AsyncTp{AsyncInput::symmetric},
      Concurrent{FirstLaunched::gemm},
      Signaling{},
      Signaling{{2, 3, 3}},
      Ficco{FiccoCompute::hetero, FiccoGemm::unfused, FiccoChunks::rows_and_columns, FiccoTransport::collective},
      TokenSplit{{}, true, 4},
      TokenSplit{2048, false, 16},
      Staged{},
      Staged{3, AttentionExchange::queries, false, 8},
      Best{}};
  for (const Family& family : families) {
    const Case written{.id = "x",
                       .gpus = 4,
                       .workload = PairWorkload{PairOp::gemm_reduce_scatter, 8, 16, 32},
                       .schedule = {family, 8, Launch::eager},
                       .measured = {{}, 3.5}};
    EXPECT_EQ(case_from_json(to_json(written)), written) << to_json(written).dump();
  }
}

TEST(CaseJson, UnknownKeysAreErrorsAtEveryLevel) {
  EXPECT_NE(error_with(pair_case, "/color", 1).find("color: "), std::string::npos);
  EXPECT_NE(error_with(pair_case, "/workload/p", 1).find("workload.p: "), std::string::npos);
  EXPECT_NE(error_with(pair_case, "/schedule/groups", "searched").find("schedule.groups: "), std::string::npos);
  EXPECT_NE(error_with(pair_case, "/measured", {{"gemm", 1.0}}).find("measured.gemm: "), std::string::npos);
}

TEST(CaseJson, KeysOfAnotherOpAreUnknown) {
  EXPECT_NE(error_with(gemm_case, "/workload/bytes", 64).find("workload.bytes: "), std::string::npos);
  EXPECT_NE(error_with(pair_case, "/workload/imbalance", 1.5).find("workload.imbalance: "), std::string::npos);
}

TEST(CaseJson, AMissingKeyIsNamed) {
  EXPECT_NE(error_without(pair_case, "/workload", "k").find("workload.k: "), std::string::npos);
  EXPECT_NE(error_without(pair_case, "/schedule", "chunks").find("schedule.chunks: "), std::string::npos);
  EXPECT_NE(error_without(pair_case, "", "gpus").find("gpus: "), std::string::npos);
  EXPECT_NE(error_without(pair_case, "", "workload").find("workload: "), std::string::npos);
}

TEST(CaseJson, AttentionIsCausalAndItsExchangeBringsKeysUnlessToldOtherwise) {
  const json attention = json::parse(
      R"({"id": "a", "gpus": 4, "workload": {"op": "distributed_attention", "tokens": 64, "heads": 8, "kv_heads": 4,
          "head_dim": 16}, "schedule": {"family": "staged", "stages": "searched"}})");
  EXPECT_EQ(case_from_json(attention), (Case{.id = "a",
                                             .gpus = 4,
                                             .workload = AttentionWorkload{64, 8, 4, 16, AttentionMask::causal},
                                             .schedule = {Staged{}},
                                             .measured = {}}));
  EXPECT_EQ(error_with(attention, "/workload/mask", "banded"),
            "workload.mask: expected one of full, causal, got \"banded\"");
  EXPECT_EQ(error_with(attention, "/workload/tokens", 60).rfind("workload.tokens: expected a multiple of 2 x gpus", 0),
            0);
  EXPECT_EQ(error_with(attention, "/gpus", 1).rfind("gpus: expected at least 2", 0), 0);
  EXPECT_EQ(error_with(attention, "/schedule/stages", 0).rfind("schedule.stages: ", 0), 0);
  EXPECT_EQ(error_with(attention, "/schedule/exchange", "values").rfind("schedule.exchange: ", 0), 0);
  EXPECT_EQ(error_with(attention, "/schedule/sm_margin", -1).rfind("schedule.sm_margin: ", 0), 0);
  EXPECT_EQ(error_with(attention, "/schedule/degree", 2).rfind("schedule.degree: ", 0), 0);
}

json case_of_family(const char* schedule) {
  json request = pair_case;
  request["workload"]["op"] = "all_gather+gemm";
  request["schedule"] = json::parse(schedule);
  return request;
}

TEST(CaseJson, AsyncTpCopiesItsInputUnlessToldOtherwise) {
  EXPECT_EQ(case_from_json(case_of_family(R"({"family": "async_tp"})")).schedule.family,
            Family(AsyncTp{AsyncInput::copied}));
  EXPECT_EQ(error_of([] { case_from_json(case_of_family(R"({"family": "async_tp", "input": "shared"})")); }),
            "schedule.input: expected one of copied, symmetric, got \"shared\"");
  EXPECT_NE(error_of([] {
              case_from_json(case_of_family(R"({"family": "async_tp", "chunks": 4})"));
            }).find("schedule.chunks: "),
            std::string::npos);
}

TEST(CaseJson, AsyncTpSaysItsFormOnlyWhereItIsNotTheUsualOne) {
  const ScheduleChoice usual{AsyncTp{}}, rotating{AsyncTp{AsyncInput::copied, AsyncForm::rotating}};
  EXPECT_FALSE(to_json(usual).contains("form"));
  EXPECT_EQ(read_schedule_choice(JsonObject(json(to_json(rotating)))), rotating);
}

TEST(CaseJson, FiccoNeedsAllFourKeys) {
  const json ficco = case_of_family(
      R"({"family": "ficco", "compute": "uniform", "gemm": "fused", "chunks": "1d", "transport": "copy_engine"})");
  EXPECT_EQ(case_from_json(ficco).schedule.family, Family(Ficco{}));
  for (const std::string key : {"compute", "gemm", "chunks", "transport"}) {
    EXPECT_NE(error_without(ficco, "/schedule", key).find("schedule." + key + ": "), std::string::npos);
    EXPECT_NE(error_with(ficco, "/schedule/" + key, "3d").find("schedule." + key + ": expected one of "),
              std::string::npos);
  }
}

TEST(CaseJson, EachImpossibleSizeIsOneErrorThatNamesTheField) {
  const json impossible[] = {0, -8, 8.5, std::int64_t{1} << 60, std::uint64_t{1} << 63, 1e30, "8", nullptr, true};
  for (const json& value : impossible)
    for (const std::string key : {"m", "n", "k"}) {
      const std::string error = error_with(pair_case, "/workload/" + key, value);
      EXPECT_EQ(error.rfind("workload." + key + ": expected an integer from 1 to 2147483647, got ", 0), 0) << error;
    }
}

TEST(CaseJson, ImpossibleCountsAreErrors) {
  EXPECT_NE(error_with(pair_case, "/gpus", 0), "");
  EXPECT_NE(error_with(pair_case, "/gpus", 2.5), "");
  EXPECT_NE(error_with(pair_case, "/schedule/chunks", 0), "");
  EXPECT_NE(error_with(pair_case, "/schedule/chunks", std::int64_t{1} << 60), "");
  EXPECT_NE(error_with(pair_case, "/schedule/max_ctas", 0), "");
  EXPECT_NE(error_with(pair_case, "/measured", {{"gemm_us", 0}}), "");
  EXPECT_NE(error_with(pair_case, "/measured", {{"gemm_us", -3.0}}), "");
}

TEST(CaseJson, MatricesBeyondAnyMemoryAreErrorsAndDoNotOverflow) {
  json huge = pair_case;
  huge["workload"]["n"] = max_extent;
  EXPECT_NE(error_with(huge, "/workload/m", max_extent).find("workload.n: expected matrices of at most"),
            std::string::npos);
}

TEST(CaseJson, UnknownWordsListTheRightOnes) {
  EXPECT_NE(error_with(pair_case, "/workload/op", "gemm+broadcast").find("gemm+all_to_all"), std::string::npos);
  EXPECT_NE(error_with(pair_case, "/schedule/family", "magic").find("decomposition"), std::string::npos);
  EXPECT_EQ(error_with(pair_case, "/workload/dtype", "fp32"), "workload.dtype: expected bf16 or fp8, got \"fp32\"");
}

TEST(CaseJson, CollectivesNeedAnElementOfEachGpu) {
  const json gather = json::parse(R"({"id": "a", "gpus": 3, "workload": {"op": "all_gather", "bytes": 6}})");
  EXPECT_EQ(error_with(gather, "/gpus", 3), "");
  EXPECT_EQ(error_with(gather, "/gpus", 4), "workload.bytes: expected at least 8 (4 bf16), got 6");
}

TEST(CaseJson, TransfersNeedTwoGpus) {
  EXPECT_EQ(error_with(gemm_case, "/gpus", 1), "");
  EXPECT_EQ(error_with(pair_case, "/gpus", 1), "gpus: expected at least 2 for a transfer between GPUs, got 1");
}

TEST(CaseJson, ImbalanceLiesBetweenOneAndAllOnOneGpu) {
  json exchange = pair_case;
  exchange["workload"]["op"] = "gemm+all_to_all";
  EXPECT_EQ(error_with(exchange, "/workload/imbalance", 4), "");
  EXPECT_NE(error_with(exchange, "/workload/imbalance", 4.5), "");
  EXPECT_NE(error_with(exchange, "/workload/imbalance", 0.5), "");
}

TEST(CaseJson, MeasuredTimesBelongToPairsOnly) {
  EXPECT_NE(error_with(gemm_case, "/measured", {{"gemm_us", 1.0}}).find("measured: "), std::string::npos);
}

TEST(CaseJson, WhatIsNoObjectIsAnError) {
  EXPECT_NE(error_of([] { case_from_json(json::parse("[1, 2]")); }), "");
  EXPECT_NE(error_with(pair_case, "/workload", "gemm"), "");
}

}  // namespace case_json_test
}  // namespace weft::scenarios
