// Cost model of the kernel that fuses an all-reduce, a residual add and an RMSNorm.
#pragma once

#include "models/cost/collective_model.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Bytes out of each GPU's port, and as many into it, to reduce `bytes` (of one rank's partial sums) over `gpus` ranks.
/// Every rank reduces and stores its 1/gpus of the rows:
///   peer_kernel  it pulls that share from gpus - 1 peers, and stores the result to gpus - 1 peers:
///                2 (gpus - 1)/gpus x bytes each way, as a ring
///   multicast    each GPU sends its share for every rank to the switch, and gets one sum back (out bytes, in
///                bytes/gpus); it stores its share of the result once, and gets every rank's (out bytes/gpus, in
///                bytes): (1 + 1/gpus) x bytes each way
/// Without peer access the peers' bytes lie in host memory that all GPUs map, as those of NCCL's shared-memory
/// transport do: the links carry as many.
double port_bytes(Transport transport, int gpus, double bytes);

/// With all CTAs at work and nobody beside: the all-reduce that it contains, as direct_collective_model.hpp has it of
/// `direct_collectives` (else of the form in `fused_norm_kernel`), while each CTA also norms its share of the rank's
/// rows at the rate at which an SM draws from memory. Throws InputError where the machine cannot run this form, or its
/// profile does not say how it runs there.
CollectiveTiming time_all_reduce_norm(const Machine& machine, Transport transport, int ctas, int gpus, Bytes bytes);

/// Can the machine run one of the forms, which need peer access, and does its profile say how?
bool has_all_reduce_norm(const Machine& machine);

/// What the library of such kernels would use on this machine: multicast where the switch has it.
Transport all_reduce_norm_transport(const Machine& machine);

}  // namespace weft
