#include "models/schedule/footprint.hpp"

#include <gtest/gtest.h>

#include "tests/models/small_schedules.hpp"

namespace weft {
namespace footprint_test {

/// 4 x 2 tiles of 128 x 128 in groups of 3, 2 and 3, row after row.
Schedule grouped_gemm() {
  Schedule schedule;
  schedule.gpus = 4;
  schedule.buffers = {{"A", 512, 64, DataType::bf16, {}, {}},
                      {"B", 256, 64, DataType::bf16, {}, {}},
                      {"C", 512, 256, DataType::bf16, {}, {}}};
  schedule.streams = {{"s0", 0}};
  Gemm gemm{whole(schedule, "A"), whole(schedule, "B"), whole(schedule, "C"), {}, GemmKernel{}, 0, {}, {}, {}, {}, {}};
  gemm.tile_groups = {3, 2, 3};
  schedule.operations = {{"gemm", 0, {}, gemm}};
  return schedule;
}

TEST(Footprint, a_gemm_reads_a_and_b_and_writes_c) {
  const Schedule schedule = grouped_gemm();
  const Footprint all = footprint(schedule, schedule.operations[0]);
  EXPECT_EQ(all.reads, (std::vector{whole(schedule, "A"), whole(schedule, "B")}));
  EXPECT_EQ(all.writes, (std::vector{whole(schedule, "C")}));
}

TEST(Footprint, a_gemm_reads_what_it_adds_to) {
  Schedule schedule = grouped_gemm();
  std::get<Gemm>(schedule.operations[0].work).addend = whole(schedule, "C");
  EXPECT_EQ(footprint(schedule, schedule.operations[0]).reads.back(), whole(schedule, "C"));
}

// The first block has C's first half, its own second one and operands of its own; a group of it names those.
TEST(Footprint, a_tile_group_of_an_earlier_block_has_the_matrices_of_that_block) {
  Schedule schedule = grouped_gemm();
  Gemm& gemm = std::get<Gemm>(schedule.operations[0].work);
  const auto half = [&](const char* name, std::int64_t first) {
    Slice slice = whole(schedule, name);
    slice.rows = RowRange{first, 256};
    return slice;
  };
  gemm.earlier = {{.a = half("A", 256), .c = half("C", 256), .addend = half("C", 256)}};
  gemm.a = half("A", 0), gemm.c = half("C", 0);
  gemm.tile_groups = {2, 2, 4};
  EXPECT_EQ(row_count(footprint(schedule, schedule.operations[0], 1).writes.front().rows, 4), 128);
  EXPECT_EQ(first_row(footprint(schedule, schedule.operations[0], 1).writes.front().rows, 0, 4), 384);
  EXPECT_EQ(first_row(footprint(schedule, schedule.operations[0], 2).writes.front().rows, 0, 4), 0);
  const Footprint all = footprint(schedule, schedule.operations[0]);
  EXPECT_EQ(all.writes, (std::vector{half("C", 256), half("C", 0)}));
  EXPECT_EQ(all.reads, (std::vector{half("A", 0), whole(schedule, "B"), half("A", 256), half("C", 256)}));
}

TEST(Footprint, operands_are_a_part_of_their_own_where_tiles_wait_for_what_they_add_to) {
  Schedule schedule = grouped_gemm();
  Gemm& gemm = std::get<Gemm>(schedule.operations[0].work);
  gemm.addend = whole(schedule, "C");
  gemm.waits = {{.tile_group = 0, .counter = 0, .for_addend = true}};
  const Footprint group = footprint(schedule, schedule.operations[0], 0);
  EXPECT_EQ(group.reads, group.writes);
  EXPECT_EQ(footprint(schedule, schedule.operations[0], 3).reads,
            (std::vector{whole(schedule, "A"), whole(schedule, "B")}));
}

TEST(Footprint, a_tile_group_writes_its_tiles_of_replicas_too) {
  Schedule schedule = grouped_gemm();
  Slice replica = whole(schedule, "C");
  replica.place = 1;
  std::get<Gemm>(schedule.operations[0].work).replicas = {replica};
  EXPECT_EQ(footprint(schedule, schedule.operations[0]).writes, (std::vector{whole(schedule, "C"), replica}));
  const std::vector<Slice> writes = footprint(schedule, schedule.operations[0], 1).writes;
  ASSERT_EQ(writes.size(), 4u);
  for (const std::size_t tile : {0u, 2u}) {
    Slice same = writes[tile];
    same.place = 1;
    EXPECT_EQ(writes[tile + 1], same);
  }
}

TEST(Footprint, a_tile_group_writes_exactly_its_tiles) {
  const Schedule schedule = grouped_gemm();
  const Footprint second = footprint(schedule, schedule.operations[0], 1);  // tiles 3 and 4: (1, 1) and (2, 0)
  EXPECT_EQ(second.writes,
            (std::vector<Slice>{{2, 0, RowRange{128, 128}, 128, 128}, {2, 0, RowRange{256, 128}, 0, 128}}));
}

TEST(Footprint, a_tile_group_reads_the_rows_that_its_tiles_need) {
  const Schedule schedule = grouped_gemm();
  const Footprint first = footprint(schedule, schedule.operations[0], 0);  // tiles (0, 0), (0, 1), (1, 0)
  EXPECT_EQ(first.reads, (std::vector<Slice>{{0, 0, RowRange{0, 256}, 0, 64}, {1, 0, RowRange{0, 256}, 0, 64}}));
}

TEST(Footprint, tiles_at_the_edge_end_with_the_matrix) {
  Schedule schedule = grouped_gemm();
  Gemm& gemm = std::get<Gemm>(schedule.operations[0].work);
  gemm.a.rows = gemm.c.rows = RowRange{0, 400};  // the last of four tile rows has 16 rows
  const Footprint last = footprint(schedule, schedule.operations[0], 2);
  EXPECT_EQ(last.writes.back(), (Slice{2, 0, RowRange{384, 16}, 0, 256}));
}

TEST(Footprint, a_tile_group_of_a_tile_ordered_output_writes_a_contiguous_range) {
  const Schedule schedule = hand_written("flashoverlap_gemm_reduce_scatter");
  const Footprint second = footprint(schedule, schedule.operations[0], 1);
  EXPECT_EQ(second.writes, (std::vector<Slice>{{2, 0, RowRange{6 * 128, 6 * 128}, 0, 64}}));
}

TEST(Footprint, tile_groups_of_shard_rows_count_as_all_of_them) {
  Schedule schedule = grouped_gemm();
  Gemm& gemm = std::get<Gemm>(schedule.operations[0].work);
  gemm.a.rows = gemm.c.rows = ShardRows{1, 0, 1, 0, 512};
  gemm.tile_groups = {1, 1};
  EXPECT_EQ(footprint(schedule, schedule.operations[0], 0).writes[0].rows, gemm.c.rows);
}

TEST(Footprint, attention_with_a_prefix_reads_its_keys_and_values) {
  Schedule schedule;
  schedule.buffers = {{"qkv", 64, 8 * 4, DataType::bf16, {}, {}}, {"out", 64, 4 * 4, DataType::bf16, {}, {}}};
  const Attention work{{0, 0, RowRange{48, 16}, 0, 32}, {1, 0, RowRange{48, 16}, 0, 16}, 4, 2, 4, 48};
  const Footprint all = footprint(schedule, {"attention", 0, {}, work});
  EXPECT_EQ(all.reads.back(), (Slice{0, 0, RowRange{0, 48}, 16, 16}));
}

TEST(Footprint, signals_waits_barriers_and_delays_touch_no_buffer) {
  for (const Work& work : {Work{Signal{}}, Work{Wait{}}, Work{Barrier{}}, Work{Delay{}}}) {
    const Footprint none = footprint(Schedule{}, {"x", 0, {}, work});
    EXPECT_TRUE(none.reads.empty() && none.writes.empty()) << kind_of(work);
  }
}

TEST(Rectangle, a_place_wraps_around_in_both_directions) {
  EXPECT_EQ(rectangle_of({0, 3, RowRange{0, 1}, 0, 1}, 2, 4).rank, 1);
  EXPECT_EQ(rectangle_of({0, -3, RowRange{0, 1}, 0, 1}, 2, 4).rank, 3);
}

TEST(Rectangle, shard_rows_are_those_of_the_executing_rank_wherever_the_memory_is) {
  // Chunk 1 of 2 of shard (3 + 2) mod 4 = 1 of 64 rows from row 100 on: shards of 16 rows, chunks of 8.
  const Slice slice{0, 1, ShardRows{2, 1, 2, 100, 64}, 0, 4};
  EXPECT_EQ(rectangle_of(slice, 3, 4), (Rectangle{0, 0, 100 + 16 + 8, 8, 0, 4}));
}

TEST(Rectangle, neighbours_do_not_overlap) {
  const Rectangle rectangle{0, 0, 4, 4, 4, 4};
  EXPECT_TRUE(overlap(rectangle, {0, 0, 7, 1, 7, 1}));
  EXPECT_FALSE(overlap(rectangle, {0, 0, 8, 1, 4, 4}));
  EXPECT_FALSE(overlap(rectangle, {0, 0, 4, 4, 0, 4}));
  EXPECT_FALSE(overlap(rectangle, {1, 0, 4, 4, 4, 4}));
  EXPECT_FALSE(overlap(rectangle, {0, 1, 4, 4, 4, 4}));
}

}  // namespace footprint_test
}  // namespace weft
