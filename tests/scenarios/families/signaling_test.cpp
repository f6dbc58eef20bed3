#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedule/layout.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/families/families.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace signaling_test {

using testing::ElementsAre;

// 100 SMs, 20 of them the collective's: 12 x 16 tiles of 128 x 256 are three waves of 80.
PairWorkload three_waves(PairOp op) { return {op, 1536, 4096, 64}; }

const Gemm& gemm_of(const Schedule& schedule) { return std::get<Gemm>(schedule.operations.front().work); }
const Layout& layout_of(const Schedule& schedule, BufferId id) { return schedule.buffers[id].layout; }

TEST(Signaling, EachGroupIsSentOnceItIsCounted) {
  const Schedule schedule = build_case(three_waves(PairOp::gemm_all_reduce), 4, Signaling{{1, 2}});
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s0: gemm", "s1: wait 0", "s1: all_reduce 0", "s1: wait 1", "s1: all_reduce 1"));
  EXPECT_THAT(schedule.streams, ElementsAre(Stream{"s0", 0}, Stream{"s1", -5}));
  EXPECT_THAT(gemm_of(schedule).tile_groups, ElementsAre(80, 112));
  EXPECT_EQ(gemm_of(schedule).signals, (std::vector<TileSignal>{{0, 0, 0}, {1, 1, 0}}));
  EXPECT_THAT(all_of_kind<Wait>(schedule), ElementsAre(Wait{.counter = 0}, Wait{.counter = 1}));
  EXPECT_TRUE(schedule.counters[0].reset_by_wait && schedule.counters[1].reset_by_wait);
}

TEST(Signaling, AnAllReduceSumsTheTilesOfAGroupInPlace) {
  const Schedule schedule = build_case(three_waves(PairOp::gemm_all_reduce), 4, Signaling{{1, 2}});
  const BufferId c = gemm_of(schedule).c.buffer;
  EXPECT_EQ(layout_of(schedule, c).kind, LayoutKind::tile_ordered);
  for (const Collective& collective : all_of_kind<Collective>(schedule)) {
    EXPECT_EQ(collective.input, collective.output);
    EXPECT_EQ(collective.input.buffer, c);
  }
  EXPECT_EQ(schedule.meaning->chunks, 1);
}

TEST(Signaling, AReduceScatterLeavesPartOfEachTile) {
  const Schedule schedule = build_case(three_waves(PairOp::gemm_reduce_scatter), 4, Signaling{{1, 2}});
  const Layout& c = layout_of(schedule, gemm_of(schedule).c.buffer);
  const Layout& result = layout_of(schedule, schedule.meaning->result);
  EXPECT_EQ(c.kind, LayoutKind::sub_tile_ordered);
  EXPECT_EQ(c.group_tiles, gemm_of(schedule).tile_groups);
  EXPECT_EQ(result.kind, LayoutKind::tile_ordered);
  EXPECT_EQ(result.rows, c.rows / 4);
  EXPECT_EQ(result.tile_rows, c.tile_rows / 4);
  EXPECT_EQ(schedule.meaning->chunks, c.rows / c.tile_rows);
}

TEST(Signaling, AnExchangeGivesTheRowsOfATileToTheRanksInTurn) {
  const Schedule schedule = build_case(three_waves(PairOp::gemm_all_to_all), 4, Signaling{{1, 2}});
  EXPECT_EQ(layout_of(schedule, gemm_of(schedule).c.buffer).kind, LayoutKind::per_destination);
  EXPECT_EQ(schedule.meaning->chunks, 1536 / 4);
}

TEST(Signaling, AnExchangeKeepsTheLayout) {
  const Schedule schedule = build_case(three_waves(PairOp::gemm_all_to_all), 4, Signaling{{1, 2}});
  EXPECT_EQ(layout_of(schedule, schedule.meaning->result), layout_of(schedule, gemm_of(schedule).c.buffer));
  EXPECT_NE(schedule.meaning->result, gemm_of(schedule).c.buffer);
}

TEST(Signaling, SaysForWhichMachineItsTilesWereCounted) {
  EXPECT_EQ(build_case(three_waves(PairOp::gemm_all_reduce), 4, Signaling{{3}}).machine, round_machine().name);
}

TEST(Signaling, SearchedGroupsAreFilledIn) {
  const Case request = make_case(three_waves(PairOp::gemm_all_reduce), 4, Signaling{});
  EXPECT_TRUE(is_open(request.schedule));
  for (const ScheduleChoice& choice : closed_choices(request, round_machine())) {
    EXPECT_FALSE(is_open(choice));
    EXPECT_FALSE(std::get<Signaling>(choice.family).groups.empty());
  }
}

