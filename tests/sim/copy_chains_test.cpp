#include "sim/copy_chains.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/simulated_executor.hpp"
#include "sim/stream_timing.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace copy_chains_test {

/// Pulls from these places, each of so many rows, one after the other.
Schedule pulls(int gpus, const std::vector<int>& places, const std::vector<std::int64_t>& rows) {
  enum : BufferId { shard, gathered };
  Schedule schedule;
  schedule.gpus = gpus;
  schedule.streams = {{"s"}};
  const std::int64_t most = *std::max_element(rows.begin(), rows.end());
  schedule.buffers = {{"shard", most, 1024, DataType::bf16, Memory::symmetric, {}},
                      {"gathered", most, 1024, DataType::bf16, Memory::local, {}}};
  for (std::size_t i = 0; i < places.size(); ++i)
    schedule.operations.push_back(
        {"pull " + std::to_string(i),
         0,
         {},
         Copy{{shard, places[i], RowRange{0, rows[i]}, 0, 1024}, {gathered, 0, RowRange{0, rows[i]}, 0, 1024}}});
  return schedule;
}

/// On which ranks drift apart.
Machine machine_with_spread() {
  Machine machine = test_machine();
  machine.copy_engines.setup_spread_us = 0.4;
  machine.copy_engines.speed_spread = 0.02;
  machine.latencies.start_skew_us = 1;
  return machine;
}

bool are_chains(const Schedule& schedule, const Machine& machine) {
  return CopyChains::are_all(StreamOrder(schedule, timing_of(schedule, machine, {})),
                             operation_costs(schedule, machine));
}

/// When each rank ends the last of so many iterations.
class Ends {
 public:
  Ends(const Schedule& schedule, const Machine& machine, int iterations)
      : order_(schedule, timing_of(schedule, machine, {})),
        costs_(operation_costs(schedule, machine)),
        device_(engine_, machine, schedule, costs_, schedule.gpus),
        run_(engine_, device_, order_, schedule.gpus),
        iterations_(iterations) {
    run_.prepare(iterations);
  }
  /// Nothing where the chains give up.
  std::vector<Picoseconds> by_chains() {
    const bool are_told = CopyChains(order_, device_, order_.schedule().gpus).tell(run_, iterations_);
    return are_told ? found() : std::vector<Picoseconds>{};
  }
  std::vector<Picoseconds> by_events() {
    run_.run();
    return found();
  }

 private:
  std::vector<Picoseconds> found() const {
    std::vector<Picoseconds> ends;
    for (int rank = 0; rank < order_.schedule().gpus; ++rank) ends.push_back(run_.end_of(rank, iterations_ - 1));
    return ends;
  }

  StreamOrder order_;
  std::vector<OperationCost> costs_;
  Engine engine_;
  SimulatedMachine device_;
  ScheduleRun run_;
  int iterations_;
};

TEST(CopyChains, TellTheTimesThatTheQueueOfEventsFinds) {
  std::mt19937 random(5);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  int told = 0;
  for (int i = 0; i < 60; ++i) {
    const int gpus = draw(2, 8), copies = draw(1, 5);
    std::vector<int> places;
    std::vector<std::int64_t> rows;
    for (int copy = 0; copy < copies; ++copy) places.push_back(draw(1, gpus - 1)), rows.push_back(draw(1, 20000));
    const Schedule schedule = pulls(gpus, places, rows);
    ASSERT_TRUE(are_chains(schedule, machine_with_spread()));
    const std::vector<Picoseconds> ends = Ends(schedule, machine_with_spread(), 20).by_chains();
    if (ends.empty()) continue;
    ++told;
    EXPECT_EQ(ends, Ends(schedule, machine_with_spread(), 20).by_events()) << gpus << " GPUs, " << copies << " copies";
  }
  EXPECT_GT(told, 40);
}

