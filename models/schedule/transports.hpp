// What the transports of collectives can do, and which of them need windows: memory that NCCL registers with all ranks.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

bool does(Transport transport, CollectiveKind kind);

/// NCCL registers what such a collective reads and writes with all ranks (NCCL_WIN_COLL_SYMMETRIC).
constexpr bool needs_window(Transport transport) {
  return transport == Transport::nccl_symmetric || transport == Transport::nccl_copy_engine;
}

/// By buffer: does a collective reach it through a window?
std::vector<bool> buffers_in_windows(const Schedule& schedule);

/// Buffers that others than NCCL read or write in the memory of peers.
std::vector<BufferId> reached_on_peers(const Schedule& schedule, const Operation& operation);

}  // namespace weft
