// A schedule as small as it can be without changing what it means, so that one of real size can be computed as well.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::sim::meaning {

/// Rows and columns of a buffer's logical matrix that stand for one.
struct Unit {
  std::int64_t rows = 1, columns = 1;
  bool operator==(const Unit&) const = default;
};

struct ScheduleInUnits {
  Schedule schedule;
  std::vector<Unit> units;  ///< by buffer, of the given schedule
};

/// Along each axis of each matrix the elements between two places where anything begins or ends (slices, shards, tiles
/// that are counted or reordered, blocks of ranks) are all treated alike, so that one may stand for as many as divide
/// all these places. Axes whose elements correspond have the same unit: c's rows those of a in c = a x b^T, the rows of
/// both sides of a copy or a collective. What is no matter of single rows or columns keeps them: heads, rotations,
/// results that a rank keeps of several. Both schedules compute what they say, or neither does.
/// The schedule must have passed validation, and its meaning must fit its buffers.
ScheduleInUnits in_units(Schedule schedule);

}  // namespace weft::sim::meaning
