// The time that no transfer over a fabric can beat, at its links' datasheet rates.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Peak rate, in GB/s and one direction, out of the first `group` of `gpus` GPUs to the others, by whatever way.
double cut_peak_GBps(const Fabric& fabric, int group, int gpus);

/// B = `bytes` as nccl-tests counts them, W = `gpus`. The longest, over all groups of the first g GPUs, of what has to
/// leave or enter the group over its cut:
///   all_gather, reduce_scatter  (W-g)/W B
///   all_to_all                  g (W-g)/W B
///   all_reduce                  B, as partial sums or as sums; and of each GPU, since together the GPUs send at least
///                               2 (W-1) B, 2 (W-1)/W B, where the switch does not add up
double transfer_bound_us(const Fabric& fabric, CollectiveKind kind, Bytes bytes, int gpus);

/// Of an all-to-all in which one GPU sends, or receives, `imbalance` times the mean of `mean_bytes`, and the others
/// share the rest evenly: what has to cross between the first `group` GPUs, of which that one is the first, and the
/// others.
double uneven_transfer_us(const Fabric& fabric, Bytes mean_bytes, double imbalance, int group, int gpus);

/// Copies take the routes that the fabric has: the longest of any link's bytes over its peak.
double pull_bound_us(const Fabric& fabric, const CopyWorkload& copy, int gpus);

}  // namespace weft::scenarios
