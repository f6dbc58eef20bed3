// One GEMM whose blocks of rows go round the ranks and are added up by its tiles, for the self-test.
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// A reduce-scatter or all-reduce (`kind`) of a GEMM's result: rank r computes the rows of rank - 1 first, whose tiles
/// are stored on the next rank, which adds them to its own; the owner's rows come last. For two to eight GPUs; `kernel`
/// is one of own_kernels that is persistent.
Schedule sums_going_round(CollectiveKind kind, int gpus, const GemmKernel& kernel);

}  // namespace weft::calibration
