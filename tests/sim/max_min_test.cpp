#include "sim/max_min.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace weft::sim {
namespace max_min_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr double uncapped = 1e9;

struct Flow {
  double cap = 0;
  std::vector<Use> uses;
};

std::vector<double> rates_of(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  std::vector<Demand> demands;
  for (const Flow& flow : flows) demands.push_back({flow.cap, flow.uses});
  return MaxMin().rates(capacities, demands);
}

TEST(MaxMin, NoFlowsHaveNoRates) { EXPECT_TRUE(rates_of({100}, {}).empty()); }

TEST(MaxMin, FlowWithoutResourcesRunsAtItsCap) { EXPECT_THAT(rates_of({100}, {{7, {}}}), ElementsAre(7)); }

TEST(MaxMin, LoneFlowFillsItsResource) { EXPECT_THAT(rates_of({100}, {{uncapped, {{0, 1}}}}), ElementsAre(100)); }

TEST(MaxMin, EqualFlowsShareEqually) {
  const Flow flow{uncapped, {{0, 1}}};
  EXPECT_THAT(rates_of({100}, {flow, flow, flow, flow}), ElementsAre(25, 25, 25, 25));
}

// x0 <= 20, x0 + x1 + x2 = 100: the other two share what the cap leaves.
TEST(MaxMin, OthersShareWhatACapLeaves) {
  EXPECT_THAT(rates_of({100}, {{20, {{0, 1}}}, {uncapped, {{0, 1}}}, {uncapped, {{0, 1}}}}), ElementsAre(20, 40, 40));
}

// x0 + x1 <= 10, x1 + x2 <= 100: x0 = x1 = 5, x2 = 95.
TEST(MaxMin, FlowIsHeldByItsNarrowestResource) {
  EXPECT_THAT(rates_of({10, 100}, {{uncapped, {{0, 1}}}, {uncapped, {{0, 1}, {1, 1}}}, {uncapped, {{1, 1}}}}),
              ElementsAre(5, 5, 95));
}

// 2 x0 + x1 <= 90: equal rates of 30, of which the first spends 60.
TEST(MaxMin, CoefficientsSpendCapacityAtEqualRates) {
  EXPECT_THAT(rates_of({90}, {{uncapped, {{0, 2}}}, {uncapped, {{0, 1}}}}), ElementsAre(30, 30));
}

// GEMM: cap 60, 0.5 of HBM a byte. Collective: 1 of the port (50) and 2 of HBM (90). HBM: 0.5 x + 2 y <= 90 -> the
// common level is 36; nothing else binds below it, so both stop there.
TEST(MaxMin, TransferSpendsMemoryBandwidthToo) {
  EXPECT_THAT(rates_of({90, 50}, {{60, {{0, 0.5}}}, {uncapped, {{1, 1}, {0, 2}}}}), ElementsAre(36, 36));
}

TEST(MaxMin, NothingFlowsThroughAResourceOfNoCapacity) {
  EXPECT_THAT(rates_of({0, 10}, {{5, {{0, 1}}}, {5, {{1, 1}}}}), ElementsAre(0, 5));
}

TEST(MaxMin, ACapBelowNothingDoesNotHang) { EXPECT_THAT(rates_of({100}, {{-5, {}}, {7, {}}}), ElementsAre(-5, 7)); }

TEST(MaxMin, CoefficientsOfManyMagnitudesDoNotHang) {
  const std::vector<Flow> flows{
      {uncapped, {{0, 1e6}}}, {uncapped, {{0, 1e-8}, {1, 1}}}, {1e-3, {{0, 0.1}}}, {uncapped, {{1, 1e-9}}}};
  for (const double rate : rates_of({1, 1e-6}, flows)) EXPECT_GE(rate, 0);
}

struct RandomSystem {
  std::vector<double> capacities;
  std::vector<Flow> flows;
};

RandomSystem random_system(std::mt19937& random) {
  const auto draw = [&](double least, double most) { return std::uniform_real_distribution(least, most)(random); };
  RandomSystem system;
  const int resources = std::uniform_int_distribution(1, 8)(random),
            flows = std::uniform_int_distribution(1, 20)(random);
  for (int r = 0; r < resources; ++r) system.capacities.push_back(draw(1, 1000));
  for (int f = 0; f < flows; ++f) {
    Flow flow{draw(0.1, 500), {}};
    for (int r = 0; r < resources; ++r)
      if (draw(0, 1) < 0.4) flow.uses.push_back({r, draw(0.1, 3)});
    system.flows.push_back(flow);
  }
  return system;
}

std::vector<double> loads_of(const RandomSystem& system, const std::vector<double>& rates) {
  std::vector<double> loads(system.capacities.size(), 0.0);
  for (std::size_t f = 0; f < rates.size(); ++f)
    for (const Use& use : system.flows[f].uses) loads[use.resource] += rates[f] * use.per_unit;
  return loads;
}

constexpr double tolerance = 1e-9;

TEST(MaxMin, RandomSystemsStayWithinCapacitiesAndCaps) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const RandomSystem system = random_system(random);
    const std::vector<double> rates = rates_of(system.capacities, system.flows);
    const std::vector<double> loads = loads_of(system, rates);
    for (std::size_t r = 0; r < loads.size(); ++r) EXPECT_LE(loads[r], system.capacities[r] * (1 + tolerance));
    for (std::size_t f = 0; f < rates.size(); ++f) EXPECT_LE(rates[f], system.flows[f].cap);
  }
}

// The definition: each flow is at its cap, or crosses a full resource where no flow has a higher rate.
TEST(MaxMin, InRandomSystemsNoRateCanGrowWithoutASmallerOneShrinking) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; ++trial) {
    const RandomSystem system = random_system(random);
    const std::vector<double> rates = rates_of(system.capacities, system.flows);
    const std::vector<double> loads = loads_of(system, rates);
    std::vector<double> highest(loads.size(), 0.0);
    for (std::size_t f = 0; f < rates.size(); ++f)
      for (const Use& use : system.flows[f].uses) highest[use.resource] = std::max(highest[use.resource], rates[f]);
    for (std::size_t f = 0; f < rates.size(); ++f) {
      const auto& uses = system.flows[f].uses;
      const bool held = std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
        return loads[use.resource] >= system.capacities[use.resource] * (1 - tolerance) &&
               rates[f] >= highest[use.resource] * (1 - tolerance);
      });
      EXPECT_TRUE(held || rates[f] >= system.flows[f].cap * (1 - tolerance)) << "trial " << trial << ", flow " << f;
    }
  }
}

TEST(MaxMin, OrderOfFlowsDoesNotMatter) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 200; ++trial) {
    RandomSystem system = random_system(random);
    std::vector<double> rates = rates_of(system.capacities, system.flows);
    std::reverse(system.flows.begin(), system.flows.end());
    std::reverse(rates.begin(), rates.end());
    EXPECT_THAT(rates_of(system.capacities, system.flows), Pointwise(DoubleNear(1e-6), rates));
  }
}

}  // namespace max_min_test
}  // namespace weft::sim
