#include "models/machine/fabric.hpp"

namespace weft {

const LinkRate& rate_of(const Fabric& fabric, const FabricLink& link) {
  switch (link.kind) {
    case LinkKind::pcie_up:
    case LinkKind::pcie_down:
      return fabric.host.pcie;
    case LinkKind::numa:
      return fabric.host.numa;
    case LinkKind::bridge:
      return fabric.host.bridge;
    case LinkKind::port_out:
    case LinkKind::port_in:
    case LinkKind::pair:
    case LinkKind::peer:
      break;
  }
  return fabric.link;
}

bool goes_over_host(const Fabric& fabric, int source, int destination) {
  const bool is_pair = source / 2 == destination / 2;
  return fabric.kind == FabricKind::pcie || (fabric.kind == FabricKind::nvlink_pairs && !is_pair);
}

bool any_goes_over_host(const Fabric& fabric, int gpus) { return goes_over_host(fabric, 0, gpus - 1); }

bool treats_gpus_alike(FabricKind kind) {
  switch (kind) {
    case FabricKind::nvswitch:
    case FabricKind::mesh:
      return true;
    case FabricKind::nvlink_pairs:
    case FabricKind::pcie:
      break;
  }
  return false;
}

Route route(const Fabric& fabric, int source, int destination) {
  if (goes_over_host(fabric, source, destination)) {
    const int first = source / fabric.host.gpus_per_node, last = destination / fabric.host.gpus_per_node;
    Route links{{LinkKind::pcie_up, source, source}};
    if (first != last) links.push_back({LinkKind::numa, first, last});
    links.push_back({LinkKind::bridge, last, last});
    links.push_back({LinkKind::pcie_down, destination, destination});
    return links;
  }
  if (fabric.kind == FabricKind::nvswitch)
    return {{LinkKind::port_out, source, source}, {LinkKind::port_in, destination, destination}};
  return {{fabric.kind == FabricKind::mesh ? LinkKind::peer : LinkKind::pair, source, destination}};
}

Fabric scaled(Fabric fabric, double factor) {
  for (LinkRate* rate : {&fabric.link, &fabric.host.pcie, &fabric.host.bridge, &fabric.host.numa}) rate->GBps *= factor;
  return fabric;
}

}  // namespace weft
