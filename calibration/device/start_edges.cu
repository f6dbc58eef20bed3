#include <cuda.h>

#include <vector>

#include "calibration/device/driver_function.hpp"
#include "calibration/device/graph_nodes.hpp"
#include "calibration/device/start_edges.hpp"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {
namespace {

struct Capture {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;  ///< that the next one will follow
  std::size_t count = 0;
  bool is_active() const { return status == cudaStreamCaptureStatusActive; }
};
Capture capture_of(cudaStream_t stream) {
  Capture capture;
  const cudaGraphEdgeData* edges = nullptr;
  WEFT_CHECK(cudaStreamGetCaptureInfo(stream, &capture.status, nullptr, &capture.graph, &capture.nodes, &edges,
                                      &capture.count));
  return capture;
}

/// `node` itself where it follows none; null where it is none either, or was `seen`, whose answer is known.
cudaGraphNode_t first_kernel_up_to(cudaGraphNode_t node, const Captured& before, Captured& seen) {
  if (before.contains(node) || !seen.insert(node).second) return nullptr;
  for (const cudaGraphNode_t earlier : dependencies_of(node).nodes)
    if (const cudaGraphNode_t kernel = first_kernel_up_to(earlier, before, seen)) return kernel;
  return is_of(node, cudaGraphNodeTypeKernel) ? node : nullptr;
}

}  // namespace

Captured captured_on(cudaStream_t stream) {
  const Capture capture = capture_of(stream);
  if (!capture.is_active()) return {};
  const std::vector<cudaGraphNode_t> nodes = nodes_of(capture.graph);
  return {nodes.begin(), nodes.end()};
}

cudaGraphNode_t first_kernel_since(const Captured& before, cudaStream_t stream) {
  const Capture capture = capture_of(stream);
  if (!capture.is_active()) return nullptr;
  Captured seen;
  for (std::size_t i = 0; i < capture.count; ++i)
    if (const cudaGraphNode_t kernel = first_kernel_up_to(capture.nodes[i], before, seen)) return kernel;
  throw ExecutionError("an operation whose start is followed has no kernel");
}

void signal_start(cudaGraphNode_t kernel, std::uint64_t* counter, cudaStream_t stream) {
  cudaGraphEdgeData edge{};
  edge.from_port = cudaGraphKernelNodePortLaunchCompletion;
  edge.type = cudaGraphDependencyTypeProgrammatic;
  WEFT_CHECK(cudaStreamUpdateCaptureDependencies(stream, &kernel, &edge, 1, cudaStreamSetCaptureDependencies));
  add_signal(counter, 1, stream);
}

void wait_for_start(std::uint64_t* counter, cudaStream_t stream) {
  static const auto run = driver_function<decltype(&cuStreamBatchMemOp)>("cuStreamBatchMemOp",
                                                                         "the driver has no stream memory operations");
  const auto address = reinterpret_cast<CUdeviceptr>(counter);
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operations[0].waitValue.address = address;
  operations[0].waitValue.value64 = 1;
  operations[0].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  operations[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operations[1].writeValue.address = address;
  operations[1].writeValue.value64 = 0;
  operations[1].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  if (run(stream, 2, operations, 0) != CUDA_SUCCESS) throw ExecutionError("a stream memory operation was refused");
}

}  // namespace weft::calibration::device
