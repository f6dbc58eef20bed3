// Validation sets: cases drawn from a seed before anything is measured, so that nobody chooses what the predictions are
// judged on.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/parts.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// Collectives of chunks on urgent streams alone, or on ordinary ones as well.
enum class Priorities { urgent, both };

/// Some 900 cases (with both priorities 1,200), 550 of them overlapped, on 2, 4 or 8 GPUs; InputError for another
/// number. A question is a workload under every schedule that is asked about, and its GEMM and collective alone: its
/// cases stand together, so that they are measured next to each other. Questions stand in random order, so that the
/// beginning of a set is a fair sample too. Ids are QUESTION.CASE.
std::vector<scenarios::Case> draw_cases(std::uint64_t seed, int gpus, Priorities priorities = Priorities::urgent);

/// Time of the GEMM over that of the collective, roughly: both at the rates that an H200 reaches with large sizes.
double rough_duration_ratio(const scenarios::Parts& parts, int gpus);

}  // namespace weft::calibration::evidence
