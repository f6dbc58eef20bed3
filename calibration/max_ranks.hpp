// How many GPUs one run may have.
#pragma once

namespace weft::calibration {

/// What the ranks share has a place for each, as the arguments of kernels that reach their peers have.
inline constexpr int max_ranks = 16;

}  // namespace weft::calibration
