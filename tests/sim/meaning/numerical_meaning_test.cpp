// Whatever the operations' durations: a right schedule computes exactly what it says, a wrong one is found out.
#include "sim/meaning/numerical_meaning.hpp"

#include <gmock/gmock.h>

#include <random>

#include "models/check/race_check.hpp"
#include "models/check/schedule_file.hpp"
#include "models/check/validation.hpp"
#include "scenarios/families/families.hpp"
#include "sim/meaning/in_units.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/sim/failure_of.hpp"
#include "tests/sim/test_machine.hpp"
#include "tests/source_folder.hpp"

namespace weft::sim::meaning {
namespace numerical_meaning_test {

IntegerMatrix matrix(std::initializer_list<std::initializer_list<std::int64_t>> rows) {
  IntegerMatrix result(static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.begin()->size()));
  std::int64_t row = 0;
  for (const auto& values : rows) std::copy(values.begin(), values.end(), result.row(row++));
  return result;
}

// --- The check itself, by hand -------------------------------------------------------------------------------------

// Rank 0: [1 2; 3 4] x [1 0; 1 1]^T = [1 3; 3 7]. Rank 1: [0 1; 2 0] x [2 1; 0 3]^T = [1 3; 4 0].
class ExpectedResult : public testing::Test {
 protected:
  std::vector<IntegerMatrix> results(const std::string& op, std::int64_t m = 2, int chunks = 1) const {
    const Meaning meaning{.op = op, .m = m, .n = 2, .k = 2, .a = 0, .b = 1, .result = 2, .chunks = chunks, .also = {}};
    return {expected_result(meaning, 2, 0, a, b), expected_result(meaning, 2, 1, a, b)};
  }
  std::vector<IntegerMatrix> a{matrix({{1, 2}, {3, 4}}), matrix({{0, 1}, {2, 0}})};
  std::vector<IntegerMatrix> b{matrix({{1, 0}, {1, 1}}), matrix({{2, 1}, {0, 3}})};
};

TEST_F(ExpectedResult, OfAGemmIsEachRanksProduct) {
  EXPECT_THAT(results("gemm"), testing::ElementsAre(matrix({{1, 3}, {3, 7}}), matrix({{1, 3}, {4, 0}})));
}

TEST_F(ExpectedResult, OfGemmThenAllReduceIsTheSumOfProducts) {
  EXPECT_THAT(results("gemm+all_reduce"), testing::Each(matrix({{2, 6}, {7, 7}})));
}

TEST_F(ExpectedResult, OfGemmThenReduceScatterIsARowOfTheSum) {
  EXPECT_THAT(results("gemm+reduce_scatter"), testing::ElementsAre(matrix({{2, 6}}), matrix({{7, 7}})));
}

TEST_F(ExpectedResult, OfGemmThenAllToAllIsARowFromEachRank) {
  EXPECT_THAT(results("gemm+all_to_all"), testing::ElementsAre(matrix({{1, 3}, {1, 3}}), matrix({{3, 7}, {4, 0}})));
}

// Rows [1 2], [3 4], [0 1], [2 0] times each rank's own b.
TEST_F(ExpectedResult, OfAllGatherThenGemmIsEveryRankTimesTheOwnFactor) {
  EXPECT_THAT(results("all_gather+gemm", 4), testing::ElementsAre(matrix({{1, 3}, {3, 7}, {0, 1}, {2, 2}}),
                                                                  matrix({{4, 6}, {10, 12}, {1, 3}, {4, 0}})));
}

// Two chunks of one row a rank: [1 2] and [0 1], then [3 4] and [2 0].
TEST_F(ExpectedResult, OfChunkedAllGatherTakesChunksInTurn) {
  EXPECT_THAT(results("all_gather", 4, 2), testing::Each(matrix({{1, 2}, {0, 1}, {3, 4}, {2, 0}})));
}

// Rank 1 has [0 1] and [2 0] first.
TEST_F(ExpectedResult, OfAllGatherBeginsWithTheOwnRowsWhereTheMeaningSaysSo) {
  const Meaning meaning{.op = "all_gather",
                        .m = 4,
                        .n = 2,
                        .k = 1,
                        .a = 0,
                        .b = 1,
                        .result = 2,
                        .chunks = 1,
                        .also = {},
                        .own_rows_first = true};
  EXPECT_EQ(expected_result(meaning, 2, 0, a, b), matrix({{1, 2}, {3, 4}, {0, 1}, {2, 0}}));
  EXPECT_EQ(expected_result(meaning, 2, 1, a, b), matrix({{0, 1}, {2, 0}, {1, 2}, {3, 4}}));
}

TEST_F(ExpectedResult, OfAllToAllThenGemmMovesRowsFirst) {
  EXPECT_THAT(results("all_to_all+gemm"), testing::ElementsAre(matrix({{1, 3}, {0, 1}}), matrix({{10, 12}, {4, 0}})));
}

TEST(DescribedWrongElement, NamesPlaceAndValues) {
  const WrongElement wrong{"gemm", "c", 0, 1, 3, 0, 12, undefined};
  EXPECT_EQ(describe(wrong),
            "gemm: iteration 0, rank 1, row 3, column 0 of \"c\": expected 12, got an undefined value");
}

/// The same program on matrices and tiles that are as small as they can be.
Schedule scaled_down(Schedule schedule) {
  Schedule units = in_units(std::move(schedule)).schedule;
  validate(units);
  return units;
}

// --- Builders ------------------------------------------------------------------------------------------------------

using scenarios::Case, scenarios::PairOp, scenarios::PairWorkload;

Schedule built(scenarios::Workload workload, int gpus, scenarios::Family family = scenarios::Serial{}) {
  Case request;
  request.gpus = gpus;
  request.workload = workload;
  request.schedule.family = family;
  return scenarios::built_by_model(request, test_machine());
}

class Shapes {
 public:
  std::int64_t up_to(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(generator_); }