TEST(Signaling, SearchedGroupsStandForTheBestGroupings) {
  const Case request = make_case(three_waves(PairOp::gemm_all_reduce), 4, Signaling{});
  const std::vector<Signaling> best = best_signalings(request, round_machine());
  ASSERT_GT(best.size(), 1u);
  const std::vector<ScheduleChoice> choices = closed_choices(request, round_machine());
  ASSERT_EQ(choices.size(), best.size());
  for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(choices[i].family, Family(best[i]));
}

TEST(Signaling, MoreGroupsThanWavesAreRefused) {
  EXPECT_EQ(build_error(three_waves(PairOp::gemm_all_reduce), 4, Signaling{{1, 1, 1, 1}}),
            "schedule.groups: expected fewer waves before the last group than the GEMM's 3, got 3");
}

TEST(Signaling, RowsAreThoseOfWholeTilesAndTileRowsThoseOfEveryRank) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 100, 128, 64}, 4, Signaling{{1}}),
            "workload.m: expected a multiple of a tile's rows = 128, got 100");
  EXPECT_EQ(build_error(three_waves(PairOp::gemm_reduce_scatter), 6, Signaling{{1}}),
            "gpus: expected a divisor of the 128 rows of a tile, which are cut into one block for each rank, got 6");
  EXPECT_EQ(build_error(three_waves(PairOp::gemm_all_reduce), 6, Signaling{{1}}), "");
}

TEST(Signaling, AGemmThatWaitsForItsRowsBeginsWithTheOwnOnes) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 1536, 512, 64}, 4, Signaling{});
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s1: enter", "s1: pull 1", "s2: flag 1 after pull 1", "s1: pull 2", "s2: flag 2 after pull 2",
                          "s1: pull 3", "s2: flag 3 after pull 3", "s1: leave", "s0: gemm"));
  EXPECT_EQ(operands_of(schedule.operations[3], schedule), "shard@2[0:384, 0:64] -> a[768:1152, 0:64]");

  // A shard is 3 x 4 tiles of 128 x 128.
  const auto& gemm = std::get<Gemm>(schedule.operations.back().work);
  EXPECT_THAT(gemm.tile_groups, ElementsAre(12, 12, 12, 12));
  EXPECT_EQ(gemm.waits, (std::vector<TileWait>{{1, 0, 1}, {2, 1, 1}, {3, 2, 1}}));
  EXPECT_EQ(schedule.buffers[static_cast<std::size_t>(gemm.earlier.front().a.buffer)].name, "shard");
  EXPECT_THAT(all_of_kind<Signal>(schedule), testing::Each(testing::Field(&Signal::path, SignalPath::kernel)));
}

// 6 x 16 tiles of 128 x 256 are a wave of all 100 SMs, and 12 x 16 of them two.
TEST(Signaling, TheGroupsOfAGatherAreTheWavesOfItsShards) {
  const auto groups_of = [](std::int64_t m) {
    const Case request = make_case(PairWorkload{PairOp::all_gather_gemm, m, 4096, 64}, 2, Signaling{});
    return std::get<Signaling>(closed_choices(request, round_machine()).front().family).groups;
  };
  EXPECT_THAT(groups_of(2 * 6 * 128), ElementsAre(1, 1));
  EXPECT_THAT(groups_of(2 * 12 * 128), ElementsAre(2, 2));
}

TEST(Signaling, TheFilledInGroupsOfAGatherAreTheSameSchedule) {
  const PairWorkload gather{PairOp::all_gather_gemm, 1536, 512, 64};
  EXPECT_EQ(build_case(gather, 4, Signaling{{1, 1, 1, 1}}), build_case(gather, 4, Signaling{}));
}

TEST(Signaling, GroupsOfAGatherThatAreNotItsShardsAreRefused) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 1536, 512, 64}, 4, Signaling{{1, 2}}),
            "schedule.groups: expected \"searched\" or [1, 1, 1, 1], the waves of each shard: the groups of "
            "all_gather+gemm are the shards, got [1, 2]");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 1000, 512, 64}, 4, Signaling{}),
            "workload.m: expected a multiple of gpus x a tile's rows = 512, got 1000");
}

TEST(Signaling, OtherOpsAreRefused) {
  EXPECT_EQ(build_error(three_waves(PairOp::all_to_all_gemm), 4, Signaling{{1}}),
            "schedule.family: expected an op that signaling has (gemm+all_reduce, gemm+reduce_scatter, "
            "gemm+all_to_all, all_gather+gemm, transformer_layer), got all_to_all+gemm");
}

}  // namespace signaling_test
}  // namespace weft::scenarios::families
