#include "models/check/race_check.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "models/check/schedule_file.hpp"
#include "models/check/validation.hpp"
#include "tests/models/error_of.hpp"
#include "tests/models/small_schedules.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace race_check_test {

using Pair = std::pair<std::string, std::string>;

/// Names of the operations that race, in launch order.
std::set<Pair> racing(const Schedule& schedule) {
  std::set<Pair> pairs;
  for (const Race& race : find_races(schedule)) {
    const auto [first, second] = std::minmax(race.a, race.b);
    pairs.insert({schedule.operations[first].name, schedule.operations[second].name});
  }
  return pairs;
}

TEST(RaceCheck, hand_written_schedules_are_valid_and_free_of_races) {
  for (const auto& file : std::filesystem::directory_iterator(tests::source_folder() + "/tests/schedules")) {
    const Schedule schedule = read_schedule(file.path());
    EXPECT_EQ(racing(schedule), std::set<Pair>{}) << file.path();
  }
}

// --- async TP: publish -> barrier -> pulls -> GEMMs ------------------------------------------------------------

TEST(RaceCheck, a_pull_that_does_not_follow_the_barrier_races_with_the_copy_into_the_peers_buffer) {
  Schedule schedule = hand_written("async_tp_all_gather_gemm");
  operation(schedule, "pull_1").after.clear();
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"publish", "pull_1"}, {"publish", "pull_3"}}));
}

TEST(RaceCheck, without_the_barrier_after_the_copy_every_pull_races_with_it) {
  Schedule schedule = hand_written("async_tp_all_gather_gemm");
  operation(schedule, "published").work = Delay{1};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"publish", "pull_1"}, {"publish", "pull_2"}, {"publish", "pull_3"}}));
}

TEST(RaceCheck, without_the_barriers_at_both_ends_the_next_iteration_overwrites_what_peers_still_pull) {
  Schedule schedule = hand_written("async_tp_all_gather_gemm");
  operation(schedule, "enter").work = Delay{1};
  operation(schedule, "leave").work = Delay{1};
  const auto races = find_races(schedule);
  ASSERT_FALSE(races.empty());
  for (const Race& race : races) {
    EXPECT_EQ(race.iterations_apart, 1) << race.message;
    EXPECT_EQ(schedule.operations[race.b].name, "publish") << race.message;
    EXPECT_NE(race.b_rank, 0) << race.message;
  }
}

TEST(RaceCheck, one_barrier_at_either_end_is_enough_to_keep_iterations_apart) {
  for (const char* name : {"enter", "leave"}) {
    Schedule schedule = hand_written("async_tp_all_gather_gemm");
    operation(schedule, name).work = Delay{1};
    EXPECT_EQ(racing(schedule), std::set<Pair>{}) << name;
  }
}

TEST(RaceCheck, a_gemm_that_reads_rows_which_another_stream_pulls_races) {
  Schedule schedule = hand_written("async_tp_all_gather_gemm");
  std::get<Gemm>(operation(schedule, "gemm_2").work).a.rows = ShardRows{1, 0, 1, 0, 512};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"pull_1", "gemm_2"}}));
}

// --- FlashOverlap: tile groups -> counters -> collectives --------------------------------------------------------

TEST(RaceCheck, a_collective_that_waits_for_no_tile_group_races_with_the_gemm) {
  Schedule schedule = hand_written("flashoverlap_gemm_reduce_scatter");
  operation(schedule, "wait_0").work = Delay{1};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"gemm", "reduce_scatter_0"}}));
}

TEST(RaceCheck, a_collective_that_waits_for_another_tile_group_races_with_the_gemm) {
  Schedule schedule = hand_written("flashoverlap_gemm_reduce_scatter");
  std::swap(std::get<Wait>(operation(schedule, "wait_0").work), std::get<Wait>(operation(schedule, "wait_2").work));
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"gemm", "reduce_scatter_0"}}));
}

TEST(RaceCheck, a_range_that_reaches_into_the_next_tile_group_races) {
  Schedule schedule = hand_written("flashoverlap_gemm_reduce_scatter");
  auto& collective = std::get<Collective>(operation(schedule, "reduce_scatter_0").work);
  collective.input.rows = RowRange{4, 768};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"gemm", "reduce_scatter_0"}}));
}

