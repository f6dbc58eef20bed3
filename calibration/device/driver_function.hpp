// Functions of the driver, which is not linked: a machine without one still loads what needs them.
#pragma once

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

/// As CUDA 12.0 has it. Throws ExecutionError, which says what is `missing`, where the driver is older.
template <class Function>
Function driver_function(const char* name, const char* missing) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  WEFT_CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) throw ExecutionError(missing);
  return reinterpret_cast<Function>(function);
}

}  // namespace weft::calibration::device
