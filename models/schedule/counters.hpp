// Who adds to each counter and who waits for it.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// `tile_group` is -1 for a Signal or Wait operation, else that of a GEMM.
struct CounterSignal {
  OperationId operation = 0;
  int tile_group = -1;
  int place = 0;
  std::int64_t add = 1;
  bool is_copied_word = false;  ///< a copy engine writes it
};
struct CounterWait {
  OperationId operation = 0;
  int tile_group = -1;
  std::int64_t value = 1;
};

/// All uses of one counter, in launch order.
struct CounterUse {
  std::vector<CounterSignal> signals;
  std::vector<CounterWait> waits;
  /// What one iteration adds to the counter of each rank: every rank signals once, to one place each.
  std::int64_t total() const;
  /// The same by who adds: entry p of what rank - p adds.
  std::vector<std::int64_t> totals_by_place(int gpus) const;
};

/// One entry per counter of the schedule.
std::vector<CounterUse> counter_uses(const Schedule& schedule);

}  // namespace weft
