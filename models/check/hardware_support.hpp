// What the hardware executor can run today: everything else is refused with the reason, before any GPU is touched.
#pragma once

#include <optional>

#include "models/base/input_error.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

inline constexpr std::size_t max_summands = 8;           ///< slices that one `add` reads
inline constexpr std::size_t max_merged = 16;            ///< results that one `log_sum_exp_merge` reads
inline constexpr std::size_t max_attention_parts = 16;   ///< of one rank
inline constexpr std::size_t max_moved = 16;             ///< slices that one `gather` or `scatter` reads or writes
inline constexpr std::size_t max_norm_groups = 64;       ///< of tiles whose order a norm undoes
inline constexpr std::int64_t max_top_k_columns = 1024;  ///< that the largest are chosen from

/// Empty: the schedule, which must be valid (validation.hpp), can be run. The error's field names the operation.
std::optional<InputError> why_not_runnable(const Schedule& schedule);

inline bool is_runnable(const Schedule& schedule) { return !why_not_runnable(schedule); }
/// The same on GPUs of that kind: their memory has to hold the buffers, copies between them need peer access, products
/// of fp8 compute capability 8.9, and the executor is made for CUDA.
std::optional<InputError> why_not_runnable(const Schedule& schedule, const Machine& machine);
inline bool is_runnable(const Schedule& schedule, const Machine& machine) {
  return !why_not_runnable(schedule, machine);
}
inline void require_runnable(const Schedule& schedule) {
  if (const auto error = why_not_runnable(schedule)) throw *error;
}

}  // namespace weft
