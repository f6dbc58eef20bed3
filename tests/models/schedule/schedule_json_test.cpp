#include "models/schedule/schedule_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
#include "models/check/schedule_file.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace schedule_json_test {

/// One of each kind of work, with no field at its default.
Schedule everything() {
  Schedule schedule;
  schedule.name = "everything";
  schedule.family = "test";
  schedule.machine = "h200x8-nvswitch";
  schedule.gpus = 4;
  schedule.repeats_per_iteration = 6;
  schedule.launch = Launch::eager;
  schedule.buffers = {
      {"A", 512, 128, DataType::fp8, Memory::symmetric, {}},
      {"T", 1024, 64, DataType::fp32, Memory::local, {LayoutKind::sub_tile_ordered, 512, 128, 128, 64, {2}, {3, 5}}}};
  schedule.streams = {{"s0", 0}, {"s1", -5}};
  schedule.counters = {{"done", false}, {"flag", true}};
  const Slice whole{0, 0, RowRange{0, 512}, 0, 128};
  const Slice part{0, -1, RowRange{64, 128}, 16, 32};
  const Slice shard{1, 2, ShardRows{3, 1, 2, 256, 512}, 0, 64};
  const GemmKernel kernel{256, 64, 32, 2, 4, 3, 5, TileScheduler::stream_k};
  schedule.operations = {
      {"gemm",
       0,
       {},
       Gemm{whole,
            part,
            shard,
            shard,
            kernel,
            100,
            {4},
            {3, 5},
            {{1, 0, 3}},
            {{1, 1, 7, true}},
            {part},
            {{whole, shard, shard, {part}}}}},
      {"collective",
       1,
       {{0, Point::tile_group, 1}},
       Collective{CollectiveKind::all_to_all, whole, part, Transport::nccl_copy_engine, 8}},
      {"copy", 1, {{0, Point::end}, {1, Point::first_cta_started}}, Copy{part, shard, CopyPath::sms}},
      {"uneven copy", 1, {}, Copy{{0, 1, RankRows{{{8, 3}, {0, 0}, {4, 1}, {0, 512}}}, 0, 64}, shard}},
      {"norm", 0, {{1, Point::all_ctas_started}}, MemoryBound{MemoryKernel::add_rms_norm, {whole, part}, {shard}}},
      {"attention", 0, {}, Attention{whole, part, 8, 2, 64, 100}},
      {"signal", 0, {}, Signal{1, 3, 2, SignalPath::copied_word}},
      {"wait", 1, {}, Wait{0, 3, WaitPath::stream_memory_operation}},
      {"barrier", 0, {}, Barrier{2}},
      {"delay", 0, {}, Delay{1.5, 16}}};
  schedule.meaning = Meaning{"gemm+all_reduce", 512, 64, 128, 0, 0, 1, 4};
  return schedule;
}

nlohmann::json tiny_json() {
  return nlohmann::json::parse(R"({
    "format": "weft.schedule/1", "name": "tiny", "gpus": 2,
    "buffers": [{"name": "A", "rows": 8, "columns": 4}, {"name": "B", "rows": 8, "columns": 4}],
    "streams": [{"name": "s0"}],
    "operations": [{"name": "x", "stream": "s0", "copy": {"source": "A", "destination": "B"}},
                   {"name": "y", "stream": "s0", "after": ["x"], "barrier": {}}]})");
}

std::string error_with(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json json = tiny_json();
  json[nlohmann::json::json_pointer(pointer)] = value;
  return error_of([&] { schedule_from_json(json); });
}

TEST(ScheduleJson, reading_what_was_written_gives_the_same_schedule) {
  const Schedule schedule = everything();
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
}

TEST(ScheduleJson, packed_elements_are_written_and_read) {
  nlohmann::json json = tiny_json();
  json["buffers"][1]["element_bits"] = 4.25;
  const Schedule schedule = schedule_from_json(json);
  EXPECT_EQ(schedule.buffers[1].element_bits, 4.25);
  EXPECT_EQ(to_json(schedule), json);
}

TEST(ScheduleJson, a_schedule_survives_a_file) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "weft_schedule.json";
  const Schedule schedule = schedule_from_json(tiny_json());
  write_schedule(path, schedule);
  EXPECT_EQ(read_schedule(path), schedule);
  std::filesystem::remove(path);
}

TEST(ScheduleJson, defaults_are_left_out) { EXPECT_EQ(to_json(schedule_from_json(tiny_json())), tiny_json()); }

TEST(ScheduleJson, hand_written_files_are_read_and_written_back) {
  for (const auto& file : std::filesystem::directory_iterator(tests::source_folder() + "/tests/schedules")) {
    const Schedule schedule = read_schedule(file.path());
    EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << file.path();
  }
}

TEST(ScheduleJson, rows_left_out_are_all_rows_of_the_buffer) {
  const auto copy = std::get<Copy>(schedule_from_json(tiny_json()).operations[0].work);
  EXPECT_EQ(copy.source, (Slice{0, 0, RowRange{0, 8}, 0, 4}));
}

TEST(ScheduleJson, shard_rows_count_from_first_to_the_end_of_the_buffer) {
  auto json = tiny_json();
  json["operations"][0]["copy"]["source"] = {{"buffer", "A"}, {"rows", {{"shard", 1}, {"first", 4}}}};
  const auto copy = std::get<Copy>(schedule_from_json(json).operations[0].work);
  EXPECT_EQ(copy.source.rows, Rows(ShardRows{1, 0, 1, 4, 4}));
}

TEST(ScheduleJson, another_format_is_refused) {
  EXPECT_EQ(error_with("/format", "weft.schedule/2"), "format: expected \"weft.schedule/1\", got \"weft.schedule/2\"");
}

TEST(ScheduleJson, an_unknown_key_is_named_with_its_path) {
  EXPECT_NE(error_with("/operations/0/copy/src", 1).find("operations[0].copy.src: expected one of the keys source"),
            std::string::npos);
}

TEST(ScheduleJson, an_unknown_stream_buffer_or_operation_is_named) {
  EXPECT_EQ(error_with("/operations/0/stream", "s7"),
            "operations[0].stream: expected the name of a stream, got \"s7\"");
  EXPECT_EQ(error_with("/operations/0/copy/source", "Z"),
            "operations[0].copy.source: expected the name of a buffer, got \"Z\"");
  EXPECT_EQ(error_with("/operations/1/after/0", "z"),
            "operations[1].after[0]: expected the name of an earlier operation, got \"z\"");
}

TEST(ScheduleJson, an_edge_cannot_point_forward) {
  EXPECT_EQ(error_with("/operations/0/after", {"y"}),
            "operations[0].after[0]: expected the name of an earlier operation, got \"y\"");
}

TEST(ScheduleJson, a_name_used_twice_is_refused) {
  EXPECT_EQ(error_with("/operations/1/name", "x"),
            "operations[1].name: expected a name of its own, got \"x\" a second time");
}

TEST(ScheduleJson, an_operation_is_of_exactly_one_kind) {
  EXPECT_NE(error_with("/operations/0/delay", {{"time_us", 1}}).find("operations[0]: expected exactly one of gemm"),
            std::string::npos);
  EXPECT_NE(error_with("/operations/0", {{"name", "x"}, {"stream", "s0"}}).find("got 0"), std::string::npos);
}

TEST(ScheduleJson, a_tile_group_without_its_point_is_refused) {
  EXPECT_NE(error_with("/operations/1/after/0", {{"operation", "x"}, {"tile_group", 1}}), "");
}

}  // namespace schedule_json_test
}  // namespace weft
