// How the GPUs of one server are connected: a small graph of links of one direction each, and the route of data from
// one GPU to another.
//
//   nvswitch      every GPU has a port into and a port out of a switch that carries all of them at once
//   nvlink_pairs  GPUs 0 and 1, 2 and 3, … have a link of their own; the others meet over the host
//   pcie          all GPUs meet over the host
//   mesh          every GPU has a link to each other one
//
// Over the host data goes up its GPU's PCIe link to the GPU's NUMA node, along the NUMA link where the other GPU
// belongs to another node, through that node's host bridge, and down the other GPU's PCIe link. Without peer access it
// is written to and read from that node's memory on the way, which then stands in the bridge's place.
#pragma once

#include <boost/container/static_vector.hpp>
#include <compare>
#include <vector>

#include "models/base/names.hpp"

namespace weft {

enum class FabricKind { nvswitch, nvlink_pairs, pcie, mesh };
template <>
struct NamesOf<FabricKind> {
  static constexpr std::array names{std::pair{FabricKind::nvswitch, std::string_view{"nvswitch"}},
                                    std::pair{FabricKind::nvlink_pairs, std::string_view{"nvlink_pairs"}},
                                    std::pair{FabricKind::pcie, std::string_view{"pcie"}},
                                    std::pair{FabricKind::mesh, std::string_view{"mesh"}}};
};

/// Of one direction.
struct LinkRate {
  double GBps = 0;       ///< what is left after the protocol
  double peak_GBps = 0;  ///< datasheet; bounds use it
};

/// The paths of nvlink_pairs and pcie over the host.
struct HostPaths {
  int gpus_per_node = 1;    ///< GPUs of one NUMA node
  LinkRate pcie;            ///< a GPU's link
  LinkRate bridge;          ///< what all transfers through one node share; without peer access half its memory's rate
  LinkRate numa;            ///< from one node to another
  double staging_GBps = 0;  ///< without peer access: a GPU's copies in and out together (the driver's buffers)
};

struct Fabric {
  FabricKind kind = FabricKind::nvswitch;
  LinkRate link;            ///< a port of the switch, the link of a pair, the link of two GPUs of a mesh; not of pcie
  bool peer_access = true;  ///< GPUs read and write each other's memory; else what they send goes through the host's
  bool multicast = false;   ///< the switch copies one store to all GPUs and adds up what it loads from them (NVLS)
  HostPaths host;           ///< of nvlink_pairs and pcie
};

enum class LinkKind { port_out, port_in, pair, peer, pcie_up, pcie_down, numa, bridge };

/// Between GPUs; `numa` and `bridge` between NUMA nodes. Where a link has one end at the switch or the host, `from` and
/// `to` are both its other end.
struct FabricLink {
  LinkKind kind = LinkKind::port_out;
  int from = 0, to = 0;

  auto operator<=>(const FabricLink&) const = default;
};

const LinkRate& rate_of(const Fabric& fabric, const FabricLink& link);
inline bool leaves(const FabricLink& link, int gpu) {
  return link.from == gpu && (link.kind == LinkKind::port_out || link.kind == LinkKind::pair ||
                              link.kind == LinkKind::peer || link.kind == LinkKind::pcie_up);
}
inline bool enters(const FabricLink& link, int gpu) {
  return link.to == gpu && (link.kind == LinkKind::port_in || link.kind == LinkKind::pair ||
                            link.kind == LinkKind::peer || link.kind == LinkKind::pcie_down);
}

/// In the order in which data passes them. Source and destination differ.
using Route = boost::container::static_vector<FabricLink, 4>;
Route route(const Fabric& fabric, int source, int destination);

/// True where the two GPUs have no link but those of the host.
bool goes_over_host(const Fabric& fabric, int source, int destination);
/// Does anything of so many GPUs?
bool any_goes_over_host(const Fabric& fabric, int gpus);
/// Has a GPU the same links as any other?
bool treats_gpus_alike(FabricKind kind);

/// All links as if each carried `factor` times as much.
Fabric scaled(Fabric fabric, double factor);

}  // namespace weft
