// A grouped exchange as what one rank fetches from its peers.
#pragma once

#include "calibration/device/merge_kernels.hpp"
#include "calibration/device/peer_kernels.hpp"

namespace weft::calibration::device {

/// `input` as this rank addresses it on each rank, `output` its own; `row_bytes` are a multiple of 16. CTAs and flags
/// are left.
PeerPulls cast_pulls(const GroupedExchange& cast, int rank, const PeerBuffer& input, void* output, Bytes row_bytes);

/// Into `result`, of this rank; `log_sum_exp` is empty where the exchange has none. CTAs and flags are left.
PeerReduce peer_reduce(const GroupedExchange& reduce, int rank, const PeerBuffer& input, const PeerBuffer& log_sum_exp,
                       const MergedResult& result);

}  // namespace weft::calibration::device
