// Schedules in the words of the people who run them. `describe` has the words of a case.
#pragma once

#include <string>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// "4 chunks, NCCL", "pushes shard by shard", "async TP".
std::string words_of(const ScheduleChoice& choice);

/// By its id, or by these words.
bool is_called(const Case& request, const std::string& name);

/// What schedules that differ in details only have in common: "chunks, NCCL", "pushes shard by shard".
std::string kind_of(const ScheduleChoice& choice);

inline constexpr const char* vllm_all_reduce = "vLLM (its own all-reduce)";

/// Which software runs it today, besides `weft run`, on such a machine; empty: none that is known.
std::vector<std::string> other_software(const Case& request, const Machine& machine);

}  // namespace weft::scenarios
