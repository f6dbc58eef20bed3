// On which machines kernels run that not every GPU has: those of models/schedule/own_kernels.hpp, products of fp8.
#pragma once

#include "models/machine/machine.hpp"

namespace weft {

inline bool runs_own_kernels(const Machine& machine) {
  return machine.runtime == Runtime::cuda && machine.architecture == Architecture::hopper;
}

/// The tensor cores of compute capability 8.9 and newer multiply e4m3 (CUDA C++ programming guide, table of compute
/// capabilities); cuBLASLt has kernels for them.
inline bool multiplies_fp8(const Machine& machine) {
  using enum Architecture;
  return machine.runtime == Runtime::cuda &&
         (machine.architecture == ada || machine.architecture == hopper || machine.architecture == blackwell);
}

}  // namespace weft
