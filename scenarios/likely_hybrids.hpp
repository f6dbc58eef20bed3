// Which hybrids are worth a simulation: all of them ranked by a time that takes microseconds to work out.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/search.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Time of a hybrid that makes sense for the pair (families::why_not), as a pipeline of two stages: pieces of the GEMM,
/// one after the other, each alone on the SMs that transfers leave it, and their transfers, one after the other, each
/// at the least of the rates of its mover and of the links with all GPUs at work. A copy kernel fills all SMs, so that
/// its transfers and the GEMMs take turns. Left out is what hardly tells hybrids apart: contention for memory, power,
/// ranks that are late, and everything that launch order, priorities and kernel barriers change.
double estimated_hybrid_us(const PairWorkload& pair, int gpus, const ScheduleChoice& hybrid, const Machine& machine);

/// All of hybrid_choices() in the order in which they are worth looking at: first the best of every combination of
/// trigger, mover and pieces, so that no kind goes unseen; then those that differ in what the estimate sees; then those
/// that differ from one of them in what it does not see. Each of the three by the estimate; ties in the order of
/// hybrid_choices().
std::vector<ScheduleChoice> likely_hybrids(const PairWorkload& pair, int gpus, const SearchSpace& space,
                                           const Machine& machine);

}  // namespace weft::scenarios
