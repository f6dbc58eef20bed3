#include "scenarios/families/program.hpp"

#include <utility>

namespace weft::scenarios::families {

Program::Program(const Case& request) {
  schedule_.name =
      describe(request.workload) + " on " + std::to_string(request.gpus) + " GPUs, " + describe(request.schedule);
  schedule_.family = family_of(request.schedule);
  schedule_.gpus = request.gpus;
  schedule_.launch = request.schedule.launch;
  add_stream("s0", 0);
}

BufferId Program::add_buffer(std::string name, std::int64_t rows, std::int64_t columns, DataType dtype, Memory memory) {
  schedule_.buffers.push_back(
      {.name = std::move(name), .rows = rows, .columns = columns, .dtype = dtype, .memory = memory, .layout = {}});
  return static_cast<BufferId>(schedule_.buffers.size()) - 1;
}

StreamId Program::add_stream(std::string name, int priority) {
  schedule_.streams.push_back({std::move(name), priority});
  streams_.emplace_back();
  return static_cast<StreamId>(schedule_.streams.size()) - 1;
}

CounterId Program::add_counter(Counter counter) {
  schedule_.counters.push_back(std::move(counter));
  return static_cast<CounterId>(schedule_.counters.size()) - 1;
}

OperationId Program::add(StreamId stream, std::string name, Work work, std::initializer_list<OperationId> after) {
  Operation operation{.name = std::move(name), .stream = stream, .after = {}, .work = std::move(work)};
  StreamState& state = streams_[stream];
  operation.after = std::exchange(state.waits_for, {});
  for (const OperationId earlier : after) operation.after.push_back({.operation = earlier});
  schedule_.operations.push_back(std::move(operation));
  return state.last = static_cast<OperationId>(schedule_.operations.size()) - 1;
}

void Program::wait(StreamId waiting, StreamId awaited) {
  if (streams_[awaited].last >= 0) wait(waiting, After{streams_[awaited].last});
}

Slice Program::whole(BufferId id, int place) const {
  Slice slice = rows(id, 0, buffer(id).rows);
  slice.place = place;
  return slice;
}

Slice Program::rows(BufferId id, std::int64_t first, std::int64_t count) const {
  return {.buffer = id, .place = 0, .rows = RowRange{first, count}, .first_column = 0, .columns = buffer(id).columns};
}

Slice Program::shard(BufferId id, int rank_offset, int chunk, int chunks) const {
  Slice slice = whole(id);
  slice.rows =
      ShardRows{.rank_offset = rank_offset, .chunk = chunk, .chunks = chunks, .first = 0, .of_rows = buffer(id).rows};
  return slice;
}

}  // namespace weft::scenarios::families
