// How often GEMMs of ours raise the counters of their groups of tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

struct GroupCounts {
  std::int64_t tiles = 0;     ///< of the group on a rank, which may have fewer than others: then the last have none
  bool tells_peers = false;   ///< some of what it stores, or of the counters that it raises, is on other GPUs
  bool counts_tiles = false;  ///< each tile raises the group's counters, and not the last one for all
  std::int64_t adds = 1;      ///< to each of them, in an iteration
};

/// By group of the GEMM `id` on `rank`; empty of other operations. Each tile is counted where nobody else raises the
/// group's counters and no peer's: an addition that nobody waits for, where the last tile would have to ask whether it
/// is the last and only then told of it, 1.2 us later on an H200 (calibration/peers/signal_cost.py). Groups without
/// tiles are told with the last one before them that has some, which tells peers and counts as they would.
std::vector<GroupCounts> group_counts(const Schedule& schedule, OperationId id, int rank);

}  // namespace weft::calibration::device