 private:
  std::mt19937 generator_{7};
};

TEST(BuiltSchedules, OfPairsComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const auto& [op, name] : NamesOf<PairOp>::names)
      for (const int chunks : {1, 2, 3}) {
        const PairWorkload pair{op, gpus * chunks * shapes.up_to(3), shapes.up_to(6), shapes.up_to(6)};
        EXPECT_EQ(failure_of(built(pair, gpus), 1), "") << name << " serial on " << gpus;
        if (op == PairOp::all_to_all_gemm) continue;
        const Schedule schedule = built(pair, gpus, scenarios::Decomposition{chunks});
        EXPECT_EQ(failure_of(schedule, 3), "") << schedule.name;
      }
}

TEST(BuiltSchedules, OfAsyncTpComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus) {
    const auto pair = [&](PairOp op) {
      return PairWorkload{op, gpus * shapes.up_to(3), shapes.up_to(6), shapes.up_to(6)};
    };
    for (const auto& [input, name] : NamesOf<scenarios::AsyncInput>::names) {
      const Schedule schedule = built(pair(PairOp::all_gather_gemm), gpus, scenarios::AsyncTp{input});
      EXPECT_EQ(failure_of(schedule, 5), "") << schedule.name;
    }
    for (const auto& [form, name] : NamesOf<scenarios::AsyncForm>::names) {
      const Schedule schedule =
          built(pair(PairOp::gemm_reduce_scatter), gpus, scenarios::AsyncTp{scenarios::AsyncInput::copied, form});
      EXPECT_EQ(failure_of(schedule, 5), "") << schedule.name;
    }
  }
}

TEST(BuiltSchedules, OfFiccoComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const PairOp op : {PairOp::all_gather_gemm, PairOp::all_to_all_gemm})
      for (const scenarios::Ficco& point : scenarios::families::ficco_points(op)) {
        const PairWorkload pair{op, gpus * gpus * shapes.up_to(2), shapes.up_to(6), gpus * shapes.up_to(2)};
        const Schedule schedule = built(pair, gpus, point);
        EXPECT_EQ(failure_of(schedule, 3), "") << schedule.name;
        const scenarios::Case request{.id = "", .gpus = gpus, .workload = pair, .schedule = {point}, .measured = {}};
        EXPECT_EQ(failure_of(scenarios::families::build_undivided_ficco(request), 3), "") << schedule.name;
      }
}

TEST(BuiltSchedules, OfSignaledGroupsComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all})
      for (const scenarios::Signaling& groups : {scenarios::Signaling{{1, 1}}, scenarios::Signaling{}}) {
        if (op != PairOp::gemm_all_reduce && 128 % gpus != 0) continue;
        PairWorkload pair{op, 128 * (3 + shapes.up_to(3)), 1024 + 128 * shapes.up_to(3), 16 * shapes.up_to(5)};
        if (op == PairOp::gemm_all_to_all) pair.imbalance = 1 + 0.1 * static_cast<double>(shapes.up_to(5));
        const Schedule schedule = scaled_down(built(pair, gpus, groups));
        EXPECT_EQ(failure_of(schedule, 3), "") << schedule.name;
      }
}

