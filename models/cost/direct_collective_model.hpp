// Cost model of collectives that no library does: kernels of one's own over peer access, or over the switch's
// multicast.
//
// Bytes out of each GPU's port, or into it where that is more. `bytes` as nccl-tests counts them (B), W = gpus:
//   one-shot    all_reduce: every rank loads the B of all others: (W-1) B
//   two-shot    as a ring: (W-1)/W B, all_reduce twice that
//   multimem    reduce_scatter: the switch loads all of every rank's B; all_gather: it stores B to every rank;
//               all_reduce: (W+1)/W B, since each rank's 1/W of the sum goes through its port besides
// What a CTA moves: two-shot loads B, and stores (W-1)/W B of an all-reduce to its peers; one-shot loads W B; multimem
// what goes through the port.
#pragma once

#include "models/cost/collective_model.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// By Transport::peer_kernel, which is two-shot, one_shot or multicast; see DirectCollective for the formula.
/// `max_ctas` 0: as many as the kernel takes by default. Throws InputError, field "transport", where the machine has no
/// such kernel or its profile does not say how it runs there.
CollectiveTiming time_direct_collective(const Machine& machine, Transport transport, CollectiveKind kind, int gpus,
                                        Bytes bytes, int max_ctas);

/// An all-reduce by `kernel`, two-shot or (multicast) in the switch, each of whose `ctas` CTAs also does its share of
/// what one of them alone would take `besides_us` for.
CollectiveTiming time_all_reduce_and_more(DirectCollective kernel, Transport transport, int gpus, double bytes,
                                          int ctas, double besides_us);

/// What a kernel loads from peers or stores to them, over all links of its GPU: each line is asked for, so that it is
/// less than copy engines move. 0: the profile does not say it.
double peer_kernel_GBps(const Machine& machine);

/// By any transport, the library's too: time_collective(), time_in_windows(), time_nvls_all_reduce() or
/// time_direct_collective().
CollectiveTiming time_over(const Machine& machine, Transport transport, CollectiveKind kind, int gpus, Bytes bytes,
                           int max_ctas);

/// Whether the profile says how kernels of our own that load from peers run there.
bool has_peer_kernels(const Machine& machine);
/// Whether its switch adds up and spreads, and the profile says how kernels run that let it.
bool has_switch_kernels(const Machine& machine);

/// Rows that some ranks bring to others, as the all-to-all, or where they are added the reduce-scatter, in which every
/// rank sends as much as the busiest port of this exchange carries; where it carries less the other way, faster by
///   collective_kernel.one_sided_gain x (1 - bytes that way / bytes this way)
/// of the transfer's time, but for what is added, which the CTAs limit and not the port. Throws InputError, field
/// "transport", where the profile does not say how a kernel of our own runs.
CollectiveTiming time_grouped_exchange(const Machine& machine, const GroupedExchange& exchange,
                                       const Schedule& schedule);

}  // namespace weft
