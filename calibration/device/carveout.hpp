// How an SM divides its memory between L1 cache and shared memory while a kernel runs.
#pragma once

#include <cuda_runtime_api.h>

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

/// Of a kernel that a GEMM may start beside: by default the SM would keep its memory as L1 cache, and a GEMM that needs
/// nearly all of it as shared memory would find room for one CTA less until the kernel is over.
inline void leave_shared_memory(const void* kernel) {
  WEFT_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
}

}  // namespace weft::calibration::device
