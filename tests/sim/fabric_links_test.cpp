// What fabrics do to transfers that meet on their links.
#include "sim/fabric_links.hpp"

#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace fabric_links_test {

using namespace scenarios;

/// The test machine with seven copy engines that any link is slower than, links of 100 GB/s, and hosts of two nodes.
Machine machine_on(FabricKind kind, bool peer_access = true) {
  Machine machine = test_machine();
  machine.copy_engines.per_gpu = 7;
  machine.copy_engines.GBps = 1000, machine.copy_engines.push_GBps = 0;
  machine.copy_engines.setup_us = 0;
  machine.gpu.hbm_GBps = 1e5;
  machine.power.limit_W = 1e6;
  machine.fabric.kind = kind;
  machine.fabric.peer_access = peer_access;
  machine.fabric.host = {
      .gpus_per_node = 4, .pcie = {20, 30}, .bridge = {80, 100}, .numa = {40, 60}, .staging_GBps = 16};
  return machine;
}

Schedule pulls(Bytes bytes, CopyPattern pattern, int gpus = 8) {
  return scenarios::families::build(
      {.id = "pulls", .gpus = gpus, .workload = CopyWorkload{bytes, pattern}, .schedule = {}, .measured = {}},
      test_machine());
}

/// Every pull on a stream of its own: all begin at once.
Schedule pulls_at_once(Bytes bytes_of_each, int gpus = 8) {
  Schedule schedule = pulls(bytes_of_each, CopyPattern::all_peers, gpus);
  for (std::size_t i = 1; i < schedule.operations.size(); ++i) {
    schedule.streams.push_back({"peer " + std::to_string(i)});
    schedule.operations[i].stream = static_cast<StreamId>(schedule.streams.size() - 1);
  }
  return schedule;
}

double time_us(const Schedule& schedule, const Machine& machine) {
  return SimulatedExecutor({.spans = false, .mechanisms = {.gaps = false, .skew = false}})
      .run(schedule, machine)
      .time_us;
}

constexpr Bytes total = 70'000'000;

// One pull uses one of seven links: 70 MB at 100 GB/s. From all peers at once each link carries a seventh.
TEST(Mesh, APullOfOnePeerTakesSevenTimesAsLongAsTheSameBytesFromAll) {
  const Machine mesh = machine_on(FabricKind::mesh);
  const double one_us = time_us(pulls(total, CopyPattern::one_peer), mesh);
  EXPECT_NEAR(one_us, 700, 0.01);
  EXPECT_NEAR(one_us / time_us(pulls_at_once(total / 7), mesh), 7, 0.001);
}

TEST(Switch, APullOfOnePeerTakesAsLongAsTheSameBytesFromAll) {
  const Machine one_switch = machine_on(FabricKind::nvswitch);
  const double one_us = time_us(pulls(total, CopyPattern::one_peer), one_switch);
  EXPECT_NEAR(one_us, 700, 0.01);
  EXPECT_NEAR(one_us / time_us(pulls_at_once(total / 7), one_switch), 1, 0.001);
}

// What kernels load fills the port at the 80 GB/s that our collectives reach.
TEST(Switch, AKernelsCopyTakesMoreOfALinkThanACopyEngines) {
  Machine machine = machine_on(FabricKind::nvswitch);
  machine.other_kernels.overhead_us = 0;
  Schedule schedule = pulls(total, CopyPattern::one_peer);
  std::get<Copy>(schedule.operations.front().work).path = CopyPath::sms;
  EXPECT_NEAR(time_us(schedule, machine), 700, 0.1);
  machine.direct_collectives = DirectCollectives{
      .one_shot = {},
      .two_shot = DirectCollective{.ctas = 4, .cta_GBps = 10, .port_GBps = 60, .one_way_GBps = 80, .latency_us = 1},
      .multimem = {}};
  EXPECT_NEAR(time_us(schedule, machine), 875, 0.1);
  machine.direct_collectives->two_shot->one_way_GBps = 200;
  EXPECT_NEAR(time_us(schedule, machine), 700, 0.1);
}

// 4 GPUs of one node at 20 GB/s each fill its bridge. Of 8, one in four pulls crosses the NUMA link, alone.
TEST(Pcie, PullsRunAtTheRateOfAGpusLink) {
  EXPECT_NEAR(time_us(pulls(total, CopyPattern::one_peer, 4), machine_on(FabricKind::pcie)), 3500, 0.01);
  EXPECT_NEAR(time_us(pulls(total, CopyPattern::one_peer), machine_on(FabricKind::pcie)), 3500, 0.01);
}

// 4 x 4 of 8 x 7 pulls cross in each direction: 16 x 10 MB at 40 GB/s.
TEST(Pcie, AllToAllWaitsForTheNumaLink) {
  EXPECT_NEAR(time_us(pulls_at_once(total / 7), machine_on(FabricKind::pcie)), 4000, 0.01);
}

