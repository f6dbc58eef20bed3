// What the files of the families know and others ask; family_rules.hpp has what all of them say. Sizes have been
// checked (check_sizes) and the GPUs exist. InputError as build().
#pragma once

#include <optional>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

class Program;

/// What a ficco case cuts, in one piece: every shard is transferred whole, and one GEMM follows. The transport is that
/// of the case.
Schedule build_undivided_ficco(const Case& request);
/// signaling of all_gather+gemm. Throws InputError where the groups are others than shard_groups().
void add_flagged_gather(Program& program, const Case& request, const Machine& machine);
/// Distributed attention on one stream: everything is exchanged before the attention that needs it.
Schedule build_serial_attention(const Case& request, const AttentionWorkload& attention, const Machine& machine);
Schedule build_layer(const Case& request, const LayerWorkload& layer);
Schedule build_lone_kernel(const Case& request, const AttentionKernelWorkload& attention);
Schedule build_lone_kernel(const Case& request, const RowKernelWorkload& work, const Machine& machine);

/// The groups of signaling's all_gather+gemm: one for each shard, its waves on `machine` rounded up.
Signaling shard_groups(const Case& request, const Machine& machine);
/// The groups that a latency prediction likes best on `machine`, whatever those of the case: best first, and at the end
/// the choice of the paper's Algorithm 1 where that is another one. group_search.hpp has the prediction.
std::vector<Signaling> best_signalings(const Case& request, const Machine& machine);
/// The case's token_split with the splits that token_split_search.hpp likes best, best first.
std::vector<TokenSplit> best_token_splits(const Case& request, const Machine& machine);

/// Why a hybrid's choices make no sense together or for this pair, by the first key that does not fit; empty where they
/// do.
std::optional<InputError> why_not(const Hybrid& hybrid, const PairWorkload& pair, int gpus);

/// What ficco can be for this op, in the order of its keys; nothing for an op that it does not have. Copy engines can
/// do every form. A collective of NCCL brings a step's chunks only where they are whole rows of an all-gather, and
/// where no GEMM needs the received ones in one block without the own one, which lies between them.
std::vector<Ficco> ficco_points(PairOp op);

}  // namespace weft::scenarios::families
