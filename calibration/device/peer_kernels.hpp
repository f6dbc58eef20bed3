// Collectives by kernels of our own that load from and store to the peers' memory: two-shot reductions, gathers and
// exchanges by a few CTAs, uneven ones too, and the all-reduce fused with a residual add and an RMSNorm.
//
// CTA i of every rank works on the same part of the data as CTA i of the others, so that they meet by CTA: before they
// read what the others computed, and before they end, so that all that was stored to a rank is there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/kernels.hpp"
#include "calibration/device/waiting_kernels.hpp"
#include "calibration/max_ranks.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// One buffer as this rank addresses it on each rank.
struct PeerBuffer {
  void* of_rank[max_ranks] = {};
};

/// CTAs that a kernel takes where the schedule names none: what fills NVLink's ports and leaves most SMs free.
inline constexpr int default_peer_ctas = 24;
inline int peer_ctas(const Collective& collective) {
  return collective.max_ctas > 0 ? collective.max_ctas : default_peer_ctas;
}
inline int peer_ctas(const GroupedExchange& exchange) {
  return exchange.max_ctas > 0 ? exchange.max_ctas : default_peer_ctas;
}

struct PeerCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  PeerBuffer input, output;       ///< contiguous bf16
  std::int64_t share_octets = 0;  ///< of each rank's part of the full side, in 8 elements of 16 bytes
  int ctas = default_peer_ctas;
  BarrierFlags flags;  ///< `ctas` times as many as of a barrier
};
void enqueue(const PeerCollective& collective, const WaitLimit& limit, cudaStream_t stream);

/// What a rank fetches, from one place of any rank each to one of its own: as many octets as they say.
struct Pull {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t octets = 0;
};
struct PeerPulls {
  Pull of_rank[max_ranks] = {};
  int count = 0;
  int ctas = default_peer_ctas;
  BarrierFlags flags;  ///< as above
  void add(const Pull& pull) {
    if (pull.octets > 0) of_rank[count++] = pull;
  }
};
void enqueue(const PeerPulls& pulls, const WaitLimit& limit, cudaStream_t stream);

/// Row-major [rows, columns] bf16, columns a multiple of 8 and at most max_norm_columns (own_kernels.hpp). Rank r of W
/// sums and norms rows [rows r/W, rows (r + 1)/W); of `residual` it has these alone in use.

struct PeerAllReduceNorm {
  PeerBuffer partial, normed;
  void* residual = nullptr;
  std::int64_t rows = 0, columns = 0;
  int ctas = 1;
  BarrierFlags flags;
};
void enqueue(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream);

}  // namespace weft::calibration::device