TEST(RaceCheck, an_edge_from_a_tile_group_orders_as_a_counter_does) {
  Schedule schedule = hand_written("flashoverlap_gemm_reduce_scatter");
  for (const char* group : {"0", "1", "2"}) {
    Operation& wait = operation(schedule, std::string("wait_") + group);
    wait.work = Delay{1};
    wait.after = {{0, Point::tile_group, group[0] - '0'}};
  }
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
}

// --- FiCCO: pulls on a stream per peer -> accumulating GEMM ------------------------------------------------------

TEST(RaceCheck, a_gemm_that_does_not_follow_one_of_its_pulls_races_with_it) {
  Schedule schedule = hand_written("ficco_uniform_fused_2d");
  operation(schedule, "gemm_2").after.pop_back();
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"pull_3_2", "gemm_2"}}));
}

TEST(RaceCheck, accumulating_gemms_on_two_streams_race) {
  Schedule schedule = hand_written("ficco_uniform_fused_2d");
  operation(schedule, "gemm_3").stream = 1;
  EXPECT_TRUE(racing(schedule).contains({"gemm_2", "gemm_3"}));
}

// --- Rules, one at a time ----------------------------------------------------------------------------------------

TEST(RaceCheck, the_start_of_an_operation_does_not_order_its_effect) {
  for (const Point point : {Point::first_cta_started, Point::all_ctas_started}) {
    Schedule schedule = two_copies_on_two_streams();
    schedule.operations[1].after = {{0, point}};
    EXPECT_EQ(racing(schedule), (std::set<Pair>{{"write", "read"}}));
  }
}

TEST(RaceCheck, the_end_of_an_operation_orders_its_effect) {
  Schedule schedule = two_copies_on_two_streams();
  schedule.operations[1].after = {{0, Point::end}};
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
}

TEST(RaceCheck, two_readers_do_not_race) {
  Schedule schedule = two_copies_on_two_streams();
  std::get<Copy>(schedule.operations[0].work) = {whole(schedule, "A"), whole(schedule, "B")};
  std::get<Copy>(schedule.operations[1].work) = {whole(schedule, "A"), whole(schedule, "C")};
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
}

TEST(RaceCheck, neighbouring_columns_do_not_race) {
  Schedule schedule = two_copies_on_two_streams();
  auto& write = std::get<Copy>(schedule.operations[0].work);
  auto& read = std::get<Copy>(schedule.operations[1].work);
  for (Slice* slice : {&write.source, &write.destination}) slice->columns = 2;
  for (Slice* slice : {&read.source, &read.destination}) *slice = {slice->buffer, 0, RowRange{0, 8}, 2, 2};
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
}

TEST(RaceCheck, a_race_of_one_rank_alone_is_found_where_ranks_differ) {
  Schedule schedule = two_copies_on_two_streams(4);
  auto& written = std::get<Copy>(schedule.operations[0].work);
  auto& read = std::get<Copy>(schedule.operations[1].work);
  const RowRange upper{0, 4}, lower{4, 4};
  for (Slice* slice : {&written.source, &written.destination}) slice->rows = upper;
  for (Slice* slice : {&read.source, &read.destination}) slice->rows = RankRows{{lower, lower, upper, lower}};
  const auto races = find_races(schedule);
  ASSERT_FALSE(races.empty());
  for (const Race& race : races) EXPECT_EQ(race.buffer_rank, 2) << race.message;
}

TEST(RaceCheck, pushes_of_all_ranks_into_the_same_rows_of_a_peer_race_with_each_other) {
  Schedule schedule = two_copies_on_two_streams(4);
  schedule.buffers[1].memory = Memory::symmetric;
  std::get<Copy>(schedule.operations[0].work).destination.place = 1;
  schedule.operations[1].work = schedule.operations[0].work;
  std::get<Copy>(schedule.operations[1].work).destination.place = 2;
  const auto races = find_races(schedule);
  ASSERT_EQ(races.size(), 1u);  // "write" of rank 0 and "read" of rank 3 both go to rank 1
  EXPECT_EQ(races[0].b_rank, 3);
  EXPECT_EQ(races[0].buffer_rank, 1);
  EXPECT_EQ(races[0].iterations_apart, 0);
}

