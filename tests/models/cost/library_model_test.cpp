#include "models/cost/library_model.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace library_model_test {

constexpr auto ring = CollectiveAlgorithm::ring, direct = CollectiveAlgorithm::direct,
               in_switch = CollectiveAlgorithm::in_switch;

Machine machine_with(FabricKind kind) {
  Machine machine;
  machine.name = "test";
  machine.gpus = 8;
  machine.fabric.kind = kind;
  machine.fabric.link = {100, 125};
  machine.fabric.host = {.gpus_per_node = 4, .pcie = {20, 32}, .bridge = {80, 100}, .numa = {10, 30}};
  machine.collective_protocols = {{.name = "LL",
                                   .algorithm = ring,
                                   .channels = 8,
                                   .channel_GBps = 1000,
                                   .efficiency = 0.5,
                                   .base_us = 4,
                                   .hop_us = 1,
                                   .host_hop_us = 2},
                                  {.name = "Simple",
                                   .algorithm = ring,
                                   .channels = 8,
                                   .channel_GBps = 1000,
                                   .efficiency = 1,
                                   .base_us = 10,
                                   .hop_us = 3,
                                   .host_hop_us = 5},
                                  {.name = "direct",
                                   .algorithm = direct,
                                   .channels = 8,
                                   .channel_GBps = 1000,
                                   .efficiency = 1,
                                   .base_us = 10,
                                   .hop_us = 1,
                                   .host_hop_us = 2}};
  return machine;
}

double share_of(const std::vector<LinkLoad>& loads, const FabricLink& link) {
  const auto found = std::find_if(loads.begin(), loads.end(), [&](const LinkLoad& load) { return load.link == link; });
  return found == loads.end() ? 0 : found->share;
}

TEST(LinkLoads, OfARingOverPairsLeaveEachPairOnce) {
  const auto loads = link_loads(machine_with(FabricKind::nvlink_pairs).fabric, ring, 4);
  EXPECT_EQ(share_of(loads, {LinkKind::pair, 0, 1}), 1);
  EXPECT_EQ(share_of(loads, {LinkKind::pair, 1, 0}), 0);
  EXPECT_EQ(share_of(loads, {LinkKind::pcie_up, 1, 1}), 1);
  EXPECT_EQ(share_of(loads, {LinkKind::pcie_up, 0, 0}), 0);
  EXPECT_EQ(share_of(loads, {LinkKind::bridge, 0, 0}), 2);
}

TEST(LinkLoads, OnAMeshAreTheSameOnEveryLink) {
  for (const auto algorithm : {ring, direct}) {
    const auto loads = link_loads(machine_with(FabricKind::mesh).fabric, algorithm, 8);
    EXPECT_EQ(loads.size(), 56);
    for (const LinkLoad& load : loads) EXPECT_DOUBLE_EQ(load.share, 1.0 / 7);
  }
}

TEST(LinkLoads, ThroughTheSwitchAreOneOnEveryPort) {
  for (const auto algorithm : {ring, direct, in_switch})
    for (const LinkLoad& load : link_loads(machine_with(FabricKind::nvswitch).fabric, algorithm, 8))
      EXPECT_EQ(load.share, 1) << name_of(algorithm);
}

TEST(LinkLoads, OfAnAllToAllCrossTheNumaLinkSixteenTimes) {
  const auto loads = link_loads(machine_with(FabricKind::pcie).fabric, direct, 8);
  EXPECT_DOUBLE_EQ(share_of(loads, {LinkKind::numa, 0, 1}), 16.0 / 7);  // 4 x 4 of its 7 messages each
}

TEST(LinkLoads, LetAsMuchLeaveAGpuAsEnterIt) {
  for (const auto& [kind, name] : NamesOf<FabricKind>::names)
    for (const auto algorithm : {ring, direct})
      for (int gpus = 2; gpus <= 8; ++gpus)
        for (int gpu = 0; gpu < gpus; ++gpu) {
          double out = 0, in = 0;
          for (const LinkLoad& load : link_loads(machine_with(kind).fabric, algorithm, gpus)) {
            if (leaves(load.link, gpu)) out += load.share;
            if (enters(load.link, gpu)) in += load.share;
          }
          EXPECT_NEAR(out, 1, 1e-12) << name << " " << gpus;
          EXPECT_NEAR(in, 1, 1e-12) << name << " " << gpus;
        }
}

