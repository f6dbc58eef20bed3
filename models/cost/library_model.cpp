#include "models/cost/library_model.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/base/input_error.hpp"

namespace weft {
namespace {

bool can_do(const CollectiveProtocol& protocol, CollectiveKind kind) {
  switch (protocol.algorithm) {
    case CollectiveAlgorithm::ring:
      return kind != CollectiveKind::all_to_all;
    case CollectiveAlgorithm::direct:
      return kind == CollectiveKind::all_to_all;
    case CollectiveAlgorithm::in_switch:
      break;
  }
  return kind == CollectiveKind::all_reduce;
}

int steps_of(CollectiveAlgorithm algorithm, CollectiveKind kind, int gpus) {
  if (algorithm == CollectiveAlgorithm::in_switch) return 1;
  return kind == CollectiveKind::all_reduce ? 2 * (gpus - 1) : gpus - 1;
}

}  // namespace

double bytes_out(CollectiveAlgorithm algorithm, CollectiveKind kind, int gpus, double bytes) {
  if (algorithm == CollectiveAlgorithm::in_switch) return bytes * (gpus + 1) / gpus;
  const double once = bytes * (gpus - 1) / gpus;
  return kind == CollectiveKind::all_reduce ? 2 * once : once;
}

std::vector<LinkLoad> link_loads(const Fabric& fabric, CollectiveAlgorithm algorithm, int gpus) {
  const bool is_ring = algorithm == CollectiveAlgorithm::ring && fabric.kind != FabricKind::mesh;
  std::vector<FabricLink> crossed;  // a link for each message that crosses it: each GPU sends one to all its receivers
  const int receivers = is_ring ? 1 : gpus - 1;
  crossed.reserve(2 * static_cast<std::size_t>(gpus * receivers));
  for (int gpu = 0; gpu < gpus; ++gpu)
    for (int step = 1; step <= receivers; ++step) {
      const Route links = route(fabric, gpu, (gpu + step) % gpus);
      crossed.insert(crossed.end(), links.begin(), links.end());
    }
  std::sort(crossed.begin(), crossed.end());
  std::vector<LinkLoad> loads;
  loads.reserve(2 * static_cast<std::size_t>(gpus));
  for (auto first = crossed.begin(); first != crossed.end();) {
    const auto last = std::find_if(first, crossed.end(), [&](const FabricLink& link) { return link != *first; });
    const auto messages = static_cast<double>(last - first);
    loads.push_back({*first, is_ring ? messages : messages / (gpus - 1)});
    first = last;
  }
  return loads;
}

BusiestLink busiest_link(const Fabric& fabric, CollectiveAlgorithm algorithm, int gpus) {
  BusiestLink busiest;
  for (const LinkLoad& load : link_loads(fabric, algorithm, gpus)) {
    const double GBps = rate_of(fabric, load.link).GBps / load.share;
    if (busiest.GBps == 0 || GBps < busiest.GBps) busiest = {GBps, load.link.kind};
  }
  return busiest;
}

LibraryTime library_time(const Machine& machine, CollectiveKind kind, int gpus, double bytes, int max_ctas,
                         std::optional<CollectiveAlgorithm> only) {
  std::optional<LibraryTime> fastest;
  for (std::size_t i = 0; i < machine.collective_protocols.size(); ++i) {
    const CollectiveProtocol& protocol = machine.collective_protocols[i];
    if (!can_do(protocol, kind) || (only && protocol.algorithm != *only)) continue;
    LibraryTime time;
    time.protocol = i;
    time.algorithm = protocol.algorithm;
    time.channels = max_ctas > 0 ? std::min(max_ctas, protocol.channels) : protocol.channels;
    const double hop_us = any_goes_over_host(machine.fabric, gpus) ? protocol.host_hop_us : protocol.hop_us;
    time.latency_us = protocol.base_us + steps_of(protocol.algorithm, kind, gpus) * hop_us;
    const auto [of_links_GBps, busiest] = busiest_link(machine.fabric, protocol.algorithm, gpus);
    const double by_links_GBps = protocol.efficiency * of_links_GBps;
    const double by_channels_GBps = time.channels * protocol.channel_GBps;
    time.is_limited_by_channels = by_channels_GBps < by_links_GBps;
    time.busiest = busiest;
    const double GBps = std::min(by_links_GBps, by_channels_GBps);
    time.transfer_us = bytes_out(protocol.algorithm, kind, gpus, bytes) / bytes_per_us(GBps);
    if (!fastest || time.time_us() < fastest->time_us()) fastest = time;
  }
  if (!fastest)
    throw InputError("collectives", "expected a curve or a protocol of " + std::string(name_of(kind)) +
                                        (only == CollectiveAlgorithm::in_switch ? " in the switch" : "") +
                                        " in profile " + machine.name);
  return *fastest;
}

}  // namespace weft