/// Rank r pushes to rank r + 1 and signals; rank r + 1 waits and reads.
Schedule push_and_signal(std::int64_t add, std::int64_t value) {
  Schedule schedule = two_copies_on_two_streams(4);
  schedule.buffers[1].memory = Memory::symmetric;
  schedule.counters = {{"arrived", false}};
  Operation push = schedule.operations[0], read = schedule.operations[1];
  std::get<Copy>(push.work).destination.place = 1;
  schedule.operations = {push,
                         {"signal", 0, {}, Signal{0, 1, add, SignalPath::kernel}},
                         {"wait", 1, {}, Wait{0, value, WaitPath::spinning_kernel}},
                         read,
                         {"barrier", 1, {{1, Point::end}}, Barrier{}}};
  return schedule;
}

TEST(RaceCheck, a_counter_orders_a_peers_push_before_the_read) {
  EXPECT_EQ(racing(push_and_signal(1, 1)), std::set<Pair>{});
}

TEST(RaceCheck, a_counter_on_another_rank_than_the_data_orders_nothing) {
  Schedule schedule = push_and_signal(1, 1);
  std::get<Signal>(operation(schedule, "signal").work).place = 2;
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"write", "read"}}));
}

TEST(RaceCheck, tiles_order_a_peers_pull_where_they_signal_that_peer) {
  for (const int place : {1, 0}) {
    Schedule schedule = signalled_all_gather_gemm();
    Gemm gemm = std::get<Gemm>(operation(schedule, "gemm").work);
    gemm.waits.clear();
    gemm.signals = {{0, 0, place}, {1, 0, place}};
    schedule.buffers[3].memory = Memory::symmetric;
    schedule.buffers.push_back({"D", 256, 128, DataType::bf16, {}, {}});
    Slice pulled = whole(schedule, "C");
    pulled.place = -1;
    schedule.operations = {{"gemm", 0, {}, gemm},
                           {"wait", 1, {}, Wait{0, 2, {}}},
                           {"pull", 1, {}, Copy{pulled, whole(schedule, "D"), CopyPath::copy_engine}},
                           {"barrier", 1, {}, Barrier{}}};
    EXPECT_EQ(racing(schedule).empty(), place == 1) << place;
  }
}

TEST(RaceCheck, a_wait_follows_the_first_signals_of_one_stream_that_add_up) {
  Schedule schedule = push_and_signal(1, 1);
  schedule.operations.insert(schedule.operations.begin() + 2, {"later", 0, {}, Signal{0, 1, 1, SignalPath::kernel}});
  operation(schedule, "barrier").after = {{2, Point::end}};
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
}

TEST(RaceCheck, a_wait_that_an_earlier_signal_may_satisfy_orders_nothing_after_it) {
  Schedule schedule = push_and_signal(1, 1);
  schedule.operations.insert(schedule.operations.begin(), {"early", 0, {}, Signal{0, 1, 1, SignalPath::kernel}});
  operation(schedule, "barrier").after = {{2, Point::end}};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"write", "read"}}));
}

TEST(RaceCheck, signals_of_two_streams_order_nothing_unless_the_wait_takes_all) {
  for (const std::int64_t value : {1, 2}) {
    Schedule schedule = push_and_signal(1, value);
    schedule.streams.push_back({"s2", 0});
    schedule.operations.insert(schedule.operations.begin(), {"other", 2, {}, Signal{0, 1, 1, SignalPath::kernel}});
    operation(schedule, "barrier").after = {{2, Point::end}};
    EXPECT_EQ(racing(schedule).empty(), value == 2) << value;
  }
}

