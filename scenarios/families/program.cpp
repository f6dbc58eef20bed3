#include "scenarios/families/program.hpp"

#include <algorithm>
#include <utility>

#include "models/check/schedule_check.hpp"

namespace weft::scenarios::families {

namespace {

/// The pairs of a layer have more to say than a name may hold.
std::string name_of_schedule(const Case& request) {
  const std::string on = describe(request.workload) + " on " + std::to_string(request.gpus) + " GPUs, ";
  const std::string name = on + describe(request.schedule);
  return name.size() <= schedule_check::max_name ? name : on + std::string(family_of(request.schedule));
}

}  // namespace

Program::Program(const Case& request) {
  schedule_.name = name_of_schedule(request);
  schedule_.family = family_of(request.schedule);
  schedule_.gpus = request.gpus;
  schedule_.launch = request.schedule.launch;
  schedule_.implementation = request.schedule.implementation;
  constexpr std::size_t usual_operations = 16;  // which are large to move
  schedule_.operations.reserve(usual_operations);
  add_stream("s0", 0);
}

BufferId Program::add_buffer(std::string name, std::int64_t rows, std::int64_t columns, DataType dtype, Memory memory,
                             Layout layout) {
  Buffer buffer{.name = std::move(name),
                .rows = rows,
                .columns = columns,
                .dtype = dtype,
                .memory = memory,
                .layout = std::move(layout)};
  if (part_) return buffer_of_part(std::move(buffer));
  schedule_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(schedule_.buffers.size()) - 1;
}

bool Program::has_buffer(const std::string& name) const {
  return std::any_of(schedule_.buffers.begin(), schedule_.buffers.end(),
                     [&](const Buffer& other) { return other.name == name; });
}

BufferId Program::buffer_of_part(Buffer buffer) {
  if (const auto given = part_->given.find(buffer.name); given != part_->given.end()) {
    if (buffer.memory == Memory::symmetric) schedule_.buffers[given->second].memory = Memory::symmetric;
    return given->second;
  }
  for (const auto& [asked, id] : of_parts_)
    if (asked == buffer) return id;
  const auto id = static_cast<BufferId>(schedule_.buffers.size());
  of_parts_.emplace_back(buffer, id);
  const std::string name = buffer.name;
  for (int number = 2; has_buffer(buffer.name); ++number) buffer.name = name + " " + std::to_string(number);
  schedule_.buffers.push_back(std::move(buffer));
  return id;
}

StreamId Program::add_stream(std::string name, int priority) {
  return part_ ? stream_of_part(name, priority) : new_stream(std::move(name), priority);
}

StreamId Program::new_stream(std::string name, int priority) {
  schedule_.streams.push_back({std::move(name), priority});
  streams_.emplace_back();
  return static_cast<StreamId>(schedule_.streams.size()) - 1;
}

StreamId Program::stream_of_part(const std::string& name, int priority) {
  const std::pair asked{name, priority};
  auto found = std::find_if(stream_of_parts_.begin(), stream_of_parts_.end(),
                            [&](const auto& known) { return known.first == asked; });
  if (found == stream_of_parts_.end()) {
    const bool is_taken = std::any_of(schedule_.streams.begin(), schedule_.streams.end(),
                                      [&](const Stream& other) { return other.name == name; });
    const std::string unique = is_taken ? name + ", priority " + std::to_string(priority) : name;
    found = stream_of_parts_.insert(found, {asked, new_stream(unique, priority)});
  }
  part_->streams.push_back(found->second);
  wait(found->second, main_stream);
  return found->second;
}

void Program::begin_part(std::string name, NamedBuffers given) { part_ = Part{std::move(name), std::move(given)}; }

Meaning Program::end_part() {
  for (const StreamId stream : part_->streams) wait(main_stream, stream);
  return std::exchange(part_, std::nullopt)->meaning.value();
}

CounterId Program::add_counter(Counter counter) {
  counter.name = in_part(counter.name);
  schedule_.counters.push_back(std::move(counter));
  return static_cast<CounterId>(schedule_.counters.size()) - 1;
}

OperationId Program::add(StreamId stream, std::string name, Work work, std::initializer_list<OperationId> after) {
  Operation operation{.name = in_part(name), .stream = stream, .after = {}, .work = std::move(work)};
  StreamState& state = streams_[stream];
  operation.after = std::exchange(state.waits_for, {});
  for (const OperationId earlier : after) operation.after.push_back({.operation = earlier});
  schedule_.operations.push_back(std::move(operation));
  return state.last = static_cast<OperationId>(schedule_.operations.size()) - 1;
}

void Program::wait(StreamId waiting, StreamId awaited) {
  if (streams_[awaited].last < 0) return;
  std::erase_if(streams_[waiting].waits_for, [&](const After& earlier) {  // it has ended before the last one begins
    return earlier.point == Point::end && schedule_.operations[earlier.operation].stream == awaited;
  });
  wait(waiting, After{streams_[awaited].last});
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
