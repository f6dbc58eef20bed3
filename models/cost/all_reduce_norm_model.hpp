// Cost model of the kernel that fuses an all-reduce, a residual add and an RMSNorm.
#pragma once

#include "models/cost/collective_model.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Reduces `bytes` (of one rank's partial sums) over `gpus` ranks, each of which reduces and stores its 1/gpus of the
/// rows: over multicast the switch adds up, else it pulls that share from its peers and stores the result to them. As
/// many bytes cross a port as for an all-reduce alone (bytes_out()). Without peer access the peers' bytes lie in host
/// memory that all GPUs map, as those of NCCL's shared-memory transport do: the links carry as many.
///
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
