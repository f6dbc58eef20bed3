#include "models/check/validation.hpp"

#include <gmock/gmock.h>

#include <climits>
#include <cmath>
#include <functional>
#include <limits>

#include "models/schedule/kernel_sizes.hpp"
#include "tests/models/check/complaint.hpp"
#include "tests/models/error_of.hpp"
#include "tests/models/small_schedules.hpp"

namespace weft {
namespace validation_test {

TEST(Validation, a_name_used_twice_is_refused) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& schedule) { schedule.buffers[1].name = "A_shard"; }),
            "buffers[1].name: expected a name of its own, got \"A_shard\" a second time");
}

TEST(Validation, sizes_stay_between_1_and_2_to_the_40_elements) {
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40, std::int64_t{1} << 60})
    EXPECT_NE(complaint(async_tp(), [&](Schedule& schedule) { schedule.buffers[3].rows = rows; })
                  .find("buffers[3].rows: expected a matrix of 1 to 2^40 elements"),
              std::string::npos)
        << rows;
}

TEST(Validation, packed_elements_have_1_to_the_bits_of_their_type) {
  for (const double bits : {0.5, 17.0})
    EXPECT_EQ(complaint(async_tp(), [&](Schedule& schedule) { schedule.buffers[3].element_bits = bits; }),
              "buffers[3].element_bits: expected 1 to the bits of bf16, or none");
}

TEST(Validation, packed_elements_are_in_the_b_of_a_gemm) {
  const auto with_packed = [](const Slice& slice) {
    return complaint(async_tp(), [&](Schedule& schedule) {
      schedule.buffers[static_cast<std::size_t>(slice.buffer)].element_bits = 4.25;
    });
  };
  Schedule plain = async_tp();
  EXPECT_EQ(with_packed(std::get<Gemm>(std::ranges::find_if(
                                           plain.operations,
                                           [](const Operation& one) { return std::holds_alternative<Gemm>(one.work); })
                                           ->work)
                            .b),
            "");
  EXPECT_EQ(with_packed(work<Copy>(plain, "publish").source),
            "operations[1].copy: expected packed elements only in the b of a GEMM, got buffer \"A_shard\"");
}

TEST(Validation, there_are_1_to_1024_gpus) {
  for (const int gpus : {0, 1025})
    EXPECT_EQ(complaint(async_tp(), [&](Schedule& schedule) { schedule.gpus = gpus; }),
              "gpus: expected 1 to 1024 GPUs, got " + std::to_string(gpus));
}

TEST(Validation, a_schedule_without_operations_is_refused) {
  EXPECT_NE(complaint(async_tp(), [](Schedule& schedule) { schedule.operations.clear(); }), "");
}

TEST(Validation, a_slice_that_leaves_its_buffer_is_refused) {
  EXPECT_EQ(complaint(async_tp(),
                      [](Schedule& s) {
                        work<Copy>(s, "publish").source.rows = RowRange{64, 128};
                      }),
            "operations[1].copy.source.rows: expected rows within the 128 of buffer \"A_shard\", got 128 from 64");
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { work<Copy>(s, "publish").source.first_column = 1; }),
            "operations[1].copy.source.columns: expected columns within the 128 of buffer \"A_shard\", got 128 from 1");
}

TEST(Validation, rows_that_differ_by_rank_are_those_of_every_rank_and_of_both_sides) {
  const auto with_rows = [](const std::vector<RowRange>& source, const std::vector<RowRange>& destination) {
    return complaint(async_tp(), [&](Schedule& s) {
      work<Copy>(s, "publish").source.rows = RankRows{source};
      work<Copy>(s, "publish").destination.rows = RankRows{destination};
    });
  };
  const std::vector<RowRange> four{{0, 128}, {0, 8}, {64, 8}, {0, 0}};
  EXPECT_EQ(with_rows(four, four), "");
  EXPECT_EQ(with_rows({{0, 128}}, four), "operations[1].copy.source.rows.of_rank: expected rows of 4 ranks, got 1");
  EXPECT_EQ(with_rows(four, {{0, 128}, {0, 8}, {64, 9}, {0, 0}}),
            "operations[1].copy.destination: expected 8 rows on rank 2, got 9");
  EXPECT_NE(with_rows(four, {{0, 128}, {0, 8}, {128, 8}, {0, 0}}), "");
}

