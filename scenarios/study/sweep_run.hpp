// A sweep on all cores, and on all ranks: each answers every n-th chunk, and rank 0 writes them down in their order.
#pragma once

#include <vector>

#include "models/base/progress.hpp"
#include "scenarios/study/ranks.hpp"
#include "scenarios/study/sweep_answers.hpp"
#include "scenarios/study/sweep_store.hpp"

namespace weft::scenarios::study {

/// What all ranks have alike.
struct SweepWork {
  const Sweep& sweep;
  const std::vector<Machine>& machines;
  Executor& executor;  ///< is called by several threads at once
};

/// On rank 0: answers what the store lacks, as the answers come. `progress` counts cases, those of earlier runs
/// included, and those of other ranks once they are there.
void run_sweep(const SweepWork& work, SweepStore& store, Ranks& ranks, const Progress& progress = {});

/// On the others: sends its share to rank 0. Throws ExecutionError where rank 0 has another sweep, other profiles or
/// another version of weft.
void help_sweep(const SweepWork& work, Ranks& ranks);

}  // namespace weft::scenarios::study
