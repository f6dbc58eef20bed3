// Edges from a kernel's start: what follows begins once all CTAs of the kernel are resident, whoever wrote the kernel.
// CUDA has them between kernel nodes of a graph, as the port "launch completion" of the node that is followed. What
// follows such an edge starts then, but counts as ended only when the followed kernel has (seen on H100s). So a kernel
// behind it counts, and who follows the start waits for the count: by a stream memory operation, which takes longer
// than a kernel that spins, but no SM from the kernel whose start is awaited.
#pragma once

#include <cstdint>
#include <set>

#include "calibration/device/handles.hpp"

namespace weft::calibration::device {

/// The nodes of the graph that `stream` is captured into; none where it is not being captured.
using Captured = std::set<cudaGraphNode_t>;
Captured captured_on(cudaStream_t stream);

/// The first kernel of what has been captured on `stream` since; null where it is not being captured. Throws
/// ExecutionError where no kernel was.
cudaGraphNode_t first_kernel_since(const Captured& before, cudaStream_t stream);

/// Adds 1 to the counter once all CTAs of `kernel` are resident. `stream` is captured, and follows nothing else then.
void signal_start(cudaGraphNode_t kernel, std::uint64_t* counter, cudaStream_t stream);

/// Holds `stream` until the counter is 1, and sets it back to 0. It has no time limit of its own: what is followed
/// begins once all before it has ended, which has. Throws ExecutionError where the driver has no such operations.
void wait_for_start(std::uint64_t* counter, cudaStream_t stream);

}  // namespace weft::calibration::device
