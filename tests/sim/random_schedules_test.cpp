// What holds for every schedule on every shape: drawn with a fixed seed, built as the command builds them.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "models/cost/all_reduce_norm_model.hpp"
#include "models/cost/library_model.hpp"
#include "scenarios/bound.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/sim/port_bytes.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace random_schedules_test {

using namespace scenarios;

Case make_case(const Workload& workload, int gpus, const Family& family, int max_ctas = 0) {
  return {.id = "random", .gpus = gpus, .workload = workload, .schedule = {family, max_ctas}, .measured = {}};
}

std::vector<Case> random_cases() {
  std::mt19937 random(11);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  std::vector<Case> cases;
  for (const int gpus : {2, 3, 4, 8}) {
    for (const PairOp op :
         {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all, PairOp::all_gather_gemm})
      for (const int chunks : {1, 2, 5}) {
        const PairWorkload pair{op, gpus * chunks * draw(1, 400), 8 * draw(1, 400), 8 * draw(1, 400)};
        cases.push_back(make_case(pair, gpus, Serial{}));
        cases.push_back(make_case(pair, gpus, Decomposition{chunks}, 2 * draw(0, 1)));
      }
    for (const FirstLaunched first : {FirstLaunched::collective, FirstLaunched::gemm})
      cases.push_back(make_case(ConcurrentPair{draw(1, 5000), draw(1, 5000), draw(1, 5000), 2 * draw(1, 20000000)},
                                gpus, Concurrent{first}));
    for (const std::int64_t experts : {0, 4}) {
      LayerWorkload layer;
      layer.tokens = draw(300, 3000);
      layer.hidden = 256 * draw(1, 8);
      layer.heads = layer.kv_heads = 24;  // of 2, 3, 4 and 8 GPUs
      layer.head_dim = 64;
      layer.intermediate = 24 * 16 * draw(1, 8);
      layer.experts = experts;
      layer.experts_per_token = experts / 2;
      cases.push_back(make_case(layer, gpus, Serial{}));
      cases.push_back(make_case(layer, gpus, TokenSplit{draw(1, 299)}));
      cases.push_back(make_case(layer, gpus, TokenSplit{gpus * draw(1, 299 / gpus), true, draw(1, 8)}));
    }
    for (const CopyPattern pattern : {CopyPattern::one_peer, CopyPattern::all_peers})
      cases.push_back(make_case(CopyWorkload{2 * draw(1, 5000000), pattern}, gpus, Serial{}));
  }
  return cases;
}

Trace run(const Case& request, const Mechanisms& mechanisms = {}, SimulationStatistics* statistics = nullptr) {
  return SimulatedExecutor({.spans = true, .mechanisms = mechanisms})
      .run(scenarios::built_by_model(request, test_machine()), test_machine(), statistics);
}

std::string name(const Case& request) {
  return std::to_string(request.gpus) + " GPUs, " + describe(request.workload) + ", " + describe(request.schedule);
}

TEST(RandomSchedules, NeverBeatTheBound) {
  for (const Case& request : random_cases())
    EXPECT_GE(run(request).time_us, bound_us(request.workload, request.gpus, test_machine())) << name(request);
}

TEST(RandomSchedules, NeverLoadAResourceBeyondItsCapacity) {
  for (const Case& request : random_cases()) {
    SimulationStatistics statistics;
    run(request, {}, &statistics);
    EXPECT_LE(statistics.peak_load, 1 + 1e-9) << name(request);
  }
}

/// Bytes that leave rank 0's port, as the schedule says.
double port_bytes_of(const Schedule& schedule) {
  double total = 0;
  for (const Operation& operation : schedule.operations) {
    if (const auto* collective = std::get_if<Collective>(&operation.work)) {
      const auto bytes = static_cast<double>(bytes_of(full_slice(*collective), schedule));
      total += bytes_out(CollectiveAlgorithm::ring, collective->kind, schedule.gpus, bytes);
    } else if (const auto* fused = std::get_if<AllReduceNorm>(&operation.work)) {
      total +=
          tests::port_bytes(fused->transport, schedule.gpus, static_cast<double>(bytes_of(fused->partial, schedule)));
    } else if (const auto* copy = std::get_if<Copy>(&operation.work)) {
      if (copy->source.place != 0) total += static_cast<double>(bytes_of(copy->source, schedule));
    }
  }
  return total;
}

