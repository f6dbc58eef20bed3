// Memory that NCCL's communicators have windows to: NCCL allocates it, and maps that of all ranks itself.
#pragma once

#include <set>
#include <utility>

#include "calibration/device/blocks.hpp"
#include "calibration/device/handles.hpp"
#include "calibration/shared_state.hpp"

namespace weft::calibration::device {

using NcclMemory = Owned<void*, ncclMemFree>;

/// Blocks stay as in arena.hpp. All calls are collective, in the same order and with the same sizes on every rank, so
/// that a buffer lies at the same place of its window everywhere. They throw ScheduleError, on all ranks, where one has
/// no room or NCCL no windows.
class WindowMemory {
 public:
  explicit WindowMemory(RankView& ranks) : ranks_(ranks) {}

  /// Lives until `reset`.
  void* allocate(Bytes bytes);
  /// A window to each block that `communicator` has none of yet.
  void register_with(ncclComm_t communicator);
  void reset() { blocks_.reset(); }

 private:
  struct Block {
    NcclMemory memory;
    Bytes bytes = 0;
  };
  Block make_block(Bytes bytes) const;

  RankView& ranks_;
  Blocks<Block> blocks_;
  std::set<std::pair<ncclComm_t, void*>> registered_;
};

}  // namespace weft::calibration::device
