// One GEMM whose blocks of rows go round the ranks and are added up by its tiles, for the self-test.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// Reduce-scatters and all-reduces of a GEMM's result by each persistent kernel of our own: rank r computes the rows of
/// rank - 1 first, whose tiles are stored on the next rank, which adds them to its own; the owner's rows come last.
/// Between two barriers, and in one launch in which the ranks meet. For two to eight GPUs.
std::vector<Schedule> rotation_schedules(int gpus);

}  // namespace weft::calibration
