// Schedules that several tests start from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/base/json_file.hpp"
#include "models/schedule/schedule_json.hpp"
#include "tests/source_folder.hpp"

namespace weft {

inline Schedule hand_written(const std::string& name) {
  return schedule_from_json(read_json_file(tests::source_folder() + "/tests/schedules/" + name + ".json"));
}

inline Operation& operation(Schedule& schedule, const std::string& name) {
  for (Operation& candidate : schedule.operations)
    if (candidate.name == name) return candidate;
  throw InputError(name, "expected an operation of this name");
}

inline Slice whole(const Schedule& schedule, const std::string& name) {
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i)
    if (schedule.buffers[i].name == name)
      return {static_cast<BufferId>(i), 0, RowRange{0, schedule.buffers[i].rows}, 0, schedule.buffers[i].columns};
  throw InputError(name, "expected a buffer of this name");
}

/// "write" copies A to B on s0, "read" copies B to C on s1; nothing orders them. D is spare.
inline Schedule two_copies_on_two_streams(int gpus = 2) {
  Schedule schedule;
  schedule.name = "two copies";
  schedule.gpus = gpus;
  for (const char* name : {"A", "B", "C", "D"}) schedule.buffers.push_back({name, 8, 4, DataType::bf16, {}, {}});
  schedule.streams = {{"s0", 0}, {"s1", 0}};
  const Slice a = whole(schedule, "A"), b = whole(schedule, "B"), c = whole(schedule, "C");
  schedule.operations = {{"write", 0, {}, Copy{a, b, CopyPath::copy_engine}},
                         {"read", 1, {}, Copy{b, c, CopyPath::copy_engine}}};
  return schedule;
}

/// Two local copies bring halves of A in, each followed by a flag; the tiles of one GEMM wait for the flag of their
/// rows.
inline Schedule signalled_all_gather_gemm() {
  Schedule schedule;
  schedule.name = "signalled";
  schedule.gpus = 2;
  schedule.buffers = {{"A_in", 256, 64, DataType::bf16, {}, {}},
                      {"A", 256, 64, DataType::bf16, {}, {}},
                      {"B", 128, 64, DataType::bf16, {}, {}},
                      {"C", 256, 128, DataType::bf16, {}, {}}};
  schedule.streams = {{"s0", 0}, {"s1", 0}};
  schedule.counters = {{"flag_0", false}, {"flag_1", false}};
  Gemm gemm{whole(schedule, "A"), whole(schedule, "B"), whole(schedule, "C"), {}, GemmKernel{}, 0, {}, {}, {}, {}};
  gemm.tile_groups = {1, 1};
  gemm.waits = {{0, 0, 1}, {1, 1, 1}};
  schedule.operations.push_back({"gemm", 0, {}, gemm});
  for (int half = 0; half < 2; ++half) {
    const Slice source{0, 0, RowRange{128 * half, 128}, 0, 64}, target{1, 0, RowRange{128 * half, 128}, 0, 64};
    schedule.operations.push_back({"copy_" + std::to_string(half), 1, {}, Copy{source, target, CopyPath::copy_engine}});
    schedule.operations.push_back(
        {"flag_" + std::to_string(half), 1, {}, Signal{half, 0, 1, SignalPath::stream_write}});
  }
  return schedule;
}

}  // namespace weft
