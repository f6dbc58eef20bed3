// The time that no schedule can beat.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Lower bound, in us, on an iteration of `workload` on the first `gpus` GPUs. W = gpus, B = bytes of the collective.
///
///   compute  = the longer of  flops / (SMs x tensor flops per clock x maximum clock)
///                       and   (operands read and written once - what the L2 may still hold) / HBM rate
///   transfer = what has to cross the fabric at its datasheet rates, see transfer_bound.hpp; through a switch the bytes
///              of one GPU's port: all-reduce 2 (W-1)/W B, where the switch adds up B; all-gather, reduce-scatter,
///              all-to-all (W-1)/W B; a pull B, from all peers (W-1) B
///
/// GEMM alone: compute. Collective or copy alone: transfer. gemm||all_reduce: the longer of the two. A pair: the longer
/// of the two, plus what cannot be hidden. A wave is one tile of 64 x 64 on every SM, the finest that GEMM libraries
/// use, so one wave is the smallest part of the GEMM that can be finished before the rest:
///
///   gemm+X   max(compute + transfer of the last wave, first wave + transfer)
///   X+gemm   max(compute, transfer + last wave): the own shard needs no transfer, so compute can begin at once
///
/// transformer_layer, in the steady state of a stack: the longest of tensor work, weights and cached keys and values
/// through HBM, and transfer, all summed over the layer. Only the active experts' share of tensor work counts for a
/// mixture of experts. With fp8 inputs attention and partial sums stay bf16.
///
/// distributed_attention: the longer of tensor work and the bytes into one GPU: of each other GPU the keys and values
/// that its queries see, or the results over them, whichever is less.
///
/// A GEMM or a collective that was `measured` faster than its compute or transfer is as long as it was measured; one
/// that is left out takes 0 us.
double bound_us(const Workload& workload, int gpus, const Machine& machine, const Measured& measured = {});

}  // namespace weft::scenarios
