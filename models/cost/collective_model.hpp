// Cost model of a collective: a measured or public curve, or where a profile has none the model of the library, turned
// into a latency, a rate for each channel and the bytes that leave each GPU, so that contention or missing channels can
// only slow it.
#pragma once

#include "models/machine/machine.hpp"

namespace weft {

struct CollectiveTiming {
  double latency_us = 0;   ///< channels hold their SMs and move nothing
  double transfer_us = 0;  ///< with all channels and nobody beside
  int ctas = 0;            ///< channels; each moves an equal share; 0: a copy engine moves all, without SMs
  int cluster = 1;
  double alone_us = 0;        ///< see CurvePoint
  double beside_gemm_us = 0;  ///< transfer_us while a GEMM runs; 0: as CollectiveKernel says for the library's
  double port_bytes = 0;      ///< out of each GPU, and as many into it
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;  ///< says which links they take
};

/// `bytes` as nccl-tests counts them: the full buffer (all_gather: its output, reduce_scatter: its input, all_to_all:
/// one rank's whole send buffer). Between measured sizes the time is linear in bytes; below the smallest it
/// falls as that of another number of GPUs which was measured there, and else stays; above the largest it goes on
/// along the line through its first and last point: the last two may be near. Between measured GPU counts and CTA
/// limits it is linear in those.
///
/// A profile with `collective_protocols` answers GPU counts without a curve by library_time(); below a curve's smallest
/// size too, scaled to meet the curve there; and fewer CTAs than any of its curves has move at most their channels'
/// rate.
/// Throws InputError when the profile has neither a curve of this kind nor protocols.
CollectiveTiming time_collective(const Machine& machine, CollectiveKind kind, int gpus, Bytes bytes, int max_ctas);

/// Whether this number of GPUs was measured, by whatever CTAs.
bool has_curve(const std::vector<CollectiveCurve>& curves, CollectiveKind kind, int gpus);

/// A collective on NCCL's windows of symmetric memory (nccl_symmetric, nccl_copy_engine), by the profile's curves of
/// that transport as time_collective() reads them without protocols. Throws InputError, field "transport", where it has
/// none of this kind.
CollectiveTiming time_in_windows(const Machine& machine, Transport transport, CollectiveKind kind, int gpus,
                                 Bytes bytes, int max_ctas);

/// An all-reduce that the library is told to do in the switch (NCCL_ALGO=NVLS): as time_collective() where it would by
/// itself, else by library_time() of that algorithm. Throws InputError where the profile has no protocol in the switch.
CollectiveTiming time_nvls_all_reduce(const Machine& machine, int gpus, Bytes bytes, int max_ctas);

}  // namespace weft
