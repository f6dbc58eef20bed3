#include "calibration/fitting/launch_gaps.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "models/base/statistics.hpp"

namespace weft::calibration::fitting {
namespace {

/// One operation on one GPU: its kernel, maybe after a fill and before a reduction.
struct Node {
  double start_us = std::numeric_limits<double>::max();  ///< of the first kernel that is no fill
  double end_us = 0;
  bool has_fill = false, is_filled_by_kernel = false, is_nccl_kernel = false;
};

struct Nodes {
  std::vector<Node> gemms, collectives;  ///< by start
};

std::map<int, Nodes> nodes_by_gpu(const std::vector<KernelRecord>& kernels) {
  std::map<std::pair<int, std::string>, Node> nodes;
  for (const KernelRecord& kernel : kernels) {
    Node& node = nodes[{kernel.gpu, kernel.operation}];
    node.end_us = std::max(node.end_us, kernel.end_us);
    if (is_counter_fill(kernel)) {
      node.has_fill = true;
      node.is_filled_by_kernel = kernel.launch.kernel != "memset";
      continue;
    }
    node.start_us = std::min(node.start_us, kernel.start_us);
    node.is_nccl_kernel = node.is_nccl_kernel || is_nccl_kernel(kernel);
  }
  std::map<int, Nodes> by_gpu;
  for (const auto& [key, node] : nodes) {
    Nodes& gpu = by_gpu[key.first];
    (node.is_nccl_kernel ? gpu.collectives : gpu.gemms).push_back(node);
  }
  const auto earlier = [](const Node& a, const Node& b) { return a.start_us < b.start_us; };
  for (auto& [id, gpu] : by_gpu) {
    std::sort(gpu.gemms.begin(), gpu.gemms.end(), earlier);
    std::sort(gpu.collectives.begin(), gpu.collectives.end(), earlier);
  }
  return by_gpu;
}

void add_gemm(GapSamples& samples, const Node& before, const Node& gemm) {
  std::vector<double>& gaps = gemm.is_filled_by_kernel ? samples.fill : gemm.has_fill ? samples.reset : samples.kernel;
  gaps.push_back(gemm.start_us - before.end_us);
}

void add_chunks(GapSamples& samples, const RecordedPair& pair, const Nodes& nodes) {
  const std::vector<Node>& first = pair.collective_comes_first ? nodes.collectives : nodes.gemms;
  const std::vector<Node>& second = pair.collective_comes_first ? nodes.gemms : nodes.collectives;
  if (pair.collective_comes_first) {
    add_gemm(samples, first[0], second[0]);
  } else {
    for (std::size_t i = 1; i < first.size(); ++i) add_gemm(samples, first[i - 1], first[i]);
  }
  for (std::size_t i = 1; i < second.size(); ++i) {
    const bool is_alone = first.back().end_us < second[i].start_us;
    if (is_alone && !second[i].has_fill)
      samples.join.push_back(second[i].start_us - std::max(first[i].end_us, second[i - 1].end_us));
  }
}

std::optional<double> median_of(const std::vector<double>& samples) {
  return samples.empty() ? std::nullopt : std::optional(median(samples));
}

}  // namespace

bool is_counter_fill(const KernelRecord& kernel) {
  return kernel.launch.kernel == "memset" || kernel.launch.kernel == "counter_fill_kernel";
}

bool is_nccl_kernel(const KernelRecord& kernel) { return kernel.launch.kernel.find("nccl") != std::string::npos; }

GapSamples collect_gaps(const std::vector<RecordedPair>& pairs) {
  GapSamples samples;
  for (const RecordedPair& pair : pairs) {
    for (const auto& [gpu, nodes] : nodes_by_gpu(pair.kernels)) {
      if (nodes.gemms.empty() || nodes.gemms.size() != nodes.collectives.size()) continue;
      if (!pair.is_serial)
        add_chunks(samples, pair, nodes);
      else if (pair.collective_comes_first)
        add_gemm(samples, nodes.collectives[0], nodes.gemms[0]);
      else
        samples.collective.push_back(nodes.collectives[0].start_us - nodes.gemms[0].end_us);
    }
  }
  return samples;
}

LaunchGaps launch_gaps(const GapSamples& samples) {
  LaunchGaps gaps{median_of(samples.kernel), median_of(samples.collective), median_of(samples.join), {}, {}};
  const auto added_us = [&](const std::vector<double>& filled) -> std::optional<double> {
    if (!gaps.kernel_us || filled.empty()) return std::nullopt;
    return std::max(0.0, median(filled) - *gaps.kernel_us);
  };
  gaps.counter_reset_us = added_us(samples.reset);
  gaps.counter_fill_us = added_us(samples.fill);
  return gaps;
}

}  // namespace weft::calibration::fitting
