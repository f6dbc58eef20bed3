// On which machines the GEMM kernels of models/schedule/own_kernels.hpp run.
#pragma once

#include "models/machine/machine.hpp"

namespace weft {

inline bool runs_own_kernels(const Machine& machine) {
  return machine.runtime == Runtime::cuda && machine.architecture == Architecture::hopper;
}

}  // namespace weft