TEST(Validation, shards_must_divide_the_rows) {
  EXPECT_EQ(complaint(async_tp(),
                      [](Schedule& s) {
                        work<Gemm>(s, "gemm_1").a.rows = ShardRows{1, 0, 1, 0, 510};
                      }),
            "operations[5].gemm.a.rows: expected rows that divide by 4 GPUs x 1 chunks, got 510");
}

TEST(Validation, a_place_beyond_the_ranks_is_refused) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { work<Copy>(s, "pull_1").source.place = 4; }),
            "operations[4].copy.source.place: expected a place between -4 and 4, both excluded, got 4");
}

TEST(Validation, a_peers_buffer_must_be_symmetric_memory) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { s.buffers[1].memory = Memory::local; }),
            "operations[4].copy.source.place: expected 0, or symmetric memory: buffer \"A_symmetric\" is local");
}

TEST(Validation, copies_have_equal_shapes_and_one_end_at_home) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { work<Copy>(s, "publish").source.columns = 64; }),
            "operations[1].copy.destination: expected 128 x 64, got 128 x 128");
  EXPECT_NE(complaint(async_tp(),
                      [](Schedule& s) {
                        auto& copy = work<Copy>(s, "pull_1");
                        copy.destination = copy.source;
                      }),
            "");
}

TEST(Validation, groups_of_a_gemm_have_all_rows) {
  Schedule schedule = two_copies_on_two_streams();
  schedule.buffers[2].rows = 8;
  GroupedGemm gemm;
  gemm.a = whole(schedule, "A"), gemm.b = whole(schedule, "B"), gemm.c = whole(schedule, "C");
  gemm.group_rows = {6, 2};
  schedule.operations = {{"grouped", 0, {}, gemm}};
  const auto with_groups = [&](std::vector<std::int64_t> rows) {
    std::get<GroupedGemm>(schedule.operations.front().work).group_rows = std::move(rows);
    return error_of([&] { validate(schedule); });
  };
  EXPECT_EQ(with_groups({6, 2}), "");
  for (const std::int64_t rows : {1, 3})
    EXPECT_EQ(with_groups({6, rows}),
              "operations[0].grouped_gemm.group_rows: expected 8 rows in all groups together, as a has, got " +
                  std::to_string(6 + rows));
}

TEST(Validation, a_delay_holds_no_negative_time_or_sms) {
  const auto with = [](Delay delay) {
    return complaint(async_tp(), [&](Schedule& s) { operation(s, "enter").work = delay; });
  };
  EXPECT_EQ(with({-1, 0}), "operations[0].delay.time_us: expected a time of 0 to 1e9, got -1.000000");
  EXPECT_EQ(with({1, -1}), "operations[0].delay.held_sms: expected at least 0, got -1");
  EXPECT_EQ(with({1, 132}), "");
}

TEST(Validation, an_edge_must_point_backwards) {
  EXPECT_EQ(complaint(async_tp(),
                      [](Schedule& s) {
                        s.operations[3].after = {{3, Point::end, 0}};
                      }),
            "operations[3].after: expected an earlier operation");
}

TEST(Validation, a_norm_writes_the_matrix_that_it_reads) {
  const auto norm_after = [](std::int64_t rows, std::int64_t columns) {
    return complaint(flash_overlap(), [&](Schedule& s) {
      s.buffers.push_back({.name = "normed", .rows = rows, .columns = columns, .layout = {}});
      const auto normed = static_cast<BufferId>(s.buffers.size()) - 1;
      const Slice tiles{3, 0, RowRange{0, s.buffers[3].rows}, 0, s.buffers[3].columns};
      s.operations.push_back(
          {"norm", 1, {}, MemoryBound{MemoryKernel::rms_norm, {tiles}, {{normed, 0, RowRange{0, rows}, 0, columns}}}});
    });
  };
  const Layout& layout = flash_overlap().buffers[3].layout;
  EXPECT_EQ(norm_after(layout.rows, layout.columns), "");
  EXPECT_NE(norm_after(layout.rows + 1, layout.columns).find("of the layout that is read, got"), std::string::npos);
}

TEST(Validation, rotary_writes_as_much_as_it_reads) {
  const auto rotary_to = [](std::int64_t rows) {
    return complaint(two_copies_on_two_streams(), [&](Schedule& s) {
      s.buffers = {{.name = "from", .rows = 2, .columns = 8}, {.name = "to", .rows = rows, .columns = 8}};
      const Slice from{0, 0, RowRange{0, 2}, 0, 8}, to{1, 0, RowRange{0, rows}, 0, 8};
      s.operations = {{"rotary", 0, {}, MemoryBound{MemoryKernel::rotary, {from}, {to}}}};
    });
  };
  EXPECT_EQ(rotary_to(2), "");
  EXPECT_NE(rotary_to(5).find("memory_bound.writes: expected"), std::string::npos) << rotary_to(5);
}