TEST(BuiltSchedules, OfFlaggedShardsComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const PairOp op : {PairOp::all_gather_gemm, PairOp::all_to_all_gemm}) {
      const int count = static_cast<int>(shapes.up_to(3));
      const PairWorkload pair{op, 128 * gpus * count * shapes.up_to(2), 128 * shapes.up_to(4), 16 * shapes.up_to(5)};
      scenarios::Family family = scenarios::Signaling{};
      if (op == PairOp::all_to_all_gemm || count > 1)
        family = scenarios::Hybrid{scenarios::HybridTrigger::tile_group, scenarios::HybridMover::pull,
                                   scenarios::HybridPieces::shards, count};
      EXPECT_EQ(failure_of(scaled_down(built(pair, gpus, family)), 5), "") << name_of(op) << " on " << gpus;
    }
}

TEST(BuiltSchedules, OfCollectivesComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) {
      const scenarios::CollectiveWorkload workload{kind, 2 * gpus * shapes.up_to(20)};
      EXPECT_EQ(failure_of(built(workload, gpus), 3), "") << name << " on " << gpus;
    }
}

/// Up to the imbalance with which one rank has all rows.
std::vector<double> imbalances(int gpus) { return {1.3, 2, static_cast<double>(gpus)}; }

TEST(BuiltSchedules, OfRanksThatDifferComputeWhatTheySay) {
  Shapes shapes;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const double imbalance : imbalances(gpus)) {
      PairWorkload pair{PairOp::all_to_all_gemm, gpus * shapes.up_to(6), 4, 3, DataType::bf16, imbalance};
      EXPECT_EQ(failure_of(built(pair, gpus), 3), "") << describe(scenarios::Workload{pair}) << " on " << gpus;
      pair.op = PairOp::gemm_all_to_all;
      EXPECT_EQ(failure_of(built(pair, gpus), 3), "") << describe(scenarios::Workload{pair}) << " on " << gpus;
      pair.m *= 3;
      const Schedule schedule = built(pair, gpus, scenarios::Decomposition{3});
      EXPECT_EQ(failure_of(schedule, 3), "") << schedule.name;
    }
}

TEST(BuiltSchedules, OfFiccoOfRanksThatDifferComputeWhatTheySay) {
  Shapes shapes;
  for (const int gpus : {2, 3, 5, 8})
    for (const double imbalance : imbalances(gpus))
      for (const scenarios::Ficco& point : scenarios::families::ficco_points(PairOp::all_to_all_gemm)) {
        const PairWorkload pair{PairOp::all_to_all_gemm,
                                gpus * gpus * shapes.up_to(3),
                                4,
                                gpus * shapes.up_to(2),
                                DataType::bf16,
                                imbalance};
        const Schedule schedule = built(pair, gpus, point);
        EXPECT_EQ(failure_of(schedule, 3), "") << schedule.name;
      }
}

TEST(BuiltSchedules, OfSignaledGroupsOfRanksThatDifferComputeWhatTheySay) {
  for (const int gpus : {2, 4, 8})
    for (const double imbalance : imbalances(gpus))
      for (const scenarios::Signaling& groups : {scenarios::Signaling{{1, 1}}, scenarios::Signaling{}}) {
        const PairWorkload pair{PairOp::gemm_all_to_all, 512, 1024, 64, DataType::bf16, imbalance};
        const Schedule schedule = scaled_down(built(pair, gpus, groups));
        EXPECT_FALSE(schedule.meaning->rows_of_rank.empty());
        EXPECT_EQ(failure_of(schedule, 5), "") << schedule.name;
      }
}

TEST(BuiltSchedules, OfConcurrentPairsComputeBoth) {
  const scenarios::ConcurrentPair pair{6, 4, 3, 48};
  using enum scenarios::FirstLaunched;
  for (const scenarios::Family& family : std::initializer_list<scenarios::Family>{
           scenarios::Serial{}, scenarios::Concurrent{collective}, scenarios::Concurrent{gemm}}) {
    const Schedule schedule = built(pair, 4, family);
    EXPECT_EQ(schedule.meaning->also.size(), 1U);
    EXPECT_EQ(failure_of(schedule), "");
  }
}