TEST(RandomSchedules, MoveEveryByteOnce) {
  for (const Case& request : random_cases()) {
    const Schedule schedule = scenarios::built_by_model(request, test_machine());
    const int ranks = ranks_are_alike(schedule) ? 1 : schedule.gpus;
    Engine engine;
    const std::vector<OperationCost> costs = operation_costs(schedule, test_machine());
    SimulatedMachine device(engine, test_machine(), schedule, costs, ranks);
    const StreamOrder order(schedule, {});
    ScheduleRun run(engine, device, order, ranks);
    run.prepare(1);
    run.run();
    // Each byte that a copy or a collective sends through a port is read from HBM there; as many arrive and are
    // written. Everything else reads and writes its slices.
    const double ports = port_bytes_of(schedule);
    double hbm = 0;
    for (std::size_t id = 0; id < costs.size(); ++id) {
      const Work& work = schedule.operations[id].work;
      if (std::holds_alternative<Collective>(work))
        hbm += 2 * costs[id].collective.port_bytes;
      else if (std::holds_alternative<Copy>(work))
        hbm += 2 * static_cast<double>(bytes_of(std::get<Copy>(work).source, schedule));
      else
        hbm += costs[id].traffic.hbm_bytes;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const ServedBytes served = device.served(rank);
      EXPECT_NEAR(served.in, ports, 1e-9 * ports) << name(request);
      EXPECT_NEAR(served.out, ports, 1e-9 * ports) << name(request);
      EXPECT_NEAR(served.hbm, hbm, 1e-9 * hbm) << name(request);
    }
  }
}

bool are_same(const Trace& a, const Trace& b) {
  const auto same_span = [](const Span& x, const Span& y) {
    return x.operation == y.operation && x.gpu == y.gpu && x.start_us == y.start_us && x.end_us == y.end_us;
  };
  return a.time_us == b.time_us &&
         std::equal(a.spans.begin(), a.spans.end(), b.spans.begin(), b.spans.end(), same_span);
}

TEST(RandomSchedules, GiveTheSameBitsOnRepeatAndFromSeveralThreads) {
  const std::vector<Case> cases = random_cases();
  std::vector<Trace> expected;
  for (const Case& request : cases) expected.push_back(run(request));
  std::vector<std::vector<Trace>> found(3);
  std::vector<std::thread> threads;
  for (std::vector<Trace>& traces : found)
    threads.emplace_back([&] {
      for (const Case& request : cases) traces.push_back(run(request));
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Trace>& traces : found)
    for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_TRUE(are_same(traces[i], expected[i])) << name(cases[i]);
}

// 0.1 %: the power limit is met within that.
constexpr double tolerance = 1e-3;

/// With overlap a faster part may take the SMs away from a collective that was in time before (a scheduling anomaly, as
/// Graham's): a schedule may then lose some of its time, one without competition none.
double anomaly(const Case& request) {
  return std::holds_alternative<Serial>(request.schedule.family) ? tolerance : 0.1;
}

TEST(RandomSchedules, AreNotSlowedByTakingAMechanismAway) {
  for (const Case& request : random_cases()) {
    const double full_us = run(request).time_us;
    EXPECT_LE(run(request, {.power = false}).time_us, full_us * (1 + anomaly(request))) << name(request);
    const double unlimited_us = run(request, {.power = false}).time_us;
    EXPECT_LE(run(request, {.power = false, .hbm = false, .l2 = false, .links = false}).time_us,
              unlimited_us * (1 + anomaly(request)))
        << name(request);
    EXPECT_LE(run(request, {.power = false, .gaps = false}).time_us, unlimited_us * (1 + anomaly(request)))
        << name(request);
    EXPECT_GE(run(request, {.power = false, .l2_reuse = false}).time_us, unlimited_us * (1 - anomaly(request)))
        << name(request);
  }
}

/// With one kernel for all shapes: the library's choice may well be a faster one for a larger shape.
double time_with_fixed_kernel_us(const Case& request) {
  Schedule schedule = scenarios::built_by_model(request, test_machine());
  for (Operation& operation : schedule.operations)
    if (auto* gemm = std::get_if<Gemm>(&operation.work)) gemm->kernel = GemmKernel{};
  return SimulatedExecutor().run(schedule, test_machine()).time_us;
}

TEST(RandomSchedules, DoNotEndEarlierWithMoreToMultiply) {
  for (Case request : random_cases()) {
    auto* pair = std::get_if<PairWorkload>(&request.workload);
    if (pair == nullptr || collective_comes_first(pair->op)) continue;
    const double less_us = time_with_fixed_kernel_us(request);
    pair->k *= 2;
    EXPECT_GE(time_with_fixed_kernel_us(request), less_us * (1 - tolerance)) << name(request);
  }
}

TEST(RandomSchedules, DoNotEndEarlierWithMoreToTransfer) {
  for (Case request : random_cases()) {
    auto* pair = std::get_if<ConcurrentPair>(&request.workload);
    if (pair == nullptr) continue;
    const double less_us = run(request).time_us;
    pair->bytes *= 2;
    EXPECT_GE(run(request).time_us, less_us * (1 - tolerance)) << name(request);
  }
}

}  // namespace random_schedules_test
}  // namespace weft::sim
