// What a CUDA graph is made of.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace weft::calibration::device {

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph);

/// Nodes beside the edges to them.
struct GraphEdges {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<cudaGraphEdgeData> data;
};
/// To those that `node` follows.
GraphEdges dependencies_of(cudaGraphNode_t node);
/// To those that follow `node`.
GraphEdges dependents_of(cudaGraphNode_t node);

/// The runtime has no word for what only the driver can capture, such as the waits for values in memory of NCCL's
/// copy-engine collectives: those are of no type.
bool is_of(cudaGraphNode_t node, cudaGraphNodeType wanted);

}  // namespace weft::calibration::device