// --- Schedules written by hand -------------------------------------------------------------------------------------

Schedule hand_written(const std::string& name) {
  return scaled_down(read_schedule(tests::source_folder() + "/tests/schedules/" + name + ".json"));
}

Schedule async_tp() { return hand_written("async_tp_all_gather_gemm"); }
Schedule flashoverlap() { return hand_written("flashoverlap_gemm_reduce_scatter"); }
Schedule ficco() { return hand_written("ficco_uniform_fused_2d"); }

TEST(HandWrittenSchedules, AsyncTpComputesWhatItSays) { EXPECT_EQ(failure_of(async_tp(), 15), ""); }
TEST(HandWrittenSchedules, FlashOverlapComputesWhatItSays) { EXPECT_EQ(failure_of(flashoverlap(), 15), ""); }
TEST(HandWrittenSchedules, FiccoComputesWhatItSays) { EXPECT_EQ(failure_of(ficco(), 15), ""); }

// --- Schedules with a mistake --------------------------------------------------------------------------------------

Operation& operation(Schedule& schedule, const std::string& name) {
  for (Operation& one : schedule.operations)
    if (one.name == name) return one;
  throw std::logic_error("no operation " + name);
}
/// Ids stay what they were.
void drop(Schedule& schedule, const std::string& name) { operation(schedule, name).work = Delay{}; }

Schedule reduce_scatter_in_chunks() {
  return built(PairWorkload{PairOp::gemm_reduce_scatter, 24, 3, 4}, 4, scenarios::Decomposition{3});
}
Schedule all_gather_in_chunks() {
  return built(PairWorkload{PairOp::all_gather_gemm, 24, 3, 4}, 4, scenarios::Decomposition{3});
}

TEST(Mistakes, CollectiveThatDoesNotWaitForItsGemm) {
  Schedule schedule = reduce_scatter_in_chunks();
  operation(schedule, "reduce_scatter 1").after.clear();
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, GemmThatDoesNotWaitForItsCollective) {
  Schedule schedule = all_gather_in_chunks();
  operation(schedule, "gemm 2").after.clear();
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, CollectiveThatWaitsOnlyForTheStartOfItsGemm) {
  Schedule schedule = reduce_scatter_in_chunks();
  operation(schedule, "reduce_scatter 2").after.front().point = Point::all_ctas_started;
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, WrongNumberOfChunks) {
  for (Schedule schedule : {reduce_scatter_in_chunks(), all_gather_in_chunks()}) {
    schedule.meaning->chunks = 1;
    EXPECT_NE(failure_of(schedule, 1), "") << schedule.name;
  }
}

TEST(Mistakes, GemmOfTheWrongRows) {
  Schedule schedule = all_gather_in_chunks();
  std::get<Gemm>(operation(schedule, "gemm 1").work).a.rows = RowRange{0, 8};
  EXPECT_NE(failure_of(schedule, 1), "");
}

TEST(Mistakes, WrongResultOfTheOtherOperation) {
  Schedule schedule = built(scenarios::ConcurrentPair{6, 4, 3, 48}, 4);
  std::get<Collective>(operation(schedule, "all_reduce").work).kind = CollectiveKind::all_to_all;
  EXPECT_THAT(failure_of(schedule, 1), testing::StartsWith("all_reduce: "));
}

TEST(Mistakes, AsyncTpPullsBeforeEveryShardIsPublished) {
  Schedule schedule = async_tp();
  drop(schedule, "published");
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, AsyncTpPublishesWhilePeersStillPullTheLastIteration) {
  Schedule schedule = async_tp();
  drop(schedule, "enter");
  drop(schedule, "leave");
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, AsyncTpPullsFromTheWrongRank) {
  Schedule schedule = async_tp();
  std::get<Copy>(operation(schedule, "pull_1").work).source.place = 2;
  EXPECT_NE(failure_of(schedule, 1), "");
}

TEST(Mistakes, AsyncTpLeavesTheOwnShardOutOfTheGatheredInput) {
  Schedule schedule = async_tp();
  drop(schedule, "copy_own");
  EXPECT_THAT(failure_of(schedule, 1), testing::HasSubstr("of \"A\": "));
}

TEST(Mistakes, FlashOverlapSendsAGroupBeforeItIsComputed) {
  for (const std::string wait : {"wait_0", "wait_1", "wait_2"}) {
    Schedule schedule = flashoverlap();
    drop(schedule, wait);
    EXPECT_NE(failure_of(schedule), "") << wait;
  }
}

