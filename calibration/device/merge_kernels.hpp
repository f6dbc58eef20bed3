// Results of partial attention put together by the logarithms of their sums: those of one rank, and those that the
// peers computed, over their memory (peer_kernels.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/kernels.hpp"
#include "calibration/device/peer_kernels.hpp"
#include "calibration/max_ranks.hpp"
#include "models/check/hardware_support.hpp"

namespace weft::calibration::device {

/// `rows` are bf16, with rows of multiples of 16 bytes that begin at such addresses; `log_sum_exp` has a column of fp32
/// for each head. Heads have 8, 16, 32, 64, 128 or 256 columns.
struct MergedResult {
  Matrix rows, log_sum_exp;
};

/// destination = the results of equal shapes, merged. It may be one of them.
struct MergedResults {
  MergedResult result[max_merged];
  int count = 0;
};
void log_sum_exp_merge(const MergedResults& sources, const MergedResult& destination, cudaStream_t stream);

/// destination = `count` results of its shape, merged, which lie one below the other from `first` on. Many threads
/// share those of an octet, so that they may be many. `destination` may have the first one's logarithms.
void merge_many(const MergedResult& first, int count, const MergedResult& destination, cudaStream_t stream);

/// To some of the rows of a result of this rank, what the peers have for them is added; with logarithms it is merged.
struct PeerReduce {
  struct Source {
    const void* rows = nullptr;          ///< the first row that the peer has for this rank; the others follow
    const float* log_sum_exp = nullptr;  ///< of that row
    RowRange into;                       ///< of the result
  };
  Source sources[max_ranks] = {};
  int count = 0;
  MergedResult result = {};  ///< contiguous; without logarithms log_sum_exp is empty
  int ctas = default_peer_ctas;
  BarrierFlags flags = {};  ///< as in PeerCollective
};
void enqueue(const PeerReduce& reduce, const WaitLimit& limit, cudaStream_t stream);

}  // namespace weft::calibration::device
