// Pairs that are one launch of a GEMM, in which the ranks meet.
#include "scenarios/families/one_launch.hpp"

#include <gmock/gmock.h>

#include "models/check/check.hpp"
#include "models/check/race_check.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "sim/meaning/numerical_meaning.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace one_launch_test {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::array all_ops{PairOp::gemm_reduce_scatter, PairOp::gemm_all_reduce, PairOp::gemm_all_to_all,
                             PairOp::all_gather_gemm, PairOp::all_to_all_gemm};

Hybrid in_one_launch(PairOp op, int count = 1) {
  return {.trigger = HybridTrigger::one_launch,
          .mover = collective_comes_first(op) ? HybridMover::fetch : HybridMover::store,
          .pieces = HybridPieces::shards,
          .count = count,
          .sums = reduces(op) ? HybridSums::in_gemm : HybridSums::at_end};
}

Schedule launch(PairOp op, int gpus, int count = 1) {
  return build_case(PairWorkload{op, std::int64_t{256} * gpus * count, 384, 64}, gpus, in_one_launch(op, count));
}

Gemm& gemm_of(Schedule& schedule) { return std::get<Gemm>(schedule.operations.at(0).work); }

// When the links are what lasts, a tile of n columns is behind them by a chunk's share: of two chunks half of it.
TEST(OneLaunch, LastsAsLongAsItsRowsComeAndWhatIsLeftOfATile) {
  Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  machine.gemm.own_fetch_GBps = 1;
  const PairWorkload gather{PairOp::all_gather_gemm, 4096, 384, 2048};
  const GemmKernel kernel = own_kernel(128, 1, TileScheduler::static_persistent);
  const double links_us = 2048.0 * 2048 * 2 / 1e3;
  const double tile_us = time_tile(machine, {4096, 384, 2048}, kernel, DataType::bf16).tile_us;
  EXPECT_NEAR(estimated_launch_us(gather, in_one_launch(gather.op), 2, 4096, kernel, machine), links_us + tile_us / 2,
              1e-6 * links_us);
}

TEST(OneLaunch, IsOneOperation) {
  for (const PairOp op : all_ops) EXPECT_THAT(program_of(launch(op, 4, 2)), ElementsAre("s0: gemm"));
}

TEST(OneLaunch, ComputesForPeersFirstAndFromThePeersLast) {
  Schedule stores = launch(PairOp::gemm_all_to_all, 4);
  std::vector<int> places;
  for (const RowBlock& block : row_blocks(gemm_of(stores))) places.push_back(block.c.place);
  EXPECT_THAT(places, ElementsAre(1, 2, 3, 0));
  Schedule gathers = launch(PairOp::all_gather_gemm, 4);
  places.clear();
  for (const RowBlock& block : row_blocks(gemm_of(gathers))) places.push_back(block.a_from ? block.a_from->place : 0);
  EXPECT_THAT(places, ElementsAre(0, 1, 2, 3));
}

// What a rank has stored elsewhere is waited for by counters: only who is read or stored into meets the others again.
TEST(OneLaunch, MeetsAtTheEndWherePeersHaveToBeWaitedFor) {
  for (const PairOp op : all_ops) {
    Schedule schedule = launch(op, 2);
    EXPECT_EQ(ranks_meet_at_end(gemm_of(schedule)), op != PairOp::gemm_reduce_scatter);
  }
}

TEST(OneLaunch, ComputesWhatItSaysWithoutRacesOnAnyNumberOfGpus) {
  for (const int gpus : {2, 3, 4, 8})
    for (const PairOp op : all_ops)
      for (const int count : {1, 2}) {
        const Schedule schedule = launch(op, gpus, count);
        EXPECT_NO_THROW(check(schedule)) << schedule.name;
        if (gpus == 8 && count == 2) continue;  // seconds
        if (const auto wrong = sim::meaning::check_meaning(schedule, 1))
          ADD_FAILURE() << schedule.name << ": " << describe(*wrong);
      }
}