TEST(Mistakes, FlashOverlapSignalsAnotherGroup) {
  Schedule schedule = flashoverlap();
  auto& signals = std::get<Gemm>(operation(schedule, "gemm").work).signals;
  std::swap(signals[0].tile_group, signals[2].tile_group);
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, FlashOverlapReadsItsResultInAnotherTileOrder) {
  Schedule schedule = flashoverlap();
  schedule.buffers[static_cast<std::size_t>(schedule.meaning->result)].layout.order.swizzle = 1;
  EXPECT_NE(failure_of(schedule, 1), "");
}

TEST(Mistakes, FiccoMultipliesBeforeAPeersChunkIsThere) {
  Schedule schedule = ficco();
  operation(schedule, "gemm_2").after.pop_back();
  EXPECT_NE(failure_of(schedule), "");
}

TEST(Mistakes, FiccoForgetsToAccumulate) {
  Schedule schedule = ficco();
  std::get<Gemm>(operation(schedule, "gemm_3").work).addend.reset();
  EXPECT_NE(failure_of(schedule, 1), "");
}

/// The schedule with one edge, barrier or wait left out, each in turn.
std::vector<Schedule> with_one_order_left_out(const Schedule& schedule) {
  std::vector<Schedule> variants;
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const Operation& one = schedule.operations[id];
    for (std::size_t edge = 0; edge < one.after.size(); ++edge) {
      Schedule& variant = variants.emplace_back(schedule);
      variant.name += ": " + one.name + " without edge " + std::to_string(edge);
      std::vector<After>& after = variant.operations[id].after;
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(edge));
    }
    if (!std::holds_alternative<Barrier>(one.work) && !std::holds_alternative<Wait>(one.work)) continue;
    Schedule& variant = variants.emplace_back(schedule);
    variant.name += ": without " + one.name;
    variant.operations[id].work = Delay{};
  }
  return variants;
}

// Two independent judges: one looks at the order of accesses, the other at results.
TEST(Mistakes, OfOrderAreFoundExactlyWhereTheRaceCheckFindsARace) {
  for (const Schedule& schedule :
       {async_tp(), flashoverlap(), ficco(), reduce_scatter_in_chunks(), all_gather_in_chunks()})
    for (const Schedule& variant : with_one_order_left_out(schedule)) {
      const bool has_race = !find_races(variant).empty();
      EXPECT_EQ(failure_of(variant, has_race ? 60 : 4) != "", has_race) << variant.name;
    }
}

// --- What cannot be checked ----------------------------------------------------------------------------------------

std::string complaint(const Schedule& schedule) {
  return error_of([&] { check_meaning(schedule, 0); });
}

TEST(UncheckableSchedules, WithoutAMeaningAreRefused) {
  Schedule schedule = reduce_scatter_in_chunks();
  schedule.meaning.reset();
  EXPECT_EQ(complaint(schedule), "meaning: expected what the schedule computes, got none");
}

TEST(UncheckableSchedules, OfAnUnknownOpAreRefused) {
  Schedule schedule = reduce_scatter_in_chunks();
  schedule.meaning->op = "softmax";
  EXPECT_THAT(complaint(schedule), testing::StartsWith("meaning.op: expected "));
}

TEST(UncheckableSchedules, WhoseChunksDoNotDivideTheRowsAreRefused) {
  Schedule schedule = reduce_scatter_in_chunks();
  schedule.meaning->chunks = 5;
  EXPECT_EQ(complaint(schedule), "meaning.chunks: expected chunks x gpus to divide the 24 rows, got 5 chunks");
}

TEST(UncheckableSchedules, WithAResultOfAnotherShapeAreRefused) {
  Schedule schedule = reduce_scatter_in_chunks();
  schedule.meaning->result = std::get<Gemm>(operation(schedule, "gemm 0").work).c.buffer;
  EXPECT_EQ(complaint(schedule), "meaning.result: expected 6 x 3, got 24 x 3");
  schedule = reduce_scatter_in_chunks();
  Buffer& result = schedule.buffers[static_cast<std::size_t>(schedule.meaning->result)];
  ++result.columns;
  EXPECT_EQ(complaint(schedule), "meaning.result: expected 6 x 3, got 6 x 4");
}

}  // namespace numerical_meaning_test
}  // namespace weft::sim::meaning
