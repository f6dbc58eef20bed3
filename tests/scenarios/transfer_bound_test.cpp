#include "scenarios/transfer_bound.hpp"

#include <gtest/gtest.h>

namespace weft::scenarios {
namespace transfer_bound_test {

constexpr Bytes bytes = 8'000'000;

/// Peaks of 100 GB/s (1e5 bytes/us) for a port or link, 25 for PCIe, 40 between the two NUMA nodes of four GPUs.
Fabric fabric_of(FabricKind kind) {
  Fabric fabric;
  fabric.kind = kind;
  fabric.link = {1, 100};
  fabric.host = {.gpus_per_node = 4, .pcie = {1, 25}, .bridge = {1, 100}, .numa = {1, 40}};
  return fabric;
}

double bound(FabricKind kind, CollectiveKind collective, int gpus = 8) {
  return transfer_bound_us(fabric_of(kind), collective, bytes, gpus);
}

TEST(TransferBound, ThroughASwitchIsThatOfOnePort) {
  EXPECT_DOUBLE_EQ(bound(FabricKind::nvswitch, CollectiveKind::all_gather), 7.0 / 8 * bytes / 1e5);
  EXPECT_DOUBLE_EQ(bound(FabricKind::nvswitch, CollectiveKind::all_to_all), 7.0 / 8 * bytes / 1e5);
  EXPECT_DOUBLE_EQ(bound(FabricKind::nvswitch, CollectiveKind::all_reduce), 7.0 / 4 * bytes / 1e5);
}

TEST(TransferBound, ASwitchThatAddsUpNeedsEachGpusBytesOnce) {
  Fabric fabric = fabric_of(FabricKind::nvswitch);
  fabric.multicast = true;
  EXPECT_DOUBLE_EQ(transfer_bound_us(fabric, CollectiveKind::all_reduce, bytes, 8), bytes / 1e5);
}

TEST(TransferBound, OnAMeshHasALinkForEachPeer) {
  EXPECT_DOUBLE_EQ(bound(FabricKind::mesh, CollectiveKind::all_gather), 7.0 / 8 * bytes / 7e5);
  EXPECT_DOUBLE_EQ(bound(FabricKind::mesh, CollectiveKind::all_gather, 2), 1.0 / 2 * bytes / 1e5);
}

// Out of a pair only PCIe leads, 2 x 25 GB/s: 3/4 of the bytes of 8 GPUs have to get in.
TEST(TransferBound, BetweenPairsIsThatOfTheirPcieLinks) {
  EXPECT_DOUBLE_EQ(bound(FabricKind::nvlink_pairs, CollectiveKind::all_gather, 2), 1.0 / 2 * bytes / 1e5);
  EXPECT_DOUBLE_EQ(bound(FabricKind::nvlink_pairs, CollectiveKind::all_gather, 4), 1.0 / 2 * bytes / 5e4);
}

// Each GPU of a node sends half of its bytes to the other node: 2 x bytes over 40 GB/s, against 7/8 over 25.
TEST(TransferBound, OfAnAllToAllOverPcieIsThatOfTheNumaLink) {
  EXPECT_DOUBLE_EQ(bound(FabricKind::pcie, CollectiveKind::all_to_all), 2.0 * bytes / 4e4);
  EXPECT_DOUBLE_EQ(bound(FabricKind::pcie, CollectiveKind::all_to_all, 4), 3.0 / 4 * bytes / 2.5e4);
}

TEST(PullBound, IsThatOfTheBusiestLinkOfTheRoutes) {
  const CopyWorkload one{bytes, CopyPattern::one_peer}, all{bytes, CopyPattern::all_peers};
  EXPECT_DOUBLE_EQ(pull_bound_us(fabric_of(FabricKind::nvswitch), one, 8), bytes / 1e5);
  EXPECT_DOUBLE_EQ(pull_bound_us(fabric_of(FabricKind::nvswitch), all, 8), 7.0 * bytes / 1e5);
  EXPECT_DOUBLE_EQ(pull_bound_us(fabric_of(FabricKind::mesh), all, 8), bytes / 1e5);
  EXPECT_DOUBLE_EQ(pull_bound_us(fabric_of(FabricKind::nvlink_pairs), one, 8), bytes / 2.5e4);
  EXPECT_DOUBLE_EQ(pull_bound_us(fabric_of(FabricKind::pcie), all, 8), 16.0 * bytes / 4e4);
}

}  // namespace transfer_bound_test
}  // namespace weft::scenarios