// Each GPU's staging carries what it sends and what it gets: 2 x 70 MB at 16 GB/s.
TEST(Pcie, WithoutPeerAccessCopiesAreStagedAndSlower) {
  const double staged_us = time_us(pulls(total, CopyPattern::one_peer), machine_on(FabricKind::pcie, false));
  EXPECT_NEAR(staged_us, 8750, 0.01);
  EXPECT_GT(staged_us, time_us(pulls(total, CopyPattern::one_peer), machine_on(FabricKind::pcie)));
}

// 4 x 4 pulls no longer meet on the NUMA link: each GPU has 4 x 10 MB to get over it at 40 GB/s, and 70 MB at 20 GB/s.
TEST(Pcie, WhereLinksAreNotSharedAGpusPullsMeetOnlyEachOther) {
  const SimulatedExecutor alone({.spans = false, .mechanisms = {.links = false, .gaps = false, .skew = false}});
  EXPECT_NEAR(alone.run(pulls_at_once(total / 7), machine_on(FabricKind::pcie), nullptr).time_us, 3500, 0.01);
}

// GPU 0 pulls from its pair's other GPU, GPU 1 from the next pair over PCIe.
TEST(NvlinkPairs, ThePullsThatLeaveAPairAreTheSlowOnes) {
  const Schedule schedule = pulls(total, CopyPattern::one_peer);
  const Trace trace = SimulatedExecutor({.mechanisms = {.gaps = false, .skew = false}})
                          .run(schedule, machine_on(FabricKind::nvlink_pairs));
  for (const Span& span : trace.spans) EXPECT_NEAR(span.end_us - span.start_us, span.gpu % 2 == 0 ? 700 : 3500, 0.01);
}

struct FabricCase {
  FabricKind kind;
  bool peer_access;
};

/// Collectives, copies in turn and at once on 3 to 8 GPUs.
std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (const int gpus : {3, 4, 8}) {
    all.push_back(pulls(1'000'000, CopyPattern::all_peers, gpus));
    all.push_back(pulls_at_once(3'000'000, gpus));
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
      all.push_back(scenarios::families::build({.id = "collective",
                                                .gpus = gpus,
                                                .workload = CollectiveWorkload{kind, Bytes{24} << 20},
                                                .schedule = {},
                                                .measured = {}},
                                               test_machine()));
    all.push_back(scenarios::families::build({.id = "async_tp",
                                              .gpus = gpus,
                                              .workload = PairWorkload{PairOp::all_gather_gemm, 512 * gpus, 1024, 1024},
                                              .schedule = {AsyncTp{}},
                                              .measured = {}},
                                             test_machine()));
  }
  return all;
}

class OnEveryFabric : public testing::TestWithParam<FabricCase> {};

TEST_P(OnEveryFabric, NoLinkCarriesMoreThanItsRate) {
  const Machine machine = machine_on(GetParam().kind, GetParam().peer_access);
  for (const Schedule& schedule : schedules()) {
    SimulationStatistics statistics;
    SimulatedExecutor().run(schedule, machine, &statistics);
    EXPECT_LE(statistics.peak_load, 1 + 1e-9) << schedule.name;
  }
}

TEST_P(OnEveryFabric, AsManyBytesEnterTheGpusAsLeaveThem) {
  const Machine machine = machine_on(GetParam().kind, GetParam().peer_access);
  for (const Schedule& schedule : schedules()) {
    Engine engine;
    const std::vector<OperationCost> costs = operation_costs(schedule, machine);
    SimulatedMachine device(engine, machine, schedule, costs, schedule.gpus);
    const StreamOrder order(schedule, {});
    ScheduleRun run(engine, device, order, schedule.gpus);
    run.prepare(1);
    run.run();
    double expected = 0, in = 0, out = 0;  // of all GPUs
    for (std::size_t id = 0; id < costs.size(); ++id) {
      expected += schedule.gpus * costs[id].collective.port_bytes;
      const auto* copy = std::get_if<Copy>(&schedule.operations[id].work);
      if (copy != nullptr && copy->source.place != copy->destination.place)
        expected += schedule.gpus * static_cast<double>(bytes_of(copy->source, schedule));
    }
    for (int gpu = 0; gpu < schedule.gpus; ++gpu) in += device.served(gpu).in, out += device.served(gpu).out;
    EXPECT_NEAR(out, expected, 1e-6 * expected) << schedule.name;
    EXPECT_NEAR(in, expected, 1e-6 * expected) << schedule.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, OnEveryFabric,
                         testing::Values(FabricCase{FabricKind::nvswitch, true}, FabricCase{FabricKind::mesh, true},
                                         FabricCase{FabricKind::nvlink_pairs, true}, FabricCase{FabricKind::pcie, true},
                                         FabricCase{FabricKind::pcie, false}),
                         [](const auto& row) {
                           return std::string(name_of(row.param.kind)) + (row.param.peer_access ? "" : "_staged");
                         });

}  // namespace fabric_links_test
}  // namespace weft::sim