TEST(CopyChains, GiveUpWhereCopiesBeginTogether) {
  Machine machine = machine_with_spread();
  machine.copy_engines.setup_spread_us = machine.latencies.start_skew_us = 0;
  const Schedule schedule = pulls(4, {1, 2}, {1000, 1000});
  EXPECT_TRUE(Ends(schedule, machine, 3).by_chains().empty());
}

// On PCIe a pull across sockets shares its source's link, the bridge and the interconnect.
TEST(CopyChains, GiveUpWhereACopyMeetsOthersAtSeveralResources) {
  Machine machine = machine_with_spread();
  machine.fabric.kind = FabricKind::pcie;
  machine.fabric.host = {.gpus_per_node = 2, .pcie = {20, 30}, .bridge = {25, 100}, .numa = {25, 60}};
  const Schedule schedule = pulls(4, {1, 2, 3}, {1000, 2000, 3000});
  ASSERT_TRUE(are_chains(schedule, machine));
  EXPECT_TRUE(Ends(schedule, machine, 3).by_chains().empty());
  EXPECT_FALSE(Ends(schedule, machine, 3).by_events().empty());
}

/// In the mean of thousands of iterations, the first of which count for nothing.
double drifted_us(const Schedule& schedule, const Machine& machine) {
  const auto mean_end_us = [&](int iterations) {
    double sum_us = 0;
    for (const Picoseconds end : Ends(schedule, machine, iterations).by_chains()) sum_us += to_us(end) / schedule.gpus;
    return sum_us;
  };
  return (mean_end_us(4000) - mean_end_us(1000)) / 3000;
}

// A run after a pause is over before ranks that began in step have lost it.
TEST(CopyChains, UnderLoadAreOfRanksThatHaveLostStep) {
  Machine machine = machine_with_spread();
  const Schedule schedule = pulls(4, {1, 2, 3}, {100000, 100000, 100000});
  const double drifted = drifted_us(schedule, machine);
  const double under_load = SimulatedExecutor().run(schedule, machine).time_us;
  EXPECT_NEAR(under_load, drifted, 0.1 * drifted);
  machine.condition.condition = Condition::after_pause;
  EXPECT_LT(SimulatedExecutor().run(schedule, machine).time_us, 0.9 * drifted);
}

TEST(CopyChains, GiveTheSameTraceAsAnExecutorThatCountsEvents) {
  for (const int gpus : {2, 4, 8}) {
    const Schedule schedule = pulls(gpus, {1, gpus - 1}, {3000, 5000});
    const SimulatedExecutor executor;
    SimulationStatistics statistics;
    const Trace counted = executor.run(schedule, machine_with_spread(), &statistics);
    const Trace trace = executor.run(schedule, machine_with_spread(), nullptr);
    EXPECT_EQ(trace.time_us, counted.time_us);
    EXPECT_EQ(trace.limited_by, counted.limited_by);
    EXPECT_EQ(trace.power_W, counted.power_W);
    ASSERT_EQ(trace.spans.size(), counted.spans.size());
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      EXPECT_EQ(trace.spans[i].start_us, counted.spans[i].start_us);
      EXPECT_EQ(trace.spans[i].end_us, counted.spans[i].end_us);
      EXPECT_EQ(trace.spans[i].limit, counted.spans[i].limit);
    }
  }
}

TEST(CopyChains, AreOnlyCopiesOfPeersOneAfterTheOther) {
  const Machine machine = machine_with_spread();
  Schedule schedule = pulls(4, {1, 2}, {1000, 1000});
  EXPECT_TRUE(are_chains(schedule, machine));
  Schedule with_kernel = schedule;
  with_kernel.operations.push_back({"pause", 0, {}, Delay{1}});
  EXPECT_FALSE(are_chains(with_kernel, machine));
  Schedule by_sms = schedule;
  std::get<Copy>(by_sms.operations.front().work).path = CopyPath::sms;
  EXPECT_FALSE(are_chains(by_sms, machine));
  schedule.streams.push_back({"t"});
  schedule.operations.back().stream = 1;
  EXPECT_FALSE(are_chains(schedule, machine));
}

}  // namespace copy_chains_test
}  // namespace weft::sim
