// One function for each family, each in its own file; docs of the families stand there. Sizes have been checked
// (check_sizes) and the GPUs exist. InputError as build().
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

Schedule build_serial(const Case& request);
Schedule build_decomposition(const Case& request);
/// Delays are counted in clocks of `machine`.
Schedule build_async_tp(const Case& request, const Machine& machine);
Schedule build_concurrent(const Case& request);
Schedule build_ficco(const Case& request);
/// What a ficco case cuts, in one piece: every shard is transferred whole, and one GEMM follows. The transport is that
/// of the case.
Schedule build_undivided_ficco(const Case& request);
/// Groups are filled in, and counted in waves of `machine`.
Schedule build_signaling(const Case& request, const Machine& machine);
/// signaling of all_gather+gemm. Throws InputError where the groups are others than shard_groups().
Schedule build_flagged_gather(const Case& request, const Machine& machine);
/// `first` is filled in. Multicast is used where the switch of `machine` has it.
Schedule build_token_split(const Case& request, const Machine& machine);
/// A tile group's tiles are those that are the fastest on `machine`.
Schedule build_hybrid(const Case& request, const Machine& machine);
/// `stages` is filled in; a margin of SMs is one of `machine`.
Schedule build_staged(const Case& request, const Machine& machine);
/// Distributed attention on one stream: everything is exchanged before the attention that needs it.
Schedule build_serial_attention(const Case& request, const AttentionWorkload& attention);
Schedule build_layer(const Case& request, const LayerWorkload& layer);

/// The groups of signaling's all_gather+gemm: one for each shard, its waves on `machine` rounded up.
Signaling shard_groups(const Case& request, const Machine& machine);
/// The groups that a latency prediction likes best on `machine`, whatever those of the case: best first, and at the end
/// the choice of the paper's Algorithm 1 where that is another one. group_search.hpp has the prediction.
std::vector<Signaling> best_signalings(const Case& request, const Machine& machine);
/// The case's token_split with the splits that token_split_search.hpp likes best, best first.
std::vector<TokenSplit> best_token_splits(const Case& request, const Machine& machine);

/// Throws InputError where the choices of a hybrid make no sense together, or its pieces do not divide the sizes.
void check_hybrid(const Case& request);

/// With the number of stages that MagiAttention's solver would take; see staged_attention.cpp.
Staged searched_stages(const Case& request, const Machine& machine);

/// What ficco can be for this op, in the order of its keys; nothing for an op that it does not have. Copy engines can
/// do every form. A collective of NCCL brings a step's chunks only where they are whole rows of an all-gather, and
/// where no GEMM needs the received ones in one block without the own one, which lies between them.
std::vector<Ficco> ficco_points(PairOp op);

}  // namespace weft::scenarios::families
