// GEMMs that store their tiles on peers, for the self-test.
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// An all-reduce of a GEMM's result whose tiles are stored on all ranks, which add them up in two halves. For two to
/// eight GPUs; `kernel` is one of own_kernels.
Schedule stored_on_peers(int gpus, const GemmKernel& kernel);

}  // namespace weft::calibration
