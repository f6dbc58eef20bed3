#include "calibration/device/graph_nodes.hpp"

#include "calibration/device/check.hpp"

namespace weft::calibration::device {
namespace {

/// `ask` is cudaGraphNodeGetDependencies() or cudaGraphNodeGetDependentNodes().
template <class Ask>
GraphEdges edges_of(cudaGraphNode_t node, const Ask& ask) {
  std::size_t count = 0;
  WEFT_CHECK(ask(node, nullptr, nullptr, &count));
  GraphEdges edges{std::vector<cudaGraphNode_t>(count), std::vector<cudaGraphEdgeData>(count)};
  if (count > 0) WEFT_CHECK(ask(node, edges.nodes.data(), edges.data.data(), &count));
  return edges;
}

}  // namespace

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  WEFT_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) WEFT_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

GraphEdges dependencies_of(cudaGraphNode_t node) { return edges_of(node, cudaGraphNodeGetDependencies); }

GraphEdges dependents_of(cudaGraphNode_t node) { return edges_of(node, cudaGraphNodeGetDependentNodes); }

bool is_of(cudaGraphNode_t node, cudaGraphNodeType wanted) {
  cudaGraphNodeType type{};
  const cudaError_t result = cudaGraphNodeGetType(node, &type);
  if (result == cudaErrorUnknown) {
    cudaGetLastError();  // no lasting error
    return false;
  }
  WEFT_CHECK(result);
  return type == wanted;
}

}  // namespace weft::calibration::device
