// Complaints about a schedule, for validation*.cpp only.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::schedule_check {

inline constexpr std::int64_t max_elements = std::int64_t{1} << 40;

// So many that what looks at every one of them, or at every pair of neighbours, ends within a minute and a few GB.
inline constexpr std::int64_t max_operations = 100'000;
inline constexpr std::int64_t max_buffers = 1'000'000;
inline constexpr std::int64_t max_streams = 4096;
inline constexpr std::int64_t max_counters = 100'000;
inline constexpr std::int64_t max_groups = 1 << 14;  ///< of one GEMM, and its signals and waits
inline constexpr std::int64_t max_parts = 1 << 21;   ///< operations, tile groups, counters, … on all GPUs
inline constexpr std::size_t max_name = 256;         ///< bytes

/// What one signal adds: the sums over all of a schedule stay far from overflow.
inline constexpr std::int64_t max_count = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t max_total = std::int64_t{1} << 53;  ///< above what they all add up to

inline bool is_size(std::int64_t rows, std::int64_t columns) {
  return rows >= 1 && columns >= 1 && rows < max_elements && columns < max_elements && rows <= max_elements / columns;
}

inline std::string text(std::int64_t value) { return std::to_string(value); }
inline std::string shape(std::int64_t rows, std::int64_t columns) { return text(rows) + " x " + text(columns); }

/// Complaints about one part of the schedule, such as `operations[3].gemm`. Texts are only put together on failure.
class Check {
 public:
  Check(const Schedule& schedule, std::string path) : schedule_(schedule), path_(std::move(path)) {}

  Check at(const std::string& key) const { return Check(schedule_, path_.empty() ? key : path_ + "." + key); }
  template <class Expected>
  void require(bool holds, const char* key, Expected expected) const {
    if (!holds) fail(key, expected());
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw InputError(path_ + (path_.empty() || key.empty() ? "" : ".") + key, "expected " + expected);
  }

  template <class T>
  void id(const char* key, int id, const std::vector<T>& all) const {
    require(id >= 0 && id < static_cast<int>(all.size()), key,
            [&] { return "an id below " + text(static_cast<std::int64_t>(all.size())) + ", got " + text(id); });
  }
  void within(const char* key, std::int64_t value, std::int64_t least, std::int64_t most) const {
    require(value >= least && value <= most, key,
            [&] { return text(least) + " to " + text(most) + ", got " + text(value); });
  }
  void at_most(const char* key, std::size_t count, std::int64_t most) const {
    require(count <= static_cast<std::size_t>(most), key,
            [&] { return "at most " + text(most) + ", got " + std::to_string(count); });
  }
  void at_least(const char* key, std::int64_t value, std::int64_t least) const {
    require(value >= least, key, [&] { return "at least " + text(least) + ", got " + text(value); });
  }
  void place(const char* key, int place) const {
    require(place > -schedule_.gpus && place < schedule_.gpus, key, [&] {
      return "a place between -" + text(schedule_.gpus) + " and " + text(schedule_.gpus) + ", both excluded, got " +
             text(place);
    });
  }

