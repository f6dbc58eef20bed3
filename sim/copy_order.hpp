// In which order a GPU's copy engine takes the copies of a graph.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::sim {

/// A copy from or to a peer, by the copy engine, or of a word that tells a peer of one. Copies within a GPU run beside
/// them.
bool is_peer_copy(const Work& work);
/// The same by operation.
std::vector<bool> peer_copies(const Schedule& schedule);

/// What the copies of a graph share.
struct CopyStreams {
  int with_peer_copies = 0;         ///< streams
  std::vector<bool> begin_by_copy;  ///< by stream: within the GPU, before any GEMM of the stream
  bool are_apart = false;           ///< several copies between GPUs are on one stream that has nothing else
};
CopyStreams copy_streams(const Schedule& schedule);

/// By operation: does the copy engine go on with the next copy of the same stream before it takes those of other
/// streams? In graphs it does (one branch after the other), unless a kernel continues the branch: that of the first
/// copy it waits for; and only where nothing but this copy holds the next one back. The first kernel that waits for
/// copies continues the branch of the GEMM before it instead, if its stream has one and does not begin by a copy. Seen
/// in records of FiCCO on 4 H200s. Branches that share a queue take turns.
std::vector<bool> keeps_copy_engine(const Schedule& schedule);

}  // namespace weft::sim
