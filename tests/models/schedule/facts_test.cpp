#include "models/schedule/facts.hpp"

#include <gmock/gmock.h>

#include "models/schedule/amounts.hpp"

namespace weft {
namespace facts_test {

using testing::ElementsAre;

Slice on_peer() { return {.place = 1}; }

TEST(Facts, OfACopyBetweenRanksAreThoseOfATransfer) {
  EXPECT_EQ(facts(Copy{.source = on_peer()}).role, Role::communication);
  EXPECT_TRUE(facts(Copy{.source = on_peer()}).crosses_ranks);
  EXPECT_EQ(facts(Copy{}).role, Role::memory);
  EXPECT_FALSE(facts(Copy{}).crosses_ranks);
}

TEST(Facts, SayWhichKernelReachesAPeer) {
  EXPECT_FALSE(facts(MemoryBound{}).crosses_ranks);
  EXPECT_TRUE(facts(MemoryBound{.reads = {on_peer()}}).crosses_ranks);
  EXPECT_TRUE(facts(Gemm{.c = on_peer()}).crosses_ranks);
  EXPECT_TRUE(facts(Gemm{.replicas = {on_peer()}}).crosses_ranks);
  EXPECT_TRUE(facts(Gemm{.earlier = {{.replicas = {on_peer()}}}}).crosses_ranks);
  EXPECT_TRUE(facts(Gemm{.earlier = {{.a = on_peer()}}}).crosses_ranks);
  EXPECT_TRUE(facts(Gemm{.signals = {{.place = 1}}}).crosses_ranks);
  EXPECT_FALSE(facts(Gemm{.signals = {{.place = 0}}}).crosses_ranks);
}

TEST(Facts, CountHowOftenRanksMeet) {
  EXPECT_EQ(facts(Collective{}).meetings, 1);
  EXPECT_EQ(facts(AllReduceNorm{}).meetings, 2);
  EXPECT_EQ(facts(GroupedExchange{}).meetings, 0);
  EXPECT_EQ(facts(Barrier{}).meetings, 1);
  EXPECT_EQ(facts(Signal{.place = 1}).meetings, 0);
}

TEST(Facts, CallACollectiveWhatAllRanksTransferTogether) {
  EXPECT_TRUE(facts(Collective{}).is_collective);
  EXPECT_TRUE(facts(AllReduceNorm{}).is_collective);
  EXPECT_TRUE(facts(GroupedExchange{}).is_collective);
  EXPECT_FALSE(facts(Copy{.source = on_peer()}).is_collective);
  EXPECT_FALSE(facts(Barrier{}).is_collective);
}

TEST(Facts, KnowTheLibraryOnABranch) {
  Schedule schedule;
  schedule.operations = {{"all_reduce", 0, {}, Collective{}}, {"beside", 1, {}, Gemm{}}};
  EXPECT_FALSE(has_library_on_branch(schedule));
  schedule.operations.push_back({"own", 1, {}, Collective{.transport = Transport::peer_kernel}});
  EXPECT_FALSE(has_library_on_branch(schedule));
  schedule.operations.push_back({"branch", 1, {}, Collective{}});
  EXPECT_TRUE(has_library_on_branch(schedule));
}

TEST(Facts, SayWhatTheLibraryRuns) {
  EXPECT_TRUE(facts(Collective{}).by_library);
  EXPECT_FALSE(facts(Collective{.transport = Transport::peer_kernel}).by_library);
  EXPECT_TRUE(facts(GroupedExchange{}).by_library);
  EXPECT_FALSE(facts(GroupedExchange{.transport = Transport::peer_kernel}).by_library);
}

TEST(TileGroups, AreThoseOfAGemm) {
  const Work gemm = Gemm{.tile_groups = {3, 4}, .signals = {{.tile_group = 1}}};
  EXPECT_EQ(tile_groups(gemm).count, 2);
  EXPECT_THAT(tile_groups(gemm).tiles, ElementsAre(3, 4));
  EXPECT_THAT(tile_groups(gemm).signals, ElementsAre(TileSignal{.tile_group = 1}));
  EXPECT_EQ(tile_groups(Gemm{}).count, 1);
  EXPECT_EQ(tile_groups(Copy{}).count, 0);
}

TEST(TensorFlops, AreThoseOfBothProductsOrNone) {
  const Slice rows{.rows = RowRange{0, 8}, .columns = 4};
  EXPECT_EQ(tensor_flops(Gemm{.a = rows, .b = rows}, 2), 2.0 * 8 * 8 * 4);
  EXPECT_EQ(tensor_flops(GroupedGemm{.a = rows, .b = rows, .group_rows = {3, 5}}, 2), 2.0 * 8 * 4 * 4);
  EXPECT_EQ(tensor_flops(MemoryBound{}, 2), 0);
}

}  // namespace facts_test
}  // namespace weft