TEST(OneLaunch, SumsRaceWithoutTheMeeting) {
  for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter}) {
    Schedule schedule = launch(op, 2);
    EXPECT_THAT(find_races(schedule), SizeIs(0));
    gemm_of(schedule).meets = PeerMeeting::nowhere;
    EXPECT_FALSE(find_races(schedule).empty()) << name_of(op);
  }
}

// The next iteration writes what the peers may still be fetching, and this one what they may not have written yet.
TEST(OneLaunch, FetchedRowsRaceWithWhoWritesThemUnlessTheRanksMeetAtBothEnds) {
  for (const PairOp op : {PairOp::all_gather_gemm, PairOp::all_to_all_gemm}) {
    Schedule schedule = launch(op, 2);
    const Buffer& shard = schedule.buffers.at(static_cast<std::size_t>(schedule.meaning->a));
    const Slice rows{schedule.meaning->a, 0, RowRange{0, shard.rows}, 0, shard.columns};
    schedule.operations.insert(schedule.operations.begin(),
                               {"fill", 0, {}, MemoryBound{MemoryKernel::fill, {}, {rows}}});
    const auto races_where_they_meet = [&](PeerMeeting meets) {
      std::get<Gemm>(schedule.operations.at(1).work).meets = meets;
      return !find_races(schedule).empty();
    };
    EXPECT_FALSE(races_where_they_meet(PeerMeeting::begin_and_end)) << name_of(op);
    EXPECT_TRUE(races_where_they_meet(PeerMeeting::begin)) << name_of(op);
    EXPECT_TRUE(races_where_they_meet(PeerMeeting::nowhere)) << name_of(op);
  }
}

TEST(OneLaunch, RacesWithoutTheMeetingAtItsEndWhereSomebodyReadsTheResult) {
  for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_all_to_all}) {
    Schedule schedule = launch(op, 2);
    gemm_of(schedule).meets = PeerMeeting::begin;
    const Slice result{schedule.meaning->result, 0, RowRange{0, 512}, 0, 384};
    schedule.operations.push_back({"read", 0, {}, MemoryBound{MemoryKernel::fill, {result}, {}}});
    EXPECT_FALSE(find_races(schedule).empty()) << name_of(op);
  }
}

std::string refusal(PairOp op, void (*change)(Hybrid&)) {
  Hybrid hybrid = in_one_launch(op);
  change(hybrid);
  const auto why = why_not(hybrid, PairWorkload{op, 512, 384, 64}, 2);
  return why ? why->what() : "";
}

TEST(OneLaunch, SaysWhyAChoiceMakesNoSense) {
  const auto stays = [](Hybrid&) {};
  for (const PairOp op : all_ops) EXPECT_EQ(refusal(op, stays), "");
  EXPECT_EQ(refusal(PairOp::all_gather_gemm, [](Hybrid& hybrid) { hybrid.mover = HybridMover::pull; }),
            "schedule.mover: expected fetch with trigger one_launch: the GEMM moves the bytes");
  EXPECT_EQ(refusal(PairOp::all_gather_gemm, [](Hybrid& hybrid) { hybrid.trigger = HybridTrigger::kernel_end; }),
            "schedule.trigger: expected one_launch with mover fetch");
  EXPECT_EQ(refusal(PairOp::gemm_all_reduce, [](Hybrid& hybrid) { hybrid.sums = HybridSums::at_end; }),
            "schedule.sums: expected in_gemm with trigger one_launch");
  EXPECT_EQ(refusal(PairOp::gemm_all_to_all, [](Hybrid& hybrid) { hybrid.pieces = HybridPieces::chunks; }),
            "schedule.pieces: expected shards with trigger one_launch");
  EXPECT_EQ(refusal(PairOp::all_gather_gemm, [](Hybrid& hybrid) { hybrid.lanes = HybridLanes::each_peer; }),
            "schedule.trigger: expected another than one_launch with lanes or ahead: there is one stream");
}

}  // namespace one_launch_test
}  // namespace weft::scenarios::families
