#include "models/machine/fabric.hpp"

#include <gmock/gmock.h>

namespace weft {
namespace fabric_test {

using testing::ElementsAre;
using enum LinkKind;

/// Rates differ, so that a wrong link shows.
Fabric fabric_of(FabricKind kind) {
  Fabric fabric;
  fabric.kind = kind;
  fabric.link = {200, 250};
  fabric.host = {.gpus_per_node = 4, .pcie = {24, 32}, .bridge = {90, 100}, .numa = {20, 30}};
  return fabric;
}

TEST(Route, ThroughTheSwitchIsAPortOutAndAPortIn) {
  EXPECT_THAT(route(fabric_of(FabricKind::nvswitch), 2, 5),
              ElementsAre(FabricLink{port_out, 2, 2}, FabricLink{port_in, 5, 5}));
}

TEST(Route, OnAMeshIsTheOneLinkOfTheTwo) {
  EXPECT_THAT(route(fabric_of(FabricKind::mesh), 2, 5), ElementsAre(FabricLink{peer, 2, 5}));
}

TEST(Route, StaysInsideAPairAndElseGoesOverTheHost) {
  const Fabric pairs = fabric_of(FabricKind::nvlink_pairs);
  EXPECT_THAT(route(pairs, 3, 2), ElementsAre(FabricLink{pair, 3, 2}));
  EXPECT_THAT(route(pairs, 1, 2),
              ElementsAre(FabricLink{pcie_up, 1, 1}, FabricLink{bridge, 0, 0}, FabricLink{pcie_down, 2, 2}));
}

TEST(Route, CrossesTheNumaLinkToTheOtherNode) {
  const Fabric tree = fabric_of(FabricKind::pcie);
  EXPECT_THAT(route(tree, 6, 1), ElementsAre(FabricLink{pcie_up, 6, 6}, FabricLink{numa, 1, 0},
                                             FabricLink{bridge, 0, 0}, FabricLink{pcie_down, 1, 1}));
}

TEST(Route, BeginsAtItsSourceAndEndsAtItsDestination) {
  for (const auto& [kind, name] : NamesOf<FabricKind>::names)
    for (int source = 0; source < 8; ++source)
      for (int destination = 0; destination < 8; ++destination) {
        if (source == destination) continue;
        const Route links = route(fabric_of(kind), source, destination);
        EXPECT_TRUE(leaves(links.front(), source)) << name << " " << source << " to " << destination;
        EXPECT_TRUE(enters(links.back(), destination)) << name << " " << source << " to " << destination;
      }
}

TEST(Scaled, ScalesRatesAndLeavesPeaks) {
  const Fabric faster = scaled(fabric_of(FabricKind::pcie), 2);
  EXPECT_EQ(faster.host.pcie.GBps, 48);
  EXPECT_EQ(faster.host.numa.GBps, 40);
  EXPECT_EQ(faster.host.pcie.peak_GBps, 32);
}

}  // namespace fabric_test
}  // namespace weft