  std::int64_t rows(const Slice& slice) const { return row_count(slice.rows, schedule_.gpus); }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }
  bool is_row_major(const Slice& slice) const { return buffer(slice).layout.kind == LayoutKind::row_major; }
  const Schedule& schedule() const { return schedule_; }

  void slice(const std::string& key, const Slice& slice) const {
    at(key).require(!differ_by_rank(slice.rows), "rows",
                    [] { return "the same rows on every rank: only a GEMM's a and c and copies differ"; });
    slice_of_each_rank(key, slice);
  }
  void slice_of_each_rank(const std::string& key, const Slice& slice) const {
    const Check here = at(key);
    here.id("buffer", slice.buffer, schedule_.buffers);
    here.place("place", slice.place);
    const Buffer& whole = buffer(slice);
    here.require(slice.place == 0 || whole.memory == Memory::symmetric, "place",
                 [&] { return "0, or symmetric memory: buffer \"" + whole.name + "\" is local"; });
    std::visit([&](const auto& range) { here.in_buffer(range, whole); }, slice.rows);
    here.require(slice.first_column >= 0 && slice.columns >= 1 && slice.columns <= whole.columns &&
                     slice.first_column <= whole.columns - slice.columns,
                 "columns", [&] {
                   return "columns within the " + text(whole.columns) + " of buffer \"" + whole.name + "\", got " +
                          text(slice.columns) + " from " + text(slice.first_column);
                 });
  }

  void same_shape(const char* key, const Slice& a, const Slice& b) const { has_shape(key, b, rows(a), a.columns); }
  void same_rows_on_each_rank(const char* key, const Slice& a, const Slice& b) const {
    for (int rank = 0; rank < schedule_.gpus; ++rank) {
      const std::int64_t expected = row_count(a.rows, rank, schedule_.gpus);
      const std::int64_t got = row_count(b.rows, rank, schedule_.gpus);
      require(got == expected, key,
              [&] { return text(expected) + " rows on rank " + text(rank) + ", got " + text(got); });
    }
  }
  void has_shape(const char* key, const Slice& slice, std::int64_t expected_rows, std::int64_t columns) const {
    require(rows(slice) == expected_rows && slice.columns == columns, key,
            [&] { return shape(expected_rows, columns) + ", got " + shape(rows(slice), slice.columns); });
  }
  void same_type(const char* key, const Slice& a, const Slice& b) const {
    require(buffer(a).dtype == buffer(b).dtype, key, [&] {
      return std::string(name_of(buffer(a).dtype)) + " as the other operand, got " +
             std::string(name_of(buffer(b).dtype));
    });
  }

 private:
  void in_buffer(const RowRange& range, const Buffer& whole) const {
    require(
        range.first >= 0 && range.count >= 1 && range.count <= whole.rows && range.first <= whole.rows - range.count,
        "rows", [&] {
          return "rows within the " + text(whole.rows) + " of buffer \"" + whole.name + "\", got " + text(range.count) +
                 " from " + text(range.first);
        });
  }
  /// Some rank has rows, and those of a rank without lie anywhere in the buffer.
  void in_buffer(const RankRows& ranges, const Buffer& whole) const {
    require(static_cast<int>(ranges.of_rank.size()) == schedule_.gpus, "rows.of_rank", [&] {
      return "rows of " + text(schedule_.gpus) + " ranks, got " +
             text(static_cast<std::int64_t>(ranges.of_rank.size()));
    });
    for (const RowRange& range : ranges.of_rank)
      require(
          range.first >= 0 && range.count >= 0 && range.count <= whole.rows && range.first <= whole.rows - range.count,
          "rows.of_rank", [&] {
            return "rows within the " + text(whole.rows) + " of buffer \"" + whole.name + "\", got " +
                   text(range.count) + " from " + text(range.first);
          });
    require(row_count(ranges, schedule_.gpus) > 0, "rows.of_rank", [] { return "a rank that has rows"; });
  }
  void in_buffer(const ShardRows& shard, const Buffer& whole) const {
    place("rows.shard", shard.rank_offset);
    at_least("rows.chunks", shard.chunks, 1);
    require(shard.chunk >= 0 && shard.chunk < shard.chunks, "rows.chunk",
            [&] { return "a chunk below " + text(shard.chunks) + ", got " + text(shard.chunk); });
    require(shard.first >= 0 && shard.of_rows >= 1 && shard.of_rows <= whole.rows &&
                shard.first <= whole.rows - shard.of_rows,
            "rows", [&] {
              return "rows within the " + text(whole.rows) + " of buffer \"" + whole.name + "\", got " +
                     text(shard.of_rows) + " from " + text(shard.first);
            });
    const std::int64_t parts = std::int64_t{schedule_.gpus} * shard.chunks;
    require(shard.of_rows % parts == 0, "rows", [&] {
      return "rows that divide by " + text(schedule_.gpus) + " GPUs x " + text(shard.chunks) + " chunks, got " +
             text(shard.of_rows);
    });
  }

  const Schedule& schedule_;
  std::string path_;
};

/// Of numbers from 0 to max_elements, counted no further than that: no sum in a schedule is larger.
inline std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total = std::min(total + value, max_elements + 1);
  return total;
}

/// Positive numbers of tiles that add up to `tiles`.
inline void check_groups(const Check& here, const char* key, const std::vector<std::int64_t>& groups,
                         std::int64_t tiles) {
  for (const std::int64_t group : groups)
    here.require(group >= 1 && group <= tiles, key,
                 [&] { return "groups of 1 to " + text(tiles) + " tiles, got " + text(group); });
  here.require(sum(groups) == tiles, key,
               [&] { return text(tiles) + " tiles in all groups together, got " + text(sum(groups)); });
}

/// Everything about each operation on its own; the tables must have been checked before.
void check_operations(const Schedule& schedule);

}  // namespace weft::schedule_check