TEST(Validation, storage_must_fit_its_layout) {
  EXPECT_EQ(complaint(flash_overlap(), [](Schedule& s) { s.buffers[3].rows = 1024; }),
            "buffers[3].rows: expected storage of 512 x 64 for this layout, got 1024 x 64");
}

TEST(Validation, collective_shapes_follow_the_number_of_ranks) {
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        work<Collective>(s, "reduce_scatter_2").output.rows = RowRange{384, 64};
                      }),
            "operations[6].collective.input: expected 256 x 64, got 512 x 64");
}

TEST(Validation, nccl_needs_contiguous_memory) {
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        auto& collective = work<Collective>(s, "reduce_scatter_2");
                        collective.input.columns = collective.output.columns = 32;
                      }),
            "operations[6].collective.input: expected all 64 columns, since NCCL moves contiguous memory, got 32");
}

TEST(Validation, an_edge_from_a_tile_group_that_does_not_exist_never_comes) {
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        s.operations[2].after = {{0, Point::tile_group, 3}};
                      }),
            "operations[2].after: expected a tile group below 3 of \"gemm\", got 3: that point never comes");
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        s.operations[2].after = {{1, Point::tile_group, 0}};
                      }),
            "operations[2].after: expected a GEMM with tile groups, \"wait_0\" has none: that point never comes");
}

TEST(Validation, a_wait_for_more_than_an_iteration_adds_never_ends) {
  EXPECT_EQ(complaint(flash_overlap(), [](Schedule& s) { work<Gemm>(s, "gemm").signals.pop_back(); }),
            "operations[5].wait: expected counter \"group_2\" to reach 1, an iteration adds only 0: that point never "
            "comes");
}

TEST(Validation, a_counter_that_its_wait_resets_must_get_exactly_what_is_waited_for) {
  EXPECT_EQ(complaint(flash_overlap(),
                      [](Schedule& s) {
                        work<Gemm>(s, "gemm").signals.push_back({0, 2, 0});
                      }),
            "counters[2].reset_by_wait: expected waits that take what an iteration adds to \"group_2\", 2, got 1");
}

TEST(Validation, a_wait_on_the_stream_of_its_own_signal_is_a_deadlock) {
  EXPECT_EQ(
      complaint(flash_overlap(),
                [](Schedule& s) {
                  std::swap(s.operations[0], s.operations[1]);
                  s.operations[0].stream = 0;
                }),
      "operations[0]: expected no deadlock, but \"wait_0\" on stream \"s0\" waits for counter \"group_0\" to reach "
      "1, it stays at 0 until \"gemm\" adds to it; \"gemm\" comes after \"wait_0\" on its stream");
}

TEST(Validation, streams_that_wait_for_each_other_are_a_deadlock) {
  const auto cross_wait = [](Schedule& schedule) {
    schedule.counters = {{"x", false}, {"y", false}};
    schedule.operations = {{"wait_y", 0, {}, Wait{1, 1, {}}},
                           {"signal_x", 0, {}, Signal{0, 1, 1, {}}},
                           {"wait_x", 1, {}, Wait{0, 1, {}}},
                           {"signal_y", 1, {}, Signal{1, 1, 1, {}}}};
  };
  EXPECT_NE(complaint(two_copies_on_two_streams(), cross_wait).find("no deadlock, but \"wait_y\" on stream \"s0\""),
            std::string::npos);
}

TEST(Validation, a_signal_behind_the_start_of_what_waits_for_it_is_a_deadlock) {
  const auto start_behind_a_wait = [](Point point) {
    return [point](Schedule& schedule) {
      schedule.counters = {{"x", false}};
      schedule.operations = {{"wait", 0, {}, Wait{0, 1, {}}},
                             {"begun", 0, {}, Delay{1}},
                             {"signal", 1, {{1, point}}, Signal{0, 0, 1, {}}}};
    };
  };
  for (const Point point : {Point::first_cta_started, Point::all_ctas_started})
    EXPECT_NE(complaint(two_copies_on_two_streams(), start_behind_a_wait(point)).find("expected no deadlock"),
              std::string::npos);
}

