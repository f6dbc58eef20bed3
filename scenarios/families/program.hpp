// Writes a schedule down in the order in which the host launches it.
//
// What every schedule has in common and no operation says: an iteration begins on stream 0, from which the other
// streams fork, and ends when stream 0 has joined them all. So "s1 waits s0" before the first operation and "s0 waits
// s1" after the last are not written.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// CUDA's greatest stream priority on the GPUs at hand; what NCCL runs on beside a GEMM.
inline constexpr int highest_priority = -5;

/// Buffers by the names that the builder of a pair asks for them by.
using NamedBuffers = std::map<std::string, BufferId>;

class Program {
 public:
  /// Name, family, GPUs and launch as the case says; stream 0 is "s0", of normal priority.
  explicit Program(const Case& request);

  BufferId add_buffer(std::string name, std::int64_t rows, std::int64_t columns, DataType dtype = DataType::bf16,
                      Memory memory = Memory::local, Layout layout = {});
  StreamId add_stream(std::string name, int priority);
  CounterId add_counter(Counter counter);
  /// Launches `work`; besides what precedes it on its stream it waits for the ends of `after`.
  OperationId add(StreamId stream, std::string name, Work work, std::initializer_list<OperationId> after = {});
  /// The next operation on `waiting` waits for what has been launched on `awaited` so far.
  void wait(StreamId waiting, StreamId awaited);
  /// The next operation on `waiting` waits for that point of an earlier operation.
  void wait(StreamId waiting, const After& after) { streams_[waiting].waits_for.push_back(after); }

  Slice whole(BufferId id, int place = 0) const;
  Slice rows(BufferId id, std::int64_t first, std::int64_t count) const;
  /// The rows that `range_of_rank(rank)` gives; all columns.
  template <class RangeOfRank>
  Slice rows_by_rank(BufferId id, RangeOfRank range_of_rank) const {
    Slice slice = whole(id);
    RankRows rows;
    for (int rank = 0; rank < schedule_.gpus; ++rank) rows.of_rank.push_back(range_of_rank(rank));
    slice.rows = std::move(rows);
    return slice;
  }
  /// Sub-chunk `chunk` of `chunks` of the buffer's shard of rank + `rank_offset`.
  Slice shard(BufferId id, int rank_offset, int chunk = 0, int chunks = 1) const;
  const Buffer& buffer(BufferId id) const { return schedule_.buffers[id]; }

  /// What is added until end_part() is a pair that stands in this program as if it were one of its own. Names begin
  /// with `name`. A buffer that `given` names is that one, in symmetric memory where the part asks for it; others, and
  /// streams, are shared with the parts before that asked for the same. Streams fork from the main stream where the
  /// part asks for them.
  void begin_part(std::string name, NamedBuffers given);
  /// The main stream joins the part's streams. Returns what the part computes.
  Meaning end_part();

  /// Whose tiles were counted.
  void set_machine(std::string name) { schedule_.machine = std::move(name); }
  void set_meaning(Meaning meaning) { (part_ ? part_->meaning : schedule_.meaning) = std::move(meaning); }
  /// So many operations will be added, which are large to move.
  void expect_operations(std::size_t count) { schedule_.operations.reserve(count); }
  void set_repeats_per_iteration(int repeats) { schedule_.repeats_per_iteration = repeats; }
  Schedule finish() && { return std::move(schedule_); }

 private:
  struct StreamState {
    OperationId last = -1;         ///< launched on it; -1: none yet
    std::vector<After> waits_for;  ///< the next operation
  };
  struct Part {
    std::string name;
    NamedBuffers given;
    std::vector<StreamId> streams = {};
    std::optional<Meaning> meaning = {};
  };
  std::string in_part(const std::string& name) const { return part_ ? part_->name + name : name; }
  BufferId buffer_of_part(Buffer buffer);
  StreamId stream_of_part(const std::string& name, int priority);
  StreamId new_stream(std::string name, int priority);
  bool has_buffer(const std::string& name) const;

  Schedule schedule_;
  std::vector<StreamState> streams_;
  std::optional<Part> part_;
  std::vector<std::pair<Buffer, BufferId>> of_parts_;                              ///< as a part asked for them
  std::vector<std::pair<std::pair<std::string, int>, StreamId>> stream_of_parts_;  ///< by name and priority
};

inline constexpr StreamId main_stream = 0;

}  // namespace weft::scenarios::families
