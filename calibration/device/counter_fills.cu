#include "calibration/device/check.hpp"
#include "calibration/device/counter_fills.hpp"
#include "calibration/device/graph_nodes.hpp"

namespace weft::calibration::device {
namespace {

constexpr int warp = 32;  // one finds room beside a GEMM of the library, which leaves 1,024 registers of an SM
constexpr std::size_t most_bytes = 4 << 10;

struct Fill {
  void* data = nullptr;
  std::size_t elements = 0;
  unsigned element_bytes = 1, value = 0;
};

__global__ void __launch_bounds__(warp) counter_fill_kernel(Fill fill) {
  for (std::size_t i = threadIdx.x; i < fill.elements; i += warp) switch (fill.element_bytes) {
      case 1:
        static_cast<unsigned char*>(fill.data)[i] = static_cast<unsigned char>(fill.value);
        break;
      case 2:
        static_cast<unsigned short*>(fill.data)[i] = static_cast<unsigned short>(fill.value);
        break;
      default:
        static_cast<unsigned*>(fill.data)[i] = fill.value;
    }
}

/// So that the fill is as urgent as the GEMM behind it.
void take_priority(cudaGraphNode_t fill, const GraphEdges& after) {
  for (const cudaGraphNode_t node : after.nodes) {
    if (!is_of(node, cudaGraphNodeTypeKernel)) continue;
    cudaLaunchAttributeValue value{};
    WEFT_CHECK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    WEFT_CHECK(cudaGraphKernelNodeSetAttribute(fill, cudaLaunchAttributePriority, &value));
  }
}

cudaGraphNode_t replace(cudaGraph_t graph, cudaGraphNode_t node, const cudaMemsetParams& memset) {
  const GraphEdges before = dependencies_of(node), after = dependents_of(node);
  Fill fill{memset.dst, memset.width, memset.elementSize, memset.value};
  void* arguments[] = {&fill};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(counter_fill_kernel);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(warp);
  kernel.kernelParams = arguments;
  cudaGraphNode_t added = nullptr;
  WEFT_CHECK(cudaGraphAddKernelNode(&added, graph, nullptr, 0, &kernel));
  for (std::size_t i = 0; i < before.nodes.size(); ++i)
    WEFT_CHECK(cudaGraphAddDependencies(graph, &before.nodes[i], &added, &before.data[i], 1));
  for (std::size_t i = 0; i < after.nodes.size(); ++i)
    WEFT_CHECK(cudaGraphAddDependencies(graph, &added, &after.nodes[i], &after.data[i], 1));
  take_priority(added, after);
  return added;
}

}  // namespace

void fill_counters_by_kernels(cudaGraph_t graph,
                              const std::function<void(cudaGraphNode_t from, cudaGraphNode_t to)>& replaced) {
  for (const cudaGraphNode_t node : nodes_of(graph)) {
    if (!is_of(node, cudaGraphNodeTypeMemset)) continue;
    cudaMemsetParams memset{};
    WEFT_CHECK(cudaGraphMemsetNodeGetParams(node, &memset));
    if (memset.height != 1 || memset.width * memset.elementSize > most_bytes) continue;
    const cudaGraphNode_t added = replace(graph, node, memset);
    if (replaced) replaced(node, added);
    WEFT_CHECK(cudaGraphDestroyNode(node));
  }
}

}  // namespace weft::calibration::device
