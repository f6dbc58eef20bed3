// Memory that the peers map: each rank has its own pieces, and reads and writes those of the others through CUDA IPC.
#pragma once

#include <string>
#include <vector>

#include "calibration/device/blocks.hpp"
#include "calibration/device/handles.hpp"
#include "calibration/shared_state.hpp"

namespace weft::calibration::device {

/// Where one piece lies on each rank, as this rank addresses it.
using PeerAddresses = std::vector<void*>;

/// Ranks that share a GPU reach each other's memory as their own. Throws ExecutionError; `user` needs it: "a window
/// needs".
void require_peer_access(int own_rank, int peer_rank, const std::string& user);

/// Blocks stay as in arena.hpp. All calls are collective, in the same order and with the same sizes on every rank.
class SymmetricMemory {
 public:
  explicit SymmetricMemory(RankView& ranks) : ranks_(ranks) {}

  /// Lives until `reset`. Throws ScheduleError, on all ranks, where one has no room or cannot reach a peer.
  PeerAddresses allocate(Bytes bytes);
  /// Copies read and write what the peers have; flags and counters there are changed by atomics. Throws ScheduleError,
  /// on all ranks, where a pair of GPUs has none.
  void require_atomics();
  void reset() { blocks_.reset(); }
  /// At the end, before any rank frees what others map.
  void close();

 private:
  struct Block {
    DeviceMemory own;
    std::vector<PeerMemory> peers;  ///< by rank; empty at the own one
    Bytes bytes = 0;
  };
  Block make_block(Bytes bytes);
  IpcHandle export_memory(Block& block) const;
  void open_peers(Block& block, const std::vector<IpcHandle>& handles) const;

  RankView& ranks_;
  Blocks<Block> blocks_;
};

}  // namespace weft::calibration::device