TEST(RaceCheck, a_collective_starts_on_every_rank_before_it_ends_on_any) {
  Schedule schedule = push_and_signal(1, 1);
  schedule.counters.clear();
  schedule.operations.erase(schedule.operations.begin() + 1, schedule.operations.begin() + 3);
  schedule.operations.pop_back();
  const Slice d = whole(schedule, "D");
  const Collective sync{CollectiveKind::all_reduce, d, d, Transport::nccl, 0};
  schedule.operations[1].stream = 0;
  schedule.operations.insert(schedule.operations.begin() + 1, {"sync", 0, {}, sync});
  schedule.operations.push_back({"leave", 0, {}, Barrier{}});
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
  operation(schedule, "sync").work = Delay{1};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"write", "read"}}));
}

TEST(RaceCheck, tiles_that_wait_for_the_flag_of_their_rows_do_not_race_with_the_copies) {
  Schedule schedule = signalled_all_gather_gemm();
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
  std::get<Gemm>(operation(schedule, "gemm").work).waits.pop_back();
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"gemm", "copy_1"}}));
}

TEST(RaceCheck, the_message_names_both_operations_the_rows_and_whose_memory) {
  const auto races = find_races(two_copies_on_two_streams());
  ASSERT_EQ(races.size(), 1u);
  EXPECT_EQ(
      races[0].message,
      "\"write\" on rank 0 writes rows 0 to 7 of \"B\" of rank 0 and \"read\" on rank 0 reads them: nothing orders "
      "the two");
}

// --- Large schedules -------------------------------------------------------------------------------------------

/// `count` fills of one buffer, one after the other on `streams` streams; a stream goes on where the one before ended.
Schedule fills(int count, int streams) {
  Schedule schedule = two_copies_on_two_streams();
  const Slice a = whole(schedule, "A");
  schedule.operations.clear();
  schedule.streams.clear();
  for (int stream = 0; stream < streams; ++stream) schedule.streams.push_back({"s" + std::to_string(stream), 0});
  for (int id = 0; id < count; ++id) {
    const std::vector<After> after = id > 0 ? std::vector<After>{{id - 1}} : std::vector<After>{};
    schedule.operations.push_back(
        {"fill " + std::to_string(id), id * streams / count, after, MemoryBound{MemoryKernel::fill, {}, {a}}});
  }
  return schedule;
}

TEST(RaceCheck, of_the_largest_schedule_takes_less_than_a_gigabyte) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "needs an address space of its own";
#endif
  const auto check = [] {
    const rlimit gigabyte{.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &gigabyte);
    std::exit(find_races(fills(100'000, 40)).empty() ? 0 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST(RaceCheck, finds_the_one_race_among_many_operations) {
  Schedule schedule = fills(3000, 30);
  operation(schedule, "fill 1500").after.clear();  // the first of its stream
  const std::vector<Race> races = find_races(schedule);
  EXPECT_GE(races.size(), 10'000u);
  for (const Race& race : races) EXPECT_TRUE(race.a < 1500 && race.b >= 1500) << race.message;
  EXPECT_LT(races.size(), 12'000u);
}

/// Every fill adds one to a counter, and a wait for all of them stands before a last one.
TEST(RaceCheck, counters_that_many_signal_order_whoever_waits) {
  Schedule schedule = fills(2000, 20);
  schedule.counters = {{"all", false}};
  for (int id = 0; id < 2000; ++id) {
    schedule.operations[id].after.clear();
    schedule.operations[id].work = Signal{0, 0, 1, SignalPath::kernel};
  }
  const Slice a = whole(schedule, "A");
  const MemoryBound fill{MemoryKernel::fill, {}, {a}};
  schedule.streams.push_back({"first", 0}), schedule.streams.push_back({"last", 0});
  schedule.operations.insert(schedule.operations.begin(), {"first", 20, {}, fill});
  for (int stream = 0; stream < 20; ++stream) schedule.operations[1 + stream * 100].after = {{0}};
  schedule.operations.push_back({"wait", 21, {}, Wait{0, 2000, WaitPath::spinning_kernel, 0}});
  schedule.operations.push_back({"fill", 21, {}, fill});
  EXPECT_EQ(racing(schedule), std::set<Pair>{});
  operation(schedule, "wait").work = Wait{0, 1999, WaitPath::spinning_kernel, 0};
  EXPECT_EQ(racing(schedule), (std::set<Pair>{{"first", "fill"}}));
}

}  // namespace race_check_test
}  // namespace weft
