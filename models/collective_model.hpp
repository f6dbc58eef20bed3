// Cost model of a collective: a measured curve turned into a latency, a rate for each channel and the bytes that cross
// each GPU's port, so that contention or missing channels can only slow it.
#pragma once

#include "models/machine.hpp"

namespace weft {

struct CollectiveTiming {
  double latency_us = 0;   ///< channels hold their SMs and move nothing
  double transfer_us = 0;  ///< with all channels and nobody beside
  int ctas = 0;            ///< channels; each moves an equal share
  int cluster = 1;
  double alone_us = 0;    ///< see CurvePoint
  double port_bytes = 0;  ///< out of each GPU, and as many into it
};

/// Bytes out of each GPU's port: each of W ranks sends its (W-1)/W of the buffer once, for all_reduce twice (its
/// reduce-scatter and its all-gather half). `bytes` as nccl-tests counts them.
double port_bytes(CollectiveKind kind, int gpus, double bytes);

/// `bytes` as nccl-tests counts them: the full buffer (all_gather: its output, reduce_scatter: its input, all_to_all:
/// one rank's whole send buffer). Between measured sizes the time is linear in bytes; below the smallest it is that of
/// the smallest; above the largest it goes on at the rate of the last two points. Between measured GPU counts and CTA
/// limits it is linear in those. Throws InputError when the profile has no curve of this kind.
CollectiveTiming time_collective(const Machine& machine, CollectiveKind kind, int gpus, Bytes bytes, int max_ctas);

}  // namespace weft
