// Edges from a kernel's start: what follows begins once all CTAs of the kernel are resident, whoever wrote the kernel.
// CUDA has them between kernel nodes of a graph, as the port "launch completion" of the node that is followed.
#pragma once

#include "calibration/device/handles.hpp"

namespace weft::calibration::device {

/// The kernel that was captured last on `stream`; null where the stream is not being captured. Throws ExecutionError
/// where what was captured last is no kernel, or more than one thing.
cudaGraphNode_t last_kernel(cudaStream_t stream);

/// What is captured on `stream` from now on follows the start of `kernel`; nothing where that is null.
void follow_start(cudaGraphNode_t kernel, cudaStream_t stream);

}  // namespace weft::calibration::device
