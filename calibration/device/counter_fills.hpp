// Fills of the GEMM library's tile counters as kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace weft::calibration::device {

/// Makes kernels of the memsets of a few words in a captured graph, and tells `replaced` of each, where it is not
/// empty. The library fills the tile counter of a large GEMM by one, whose node waits for copy engines: between GEMMs
/// beside copies to a peer 8 to 35 us were seen, of which a kernel needs three.
void fill_counters_by_kernels(cudaGraph_t graph,
                              const std::function<void(cudaGraphNode_t from, cudaGraphNode_t to)>& replaced);

}  // namespace weft::calibration::device