TEST(Validation, a_wait_that_finds_what_another_one_took_is_a_deadlock) {
  const auto take_twice = [](Schedule& schedule) {
    schedule.counters = {{"x", true}};
    schedule.operations = {{"signal", 0, {}, Signal{0, 0, 1, {}}},
                           {"take", 0, {}, Wait{0, 1, {}}},
                           {"take_again", 0, {}, Wait{0, 1, {}}},
                           {"signal_again", 0, {}, Signal{0, 0, 1, {}}}};
  };
  EXPECT_NE(complaint(two_copies_on_two_streams(), take_twice).find("no deadlock, but \"take_again\" on stream \"s0\""),
            std::string::npos);
}

TEST(Validation, a_wait_for_a_signal_that_is_launched_later_is_no_deadlock) {
  EXPECT_EQ(error_of([] { validate(signalled_all_gather_gemm()); }), "");
}

TEST(Validation, tiles_that_wait_for_a_copy_behind_their_own_gemm_are_a_deadlock) {
  EXPECT_NE(complaint(signalled_all_gather_gemm(),
                      [](Schedule& schedule) {
                        for (Operation& each : schedule.operations) each.stream = 0;
                      })
                .find("no deadlock, but \"gemm\" on stream \"s0\" waits for counter \"flag_0\""),
            std::string::npos);
}

TEST(Validation, only_gathered_rows_can_begin_with_the_own_ones) {
  EXPECT_EQ(complaint(async_tp(), [](Schedule& s) { s.meaning->own_rows_first = true; }), "");
  EXPECT_EQ(complaint(flash_overlap(), [](Schedule& s) { s.meaning->own_rows_first = true; }),
            "meaning.own_rows_first: expected an all_gather, got \"gemm+reduce_scatter\"");
  EXPECT_EQ(complaint(flash_overlap(), [](Schedule& s) { s.meaning->layer = LayerState{}; }),
            "meaning.layer: expected what transformer_layer and nothing else begins with, got op "
            "\"gemm+reduce_scatter\"");
}

TEST(Validation, tiles_cannot_reset_a_counter) {
  EXPECT_NE(complaint(signalled_all_gather_gemm(), [](Schedule& s) { s.counters[0].reset_by_wait = true; }), "");
}

TEST(Validation, sizes_of_a_kernel_are_those_that_kernels_have) {
  const auto error_with = [](int GemmKernel::*size, int value) {
    return complaint(flash_overlap(), [&](Schedule& s) { (*work<Gemm>(s, "gemm").kernel).*size = value; });
  };
  for (const KernelSize& size : kernel_sizes)
    for (const int value : {0, -1, size.most + 1, 1 << 29, INT_MAX})
      EXPECT_NE(error_with(size.size, value).find(std::string("kernel.") + size.key + ": expected 1 to "),
                std::string::npos)
          << size.key << " " << value;
}

TEST(Validation, a_product_beyond_2_to_the_40_elements_is_refused) {
  Schedule schedule = async_tp();
  Gemm gemm = std::get<Gemm>(std::find_if(schedule.operations.begin(), schedule.operations.end(), [](const auto& one) {
                               return std::holds_alternative<Gemm>(one.work);
                             })->work);
  const std::int64_t rows = std::int64_t{1} << 39;
  for (const char* name : {"long a", "long b", "long c"})
    schedule.buffers.push_back({name, rows, 1, DataType::bf16, Memory::local, {}});
  gemm.a = whole(schedule, "long a"), gemm.b = whole(schedule, "long b"), gemm.c = whole(schedule, "long c");
  gemm.kernel = GemmKernel{};
  gemm.tile_groups = {1};
  schedule.operations.push_back({"long", 0, {}, gemm});
  const std::string error = error_of([&] { validate(schedule); });
  EXPECT_NE(error.find("gemm.c: expected a product of 1 to 2^40 elements, got 549755813888 x 549755813888"),
            std::string::npos)
      << error;
}

/// One signal after the other, and a wait for what they add.
Schedule signals(std::size_t count, std::int64_t add, std::int64_t value) {
  Schedule schedule = two_copies_on_two_streams();
  schedule.counters = {{"count", false}};
  for (std::size_t i = 0; i < count; ++i)
    schedule.operations.push_back({"signal " + std::to_string(i), 0, {}, Signal{0, 0, add, SignalPath::stream_write}});
  schedule.operations.push_back({"wait", 1, {}, Wait{0, value, WaitPath::spinning_kernel, 0}});
  return schedule;
}

