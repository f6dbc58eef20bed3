#include "calibration/device/launcher.hpp"

#include "calibration/device/counter_fills.hpp"

namespace weft::calibration::device {

void Launcher::prepare(const EnqueueHooks& hooks) {
  if (!is_graph()) return;
  // Thread-local: NCCL's own threads may allocate meanwhile.
  WEFT_CHECK(cudaStreamBeginCapture(program_.origin(), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    program_.enqueue(hooks);
  } catch (...) {
    if (cudaStreamEndCapture(program_.origin(), &graph) == cudaSuccess) graph_ = Graph(graph);
    throw;
  }
  WEFT_CHECK(cudaStreamEndCapture(program_.origin(), &graph));
  graph_ = Graph(graph);
  fill_counters_by_kernels(graph, hooks.replaced);
  cudaGraphExec_t executable = nullptr;
  // Without the second flag the priorities of the streams that were captured are lost (and with them who gets the SMs
  // where two branches are ready at once): PyTorch sets it too.
  constexpr auto flags = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUseNodePriority;
  WEFT_CHECK(cudaGraphInstantiate(&executable, graph, flags));
  executable_ = GraphExec(executable);
}

void Launcher::launch(const EnqueueHooks& hooks) const {
  if (is_graph())
    WEFT_CHECK(cudaGraphLaunch(executable_.get(), program_.origin()));
  else
    program_.enqueue(hooks);
}

}  // namespace weft::calibration::device
