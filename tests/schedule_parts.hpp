// Parts of schedules that tests write by hand.
#pragma once

#include <string>

#include "models/schedule/schedule.hpp"

namespace weft::tests {

/// A new buffer of the GPU's own memory, and all of it.
inline Slice add_buffer(Schedule& schedule, const std::string& name, std::int64_t rows, std::int64_t columns) {
  Buffer& buffer = schedule.buffers.emplace_back();
  buffer.name = name;
  buffer.rows = rows;
  buffer.columns = columns;
  const auto id = static_cast<BufferId>(schedule.buffers.size() - 1);
  return {.buffer = id, .rows = RowRange{0, rows}, .columns = columns};
}

}  // namespace weft::tests
