#include "scenarios/families/hybrid_cut.hpp"

#include <gmock/gmock.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace hybrid_cut_test {

using testing::ElementsAre;

constexpr int gpus = 4;

/// c[64, 32] cut in two, and a buffer of the own 16 rows, as rank 0 sees them.
class Cut {
 public:
  explicit Cut(HybridPieces pieces, bool gemm_first = false)
      : cut(program_, Hybrid{.pieces = pieces, .count = 2}, gpus, 64, gemm_first) {}

  std::string text(const Slice& slice) const {
    Schedule schedule;
    schedule.gpus = gpus;
    schedule.buffers = {program_.buffer(c), program_.buffer(own)};
    return text_of(slice, schedule);
  }

 private:
  Program program_{make_case(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, gpus)};

 public:
  const BufferId c = program_.add_buffer("c", 64, 32), own = program_.add_buffer("own", 16, 32);
  HybridCut cut;
};

TEST(HybridCut, ChunksHaveAPartOfEveryShard) {
  const Cut cut(HybridPieces::chunks);
  EXPECT_EQ(cut.cut.pieces(), 2);
  EXPECT_THAT(cut.cut.steps_of(1), ElementsAre(1, 2, 3));
  EXPECT_EQ(cut.text(cut.cut.whole(cut.c, 1)), "c[32:64, 0:32]");
  EXPECT_EQ(cut.text(cut.cut.part(cut.c, 0, 1)), "c[32:40, 0:32]");
  EXPECT_EQ(cut.text(cut.cut.part(cut.c, 3, 1)), "c[56:64, 0:32]");
  EXPECT_EQ(cut.text(cut.cut.own_part(cut.own, 1)), "own[8:16, 0:32]");
}

TEST(HybridCut, PartialSumsOfARankLieInABlock) {
  const Cut cut(HybridPieces::chunks);
  EXPECT_EQ(cut.text(cut.cut.slot(cut.c, 3, 0)), "c[48:56, 0:32]");
  EXPECT_EQ(cut.text(cut.cut.slot(cut.c, 3, 1)), "c[56:64, 0:32]");
}

TEST(HybridCut, ShardsAreThoseOfOneRankEach) {
  const Cut cut(HybridPieces::shards);
  EXPECT_EQ(cut.cut.pieces(), 2 * gpus);
  EXPECT_EQ(cut.text(cut.cut.part(cut.c, 1, 0)), "c[16:24, 0:32]");
  EXPECT_EQ(cut.text(cut.cut.part(cut.c, 1, 1)), "c[24:32, 0:32]");
}

TEST(HybridCut, OwnShardIsReadFirstAndWrittenLast) {
  const Cut consumer(HybridPieces::shards, false), producer(HybridPieces::shards, true);
  for (int piece = 0; piece < 2 * gpus; ++piece) {
    EXPECT_EQ(consumer.cut.steps_of(piece).empty(), piece < 2) << piece;
    EXPECT_EQ(producer.cut.steps_of(piece).empty(), piece >= 2 * gpus - 2) << piece;
  }
  EXPECT_THAT(consumer.cut.steps_of(2), ElementsAre(1));
  EXPECT_THAT(producer.cut.steps_of(0), ElementsAre(1));
}

TEST(HybridCut, ColumnsHaveAllRows) {
  const Cut cut(HybridPieces::columns);
  EXPECT_EQ(cut.text(cut.cut.whole(cut.c, 1)), "c[0:64, 16:32]");
  EXPECT_EQ(cut.text(cut.cut.part(cut.c, 1, 1)), "c[16:32, 16:32]");
  EXPECT_EQ(cut.text(cut.cut.own_part(cut.own, 0)), "own[0:16, 0:16]");
}

TEST(HybridCut, RowsOfTileGroupsAreWholeTilesOfEveryRank) {
  const Hybrid by_kernel{.count = 2}, by_tiles{.trigger = HybridTrigger::tile_group, .count = 2};
  EXPECT_EQ(unit_of_rows(by_kernel, 4), 2 * 4);
  EXPECT_EQ(unit_of_rows(by_tiles, 4), 2 * 128);
  EXPECT_EQ(unit_of_rows(by_tiles, 3), 2 * 384);
  EXPECT_EQ(unit_of_rows({.pieces = HybridPieces::columns, .count = 2}, 4), 4);
}

}  // namespace hybrid_cut_test
}  // namespace weft::scenarios::families