TEST(Validation, counters_never_wrap) {
  EXPECT_EQ(error_of([] { validate(signals(1024, std::int64_t{1} << 53, 5)); }),
            "operations[2].signal.add: expected 1 to 2147483647, got 9007199254740992");
  EXPECT_EQ(error_of([] { validate(signals(1024, INT_MAX, std::int64_t{1024} * INT_MAX)); }), "");
  EXPECT_NE(error_of([] { validate(signals(1, 1, std::int64_t{1} << 60)); }), "");
}

TEST(Validation, a_delay_is_no_longer_than_a_quarter_of_an_hour) {
  for (const double time_us : {1.1e9, 1e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
    Schedule schedule = two_copies_on_two_streams();
    schedule.operations.push_back({"delay", 0, {}, Delay{time_us}});
    EXPECT_EQ(error_of([&] { validate(schedule); }).substr(0, 49), "operations[2].delay.time_us: expected a time of 0")
        << time_us;
  }
}

TEST(Validation, an_iteration_has_no_more_parts_than_operations) {
  EXPECT_EQ(complaint(two_copies_on_two_streams(), [](Schedule& s) { s.repeats_per_iteration = 3; }),
            "repeats_per_iteration: expected 1 to 2, got 3");
}

TEST(Validation, names_are_short) {
  EXPECT_EQ(complaint(two_copies_on_two_streams(), [](Schedule& s) { s.operations[1].name = std::string(257, 'x'); }),
            "operations[1].name: expected a name of at most 256 bytes, got \"" + std::string(57, 'x') + "…\"");
  EXPECT_NE(complaint(two_copies_on_two_streams(), [](Schedule& s) { s.machine = std::string(257, 'x'); }), "");
}

TEST(Validation, amounts_have_a_limit) {
  const auto error_with = [](const auto& change) { return complaint(two_copies_on_two_streams(), change); };
  EXPECT_EQ(error_with([](Schedule& s) { s.operations.resize(100'001, s.operations[0]); }),
            "operations: expected at most 100000, got 100001");
  EXPECT_EQ(error_with([](Schedule& s) { s.streams.resize(4097); }), "streams: expected at most 4096, got 4097");
  EXPECT_EQ(error_with([](Schedule& s) { s.counters.resize(100'001); }),
            "counters: expected at most 100000, got 100001");
  EXPECT_EQ(
      error_with([](Schedule& s) {
        s.gpus = 1024;
        s.operations.resize(2049, s.operations[0]);
      }),
      "operations: expected at most 2097152 operations, tile groups, counters and what tiles do with these, on all "
      "GPUs together, got 2098176");
  EXPECT_EQ(
      error_with([](Schedule& s) {
        s.gpus = 1024;
        s.counters.resize(2047);
      }),
      "operations: expected at most 2097152 operations, tile groups, counters and what tiles do with these, on all "
      "GPUs together, got 2098176");
}

/// Every stream waits for the next one's signal, which stands behind a wait of its own.
Schedule ring_of_waits(int streams) {
  Schedule schedule = two_copies_on_two_streams();
  schedule.operations.clear();
  schedule.streams.clear();
  for (int i = 0; i < streams; ++i) {
    schedule.streams.push_back({"s" + std::to_string(i), 0});
    schedule.counters.push_back({"c" + std::to_string(i), false});
    schedule.operations.push_back({"wait " + std::to_string(i), i, {}, Wait{i, 1, WaitPath::spinning_kernel, 0}});
    schedule.operations.push_back(
        {"signal " + std::to_string(i), i, {}, Signal{(i + streams - 1) % streams, 0, 1, SignalPath::kernel}});
  }
  return schedule;
}

TEST(Validation, a_deadlock_of_thousands_is_named_in_ten_links) {
  const std::string error = error_of([] { validate(ring_of_waits(4000)); });
  EXPECT_NE(error.find("\"wait 0\" on stream \"s0\" waits for counter \"c0\" to reach 1"), std::string::npos) << error;
  EXPECT_NE(error.find("; and 7990 more"), std::string::npos) << error;
  EXPECT_LT(error.size(), 1500u);
}

TEST(Validation, thousands_of_streams_that_let_each_other_go_end) {
  Schedule schedule = ring_of_waits(4000);
  std::swap(schedule.operations[0], schedule.operations[1]);  // one signals before it waits
  EXPECT_EQ(error_of([&] { validate(schedule); }), "");
}

}  // namespace validation_test
}  // namespace weft