// 8 GPUs, 80 MB: 140 MB leave each GPU. In 14 steps: LL 4 + 14 us and 50 GB/s, Simple 10 + 42 us and 100 GB/s.
TEST(LibraryTime, IsThatOfTheFastestProtocol) {
  const Machine machine = machine_with(FabricKind::nvswitch);
  const LibraryTime large = library_time(machine, CollectiveKind::all_reduce, 8, 80e6, 0);
  EXPECT_DOUBLE_EQ(large.latency_us, 52);
  EXPECT_DOUBLE_EQ(large.transfer_us, 1400);
  const LibraryTime small = library_time(machine, CollectiveKind::all_reduce, 8, 80e3, 0);
  EXPECT_DOUBLE_EQ(small.latency_us, 18);
  EXPECT_DOUBLE_EQ(small.transfer_us, 2.8);
}

// The ring's one crossing of the NUMA link: 10 GB/s. An all-to-all: 16/7 as much.
TEST(LibraryTime, IsBoundByTheBusiestLink) {
  const Machine machine = machine_with(FabricKind::pcie);
  EXPECT_DOUBLE_EQ(library_time(machine, CollectiveKind::all_gather, 8, 80e6, 0).transfer_us, 70e6 / 10e3);
  EXPECT_DOUBLE_EQ(library_time(machine, CollectiveKind::all_to_all, 8, 80e6, 0).transfer_us, 70e6 * 16 / 7 / 10e3);
}

TEST(LibraryTime, TakesTheHostsStepsOnlyWhereTheHostIsCrossed) {
  const Machine machine = machine_with(FabricKind::nvlink_pairs);
  EXPECT_DOUBLE_EQ(library_time(machine, CollectiveKind::all_gather, 2, 1, 0).latency_us, 4 + 1);
  EXPECT_DOUBLE_EQ(library_time(machine, CollectiveKind::all_gather, 4, 1, 0).latency_us, 4 + 3 * 2);
}

TEST(LibraryTime, OfFewChannelsIsTheirs) {
  Machine machine = machine_with(FabricKind::nvswitch);
  for (CollectiveProtocol& protocol : machine.collective_protocols) protocol.channel_GBps = 20;
  EXPECT_DOUBLE_EQ(library_time(machine, CollectiveKind::all_gather, 8, 80e6, 2).transfer_us, 70e6 / 40e3);
  EXPECT_EQ(library_time(machine, CollectiveKind::all_gather, 8, 80e6, 2).channels, 2);
}

// In the switch 9/8 of the buffer leave a GPU instead of 14/8.
TEST(LibraryTime, ReducesInTheSwitchWhereThatIsFaster) {
  Machine machine = machine_with(FabricKind::nvswitch);
  machine.collective_protocols.push_back({.name = "NVLS",
                                          .algorithm = in_switch,
                                          .channels = 8,
                                          .channel_GBps = 1000,
                                          .efficiency = 0.9,
                                          .base_us = 0,
                                          .hop_us = 25});
  const LibraryTime time = library_time(machine, CollectiveKind::all_reduce, 8, 80e6, 0);
  EXPECT_EQ(time.algorithm, in_switch);
  EXPECT_DOUBLE_EQ(time.time_us(), 25 + 90e6 / 90e3);
  EXPECT_EQ(library_time(machine, CollectiveKind::all_gather, 8, 80e6, 0).algorithm, ring);
}

TEST(LibraryTime, WithoutProtocolsIsRefused) {
  EXPECT_THROW(library_time(Machine{}, CollectiveKind::all_gather, 8, 1, 0), InputError);
}

}  // namespace library_model_test
}  // namespace weft
