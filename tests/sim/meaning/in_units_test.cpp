// Schedules of real size are right or wrong as their smallest likenesses are.
#include "sim/meaning/in_units.hpp"

#include <gmock/gmock.h>

#include "models/check/validation.hpp"
#include "scenarios/families/families.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/sim/failure_of.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim::meaning {
namespace in_units_test {

using namespace scenarios;

Schedule built(const Workload& workload, int gpus, const Family& family = Serial{}) {
  return built_by_model({.id = "", .gpus = gpus, .workload = workload, .schedule = {family}, .measured = {}},
                        test_machine());
}

BufferId buffer_named(const Schedule& schedule, const std::string& name) {
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i)
    if (schedule.buffers[i].name == name) return static_cast<BufferId>(i);
  throw std::logic_error("no buffer " + name);
}
Unit unit_of(const ScheduleInUnits& small, BufferId buffer) { return small.units[static_cast<std::size_t>(buffer)]; }

Operation& operation(Schedule& schedule, const std::string& name) {
  for (Operation& one : schedule.operations)
    if (one.name == name) return one;
  throw std::logic_error("no operation " + name);
}

// 8,192 rows in 4 chunks, each of which 8 ranks share; n and k are never cut.
TEST(InUnits, AreTheBlocksOfChunksAndRanks) {
  const Schedule schedule = built(PairWorkload{PairOp::gemm_reduce_scatter, 8192, 4096, 3584}, 8, Decomposition{4});
  const ScheduleInUnits small = in_units(schedule);
  EXPECT_EQ(unit_of(small, schedule.meaning->a), (Unit{8192 / 32, 3584}));
  EXPECT_EQ(unit_of(small, schedule.meaning->b), (Unit{4096, 3584}));
  EXPECT_EQ(unit_of(small, schedule.meaning->result), (Unit{8192 / 32, 4096}));
  EXPECT_EQ(small.schedule.meaning->m, 32);
  EXPECT_EQ(small.schedule.meaning->n, 1);
  EXPECT_EQ(small.schedule.meaning->k, 1);
}

// A tile's 128 rows are cut for 4 ranks; its columns are never cut.
TEST(InUnits, AreWhatRanksGetOfATile) {
  const Schedule schedule = built(PairWorkload{PairOp::gemm_reduce_scatter, 4096, 4096, 4096}, 4, Signaling{{1, 1}});
  const ScheduleInUnits small = in_units(schedule);
  const Layout& layout = small.schedule.buffers[static_cast<std::size_t>(buffer_named(schedule, "c"))].layout;
  EXPECT_EQ(layout.tile_rows, 4);
  EXPECT_EQ(layout.tile_columns, 1);
  EXPECT_EQ(unit_of(small, buffer_named(schedule, "c")).rows, 128 / 4);
}

TEST(InUnits, KeepRowsThatGoToTheRanksInTurn) {
  const Schedule schedule = built(PairWorkload{PairOp::gemm_all_to_all, 2048, 2048, 2048}, 4, Signaling{{1, 1}});
  EXPECT_EQ(unit_of(in_units(schedule), schedule.meaning->a).rows, 1);
}

TEST(InUnits, OfHeadsAreTheirElements) {
  const AttentionWorkload attention{.tokens = 131072, .heads = 16, .kv_heads = 4, .head_dim = 128};
  const Schedule schedule = built(attention, 8, Staged{2});
  const ScheduleInUnits small = in_units(schedule);
  EXPECT_EQ(unit_of(small, schedule.meaning->a).columns, 128);
  EXPECT_EQ(small.schedule.meaning->attention->head_dim, 1);
  EXPECT_EQ(small.schedule.meaning->n, 16);
}

std::vector<Schedule> of_real_size() {
  std::vector<Schedule> all;
  const auto add = [&](PairOp op, const Family& family, int gpus = 8) {
    all.push_back(built(PairWorkload{op, 16384, 8192, 7168}, gpus, family));
  };
  for (const PairOp op :
       {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all, PairOp::all_gather_gemm}) {
    add(op, Serial{});
    add(op, Decomposition{4});
    add(op, Signaling{});
  }
  add(PairOp::gemm_reduce_scatter, AsyncTp{}, 4);
  add(PairOp::all_gather_gemm, AsyncTp{}, 4);
  for (const Ficco& point : families::ficco_points(PairOp::all_gather_gemm)) add(PairOp::all_gather_gemm, point);
  all.push_back(built(AttentionWorkload{.tokens = 131072, .heads = 32, .kv_heads = 8, .head_dim = 128}, 4, Staged{2}));
  return all;
}

TEST(InUnits, OfRealSizeComputeWhatTheySay) {
  for (const Schedule& schedule : of_real_size()) {
    const Schedule small = in_units(schedule).schedule;
    validate(small);
    EXPECT_EQ(failure_of(small, 2), "") << schedule.name;
  }
}

TEST(InUnits, OfUnitsAreThemselves) {
  for (const Schedule& schedule : of_real_size()) {
    const Schedule small = in_units(schedule).schedule;
    EXPECT_EQ(in_units(small).schedule, small) << schedule.name;
  }
}

// One row too few, far below a chunk: it makes units smaller, and is found.
TEST(InUnits, KeepAMistakeOfOneRow) {
  Schedule schedule = built(PairWorkload{PairOp::gemm_all_reduce, 8192, 4096, 3584}, 4, Decomposition{2});
  std::get<RowRange>(std::get<Gemm>(operation(schedule, "gemm 1").work).a.rows).count -= 1;
  std::get<RowRange>(std::get<Gemm>(operation(schedule, "gemm 1").work).c.rows).count -= 1;
  EXPECT_THAT(failure_of(in_units(schedule).schedule, 1), testing::HasSubstr("row 8191, column 0"));
}

TEST(InUnits, KeepAMissingEdge) {
  Schedule schedule = built(PairWorkload{PairOp::gemm_reduce_scatter, 8192, 4096, 3584}, 8, Decomposition{4});
  operation(schedule, "reduce_scatter 1").after.clear();
  EXPECT_NE(failure_of(in_units(schedule).schedule), "");
}

TEST(InUnits, KeepAWrongPeer) {
  Schedule schedule = built(PairWorkload{PairOp::all_gather_gemm, 8192, 4096, 3584}, 4, AsyncTp{});
  for (Operation& one : schedule.operations)
    if (auto* copy = std::get_if<Copy>(&one.work); copy && copy->source.place == 1) copy->source.place = 2;
  EXPECT_NE(failure_of(in_units(schedule).schedule, 1), "");
}

}  // namespace in_units_test
}  // namespace weft::sim::meaning
