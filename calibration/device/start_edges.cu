#include "calibration/device/start_edges.hpp"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {
namespace {

struct Capture {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  std::size_t count = 0;
};
Capture capture_of(cudaStream_t stream) {
  Capture capture;
  const cudaGraphEdgeData* edges = nullptr;
  WEFT_CHECK(
      cudaStreamGetCaptureInfo(stream, &capture.status, nullptr, nullptr, &capture.nodes, &edges, &capture.count));
  return capture;
}

}  // namespace

cudaGraphNode_t last_kernel(cudaStream_t stream) {
  const Capture capture = capture_of(stream);
  if (capture.status != cudaStreamCaptureStatusActive) return nullptr;
  cudaGraphNodeType type{};
  if (capture.count == 1) WEFT_CHECK(cudaGraphNodeGetType(capture.nodes[0], &type));
  if (capture.count != 1 || type != cudaGraphNodeTypeKernel)
    throw ExecutionError("an operation whose start is followed is not one kernel");
  return capture.nodes[0];
}

void signal_start(cudaGraphNode_t kernel, std::uint64_t* counter, cudaStream_t stream) {
  cudaGraphEdgeData edge{};
  edge.from_port = cudaGraphKernelNodePortLaunchCompletion;
  edge.type = cudaGraphDependencyTypeProgrammatic;
  WEFT_CHECK(cudaStreamUpdateCaptureDependencies(stream, &kernel, &edge, 1, cudaStreamSetCaptureDependencies));
  add_signal(counter, 1, stream);
}

}  // namespace weft::calibration::device
