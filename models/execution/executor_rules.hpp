// What every executor promises (executor.hpp), as complaints, so that the simulator and the GPUs are held to the same
// rules: the simulator by a test, the GPUs by weft_device_selftest.
#pragma once

#include <string>
#include <vector>

#include "models/execution/executor.hpp"

namespace weft {

/// What is wrong with a run of the schedule; empty: nothing. Its spans are of known operations, each once on a GPU and
/// on its own stream, and lie within one iteration, but for what GPUs wait for those that started later. An executor
/// may show GPU 0 alone where all are alike, and count what only synchronises to another operation.
std::vector<std::string> broken_rules(const Schedule& schedule, const Trace& trace);

/// Whether nothing is left to do of an operation on a rank, so that no span has to show it: an all-reduce of one rank,
/// in place, and what the rank has no rows of.
bool has_nothing_to_do(const Operation& operation, int rank, int gpus);

/// A GEMM, a copy from the next rank and an all-reduce on two GPUs, on two streams that join: what both executors run.
Schedule schedule_for_rules();

/// What is wrong with how an executor treats schedule_for_rules(): its trace, the time of one of an iteration's equal
/// parts, and how it refuses what it cannot run.
std::vector<std::string> broken_rules(Executor& executor, const Machine& machine);

}  // namespace weft
