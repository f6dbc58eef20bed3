#include "scenarios/transfer_bound.hpp"

#include <algorithm>
#include <map>

namespace weft::scenarios {
namespace {

double host_cut_peak_GBps(const HostPaths& host, int group, int gpus) {
  const double pcie_GBps = std::min(group, gpus - group) * host.pcie.peak_GBps;
  if (group % host.gpus_per_node != 0) return pcie_GBps;
  const int nodes = (gpus + host.gpus_per_node - 1) / host.gpus_per_node, inside = group / host.gpus_per_node;
  return std::min(pcie_GBps, inside * (nodes - inside) * host.numa.peak_GBps);
}

/// Bytes that have to leave or enter a group of g GPUs.
double crossing_bytes(CollectiveKind kind, double bytes, int group, int gpus, bool adds_in_switch) {
  const double others = bytes * (gpus - group) / gpus;
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return others;
    case CollectiveKind::all_to_all:
      return group * others;
    case CollectiveKind::all_reduce:
      break;
  }
  return group == 1 && !adds_in_switch ? 2 * others : bytes;
}

}  // namespace

double cut_peak_GBps(const Fabric& fabric, int group, int gpus) {
  switch (fabric.kind) {
    case FabricKind::nvswitch:
      break;
    case FabricKind::mesh:
      return group * (gpus - group) * fabric.link.peak_GBps;
    case FabricKind::nvlink_pairs:
      if (group == 1 && gpus == 2) return fabric.link.peak_GBps;
      return (group % 2) * fabric.link.peak_GBps + host_cut_peak_GBps(fabric.host, group, gpus);
    case FabricKind::pcie:
      return host_cut_peak_GBps(fabric.host, group, gpus);
  }
  return std::min(group, gpus - group) * fabric.link.peak_GBps;
}

double transfer_bound_us(const Fabric& fabric, CollectiveKind kind, Bytes bytes, int gpus) {
  double longest_us = 0;
  for (int group = 1; group < gpus; ++group) {
    const double crossing = crossing_bytes(kind, static_cast<double>(bytes), group, gpus, fabric.multicast);
    longest_us = std::max(longest_us, crossing / bytes_per_us(cut_peak_GBps(fabric, group, gpus)));
  }
  return longest_us;
}

double uneven_transfer_us(const Fabric& fabric, Bytes mean_bytes, double imbalance, int group, int gpus) {
  const double others = (gpus - imbalance) / (gpus - 1);
  const double bytes_of_group = (imbalance + (group - 1) * others) * static_cast<double>(mean_bytes);
  return bytes_of_group * (gpus - group) / gpus / bytes_per_us(cut_peak_GBps(fabric, group, gpus));
}

double pull_bound_us(const Fabric& fabric, const CopyWorkload& copy, int gpus) {
  std::map<FabricLink, int> pulls;
  double longest_us = 0;
  for (int gpu = 0; gpu < gpus; ++gpu)
    for (int peer = 1; peer <= (copy.pattern == CopyPattern::one_peer ? 1 : gpus - 1); ++peer)
      for (const FabricLink& link : route(fabric, (gpu + peer) % gpus, gpu)) {
        const double bytes = static_cast<double>(copy.bytes) * ++pulls[link];
        longest_us = std::max(longest_us, bytes / bytes_per_us(rate_of(fabric, link).peak_GBps));
      }
  return longest_us;
}

}  // namespace weft::scenarios
