// Distributed attention: its exchanges, its partial results, and the schedules that are built of them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/families/attention_shards.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/sim/failure_of.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace distributed_attention_test {

using namespace scenarios;
using ::testing::HasSubstr;

Slice whole(const Schedule& schedule, BufferId id) {
  const Buffer& buffer = schedule.buffers[static_cast<std::size_t>(id)];
  return {id, 0, RowRange{0, buffer.rows}, 0, buffer.columns};
}

/// One cast, in which rank s sends rows[s][d] rows, counted from its first, to rank d; 1000 columns of bf16.
Schedule cast(const std::vector<std::vector<std::int64_t>>& rows, std::int64_t most_rows = 100000) {
  Schedule schedule;
  schedule.name = "cast";
  schedule.gpus = static_cast<int>(rows.size());
  schedule.buffers = {{"input", most_rows, 1000, DataType::bf16, {}, {}},
                      {"output", most_rows, 1000, DataType::bf16, {}, {}}};
  schedule.streams = {{"s"}};
  GroupedExchange exchange{.kind = GroupedKind::cast, .input = whole(schedule, 0), .output = whole(schedule, 1)};
  for (const auto& of_source : rows) {
    exchange.rows.emplace_back();
    for (const std::int64_t count : of_source) exchange.rows.back().push_back({0, count});
  }
  schedule.operations = {{"cast", 0, {}, exchange}};
  return schedule;
}

Trace run(const Schedule& schedule) {
  validate(schedule);
  return SimulatedExecutor().run(schedule, test_machine());
}
double end_us(const Trace& trace, const std::string& operation, int gpu) {
  for (const Span& span : trace.spans)
    if (span.operation == operation && span.gpu == gpu) return span.end_us;
  return -1;
}

// --- The exchange alone --------------------------------------------------------------------------------------------

TEST(GroupedExchange, OfEqualRowsTakesAsLongAsTheAllToAll) {
  Schedule schedule = cast({{0, 500, 500, 500}, {500, 0, 500, 500}, {500, 500, 0, 500}, {500, 500, 500, 0}});
  const double exchange_us = run(schedule).time_us;
  schedule.buffers = {{"input", 2000, 1000, DataType::bf16, {}, {}}, {"output", 2000, 1000, DataType::bf16, {}, {}}};
  schedule.operations[0].work =
      Collective{.kind = CollectiveKind::all_to_all, .input = whole(schedule, 0), .output = whole(schedule, 1)};
  EXPECT_NEAR(exchange_us, run(schedule).time_us, 0.01);
}

TEST(GroupedExchange, IsAsSlowAsItsBusiestPort) {
  // Rank 0 sends 1500 rows in both; in the second the others send next to nothing.
  const double equal =
      run(cast({{0, 500, 500, 500}, {500, 0, 500, 500}, {500, 500, 0, 500}, {500, 500, 500, 0}})).time_us;
  const double skewed = run(cast({{0, 500, 500, 500}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}})).time_us;
  EXPECT_NEAR(skewed, equal, 0.01 * equal);
  const double incast = run(cast({{0, 1, 1, 1}, {500, 0, 1, 1}, {500, 1, 0, 1}, {500, 1, 1, 0}})).time_us;
  EXPECT_NEAR(incast, equal, 0.01 * equal);
}

TEST(GroupedExchange, RankThatHasLessToDoEndsEarlier) {
  const Trace trace = run(cast({{0, 2000, 0, 0}, {2000, 0, 0, 0}, {0, 0, 0, 200}, {0, 0, 200, 0}}));
  EXPECT_LT(end_us(trace, "cast", 2), end_us(trace, "cast", 0));
  EXPECT_DOUBLE_EQ(end_us(trace, "cast", 3), end_us(trace, "cast", 2));
}

TEST(GroupedExchange, OfNothingTakesItsLatency) {
  const double time_us = run(cast({{0, 0}, {0, 0}})).time_us;
  EXPECT_GT(time_us, 0);
  EXPECT_LE(time_us, run(cast({{0, 1}, {1, 0}})).time_us);
}

TEST(GroupedExchange, CountsTheBytesOfEachPair) {
  const Schedule schedule = cast({{0, 3}, {5, 0}});
  const auto& exchange = std::get<GroupedExchange>(schedule.operations[0].work);
  EXPECT_EQ(pair_bytes(exchange, 0, 1, schedule), 3 * 1000 * 2);
  EXPECT_EQ(busiest_port(exchange, schedule).most(), 5 * 1000 * 2);
  EXPECT_EQ(busiest_port(exchange, schedule).mean(), 4 * 1000 * 2);
}

TEST(GroupedExchange, SurvivesWritingAndReading) {
  const Schedule schedule = cast({{0, 3}, {5, 0}});
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
}

TEST(GroupedExchange, RefusesRowsThatDoNotExistOrDoNotFit) {
  const auto complaint = [](const Schedule& schedule) { return error_of([&] { validate(schedule); }); };
  EXPECT_EQ(complaint(cast({{0, 7}, {5, 0}}, 6)),
            "operations[0].grouped_exchange.rows: expected rows within the 6 of the input, got 7 from 0");
  EXPECT_EQ(complaint(cast({{0, 4, 1}, {1, 0, 4}, {4, 4, 0}}, 6)),
            "operations[0].grouped_exchange.rows: expected at most the 6 rows of the output on every rank, got 8");
  EXPECT_EQ(complaint(cast({{0, 4}, {1}}, 6)), "operations[0].grouped_exchange.rows: expected a matrix of 2 x 2");
}

// --- Schedules -----------------------------------------------------------------------------------------------------

Case make_case(const AttentionWorkload& workload, int gpus, const Family& family) {
  return {.id = "attention", .gpus = gpus, .workload = workload, .schedule = {family}, .measured = {}};
}

struct Drawn {
  Case request;
  std::string name() const {
    return std::to_string(request.gpus) + " GPUs, " + describe(request.workload) + ", " + describe(request.schedule);
  }
};

/// `scale` times so many tokens a chunk.
std::vector<Drawn> random_cases(int scale) {
  std::mt19937 random(5);
  const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  std::vector<Drawn> cases;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const AttentionMask mask : {AttentionMask::causal, AttentionMask::full})
      for (const AttentionExchange exchange : {AttentionExchange::keys_values, AttentionExchange::queries}) {
        const int kv_heads = draw(1, 2);
        const AttentionWorkload workload{std::int64_t{2} * gpus * scale * draw(1, 3), kv_heads * draw(1, 3), kv_heads,
                                         draw(1, 3) * std::min(scale, 32), mask};
        const int most = std::min(scenarios::families::most_stages(workload, gpus), 4);
        cases.push_back({make_case(workload, gpus, Serial{})});
        cases.push_back({make_case(workload, gpus, Staged{std::nullopt, exchange})});
        cases.push_back({make_case(workload, gpus, Staged{draw(1, most), exchange, draw(0, 1) == 1, draw(0, 1) * 4})});
      }
  return cases;
}

TEST(DistributedAttention, ComputesWhatItSays) {
  for (const Drawn& one : random_cases(1))
    EXPECT_EQ(failure_of(scenarios::built_by_model(one.request, test_machine()), 4), "") << one.name();
}

TEST(DistributedAttention, WithoutAnEdgeOrAPartIsFoundOut) {
  const AttentionWorkload workload{16, 2, 1, 2, AttentionMask::causal};
  for (const AttentionExchange exchange : {AttentionExchange::keys_values, AttentionExchange::queries}) {
    const Schedule right = scenarios::built_by_model(make_case(workload, 2, Staged{2, exchange}), test_machine());
    EXPECT_EQ(failure_of(right), "");
    Schedule unordered = right;
    for (Operation& operation : unordered.operations) operation.after.clear();
    EXPECT_NE(failure_of(unordered), "");
    EXPECT_FALSE(find_races(unordered).empty());
    Schedule incomplete = right;
    for (Operation& operation : incomplete.operations)
      if (auto* attention = std::get_if<PartialAttention>(&operation.work)) --attention->parts[1].back().queries;
    EXPECT_NE(failure_of(incomplete), "");
  }
}

TEST(DistributedAttention, IsValidAndHasNoRaces) {
  for (const Drawn& one : random_cases(100)) {
    const Schedule schedule = scenarios::built_by_model(one.request, test_machine());
    EXPECT_NO_THROW(validate(schedule)) << one.name();
    for (const Race& race : find_races(schedule)) ADD_FAILURE() << one.name() << ": " << race.message;
    EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << one.name();
  }
}

TEST(DistributedAttention, SeesEveryPairOfQueryAndKeyOnceOnEveryRank) {
  for (const Drawn& one : random_cases(100)) {
    const auto& workload = std::get<AttentionWorkload>(one.request.workload);
    const Schedule schedule = scenarios::built_by_model(one.request, test_machine());
    double seen = 0;
    for (const Operation& operation : schedule.operations)
      if (const auto* attention = std::get_if<PartialAttention>(&operation.work))
        for (int rank = 0; rank < schedule.gpus; ++rank) seen += flops_of(*attention, rank);
    const auto tokens = static_cast<double>(workload.tokens);
    const double pairs = workload.mask == AttentionMask::full ? tokens * tokens : tokens * (tokens + 1) / 2;
    EXPECT_DOUBLE_EQ(seen, 4 * pairs * static_cast<double>(workload.heads * workload.head_dim)) << one.name();
  }
}

TEST(DistributedAttention, NeverBeatsTheBound) {
  for (const Drawn& one : random_cases(100))
    EXPECT_GE(run(scenarios::built_by_model(one.request, test_machine())).time_us,
              bound_us(one.request.workload, one.request.gpus, test_machine()))
        << one.name();
}

TEST(DistributedAttention, MovesEveryByteOnceThroughThePortsOfItsRanks) {
  for (const Drawn& one : random_cases(100)) {
    const Schedule schedule = scenarios::built_by_model(one.request, test_machine());
    Engine engine;
    const std::vector<OperationCost> costs = operation_costs(schedule, test_machine());
    SimulatedMachine device(engine, test_machine(), schedule, costs, schedule.gpus);
    const StreamOrder order(schedule, {});
    ScheduleRun run(engine, device, order, schedule.gpus);
    run.prepare(1);
    run.run();
    for (int rank = 0; rank < schedule.gpus; ++rank) {
      double out = 0, in = 0;
      for (const Operation& operation : schedule.operations)
        if (const auto* exchange = std::get_if<GroupedExchange>(&operation.work))
          for (int peer = 0; peer < schedule.gpus; ++peer) {
            out += static_cast<double>(pair_bytes(*exchange, rank, peer, schedule));
            in += static_cast<double>(pair_bytes(*exchange, peer, rank, schedule));
          }
      EXPECT_NEAR(device.served(rank).out, out, 1e-6 * out) << one.name();
      EXPECT_NEAR(device.served(rank).in, in, 1e-6 * in) << one.name();
    }
  }
}

// Causal, W ranks with t rows each: rank 0 needs all rows of all others, rank W - 1 half of them.
TEST(DistributedAttention, SendsOnlyTheKeysThatTheMaskNeeds) {
  const scenarios::families::AttentionShards shards({64, 1, 1, 1, AttentionMask::causal}, 4);
  std::vector<std::int64_t> needed;
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t rows = 0;
    for (int peer = 0; peer < 4; ++peer)
      if (peer != rank) rows += shards.needed_keys(peer, rank).count;
    needed.push_back(rows);
  }
  EXPECT_THAT(needed, testing::ElementsAre(48, 40, 32, 24));
}

// 8 GPUs, long sequence: attention takes far longer than what travels, and all of it but a first piece can hide.
TEST(DistributedAttention, StagesHideTheExchange) {
  const AttentionWorkload workload{65536, 8, 4, 64, AttentionMask::causal};
  const double serial = run(scenarios::built_by_model(make_case(workload, 4, Serial{}), test_machine())).time_us;
  const double staged = run(scenarios::built_by_model(make_case(workload, 4, Staged{}), test_machine())).time_us;
  EXPECT_LT(staged, serial);
}

TEST(DistributedAttention, KernelBarrierKeepsTheExchangesFromStarving) {
  const AttentionWorkload workload{65536, 8, 4, 64, AttentionMask::causal};
  const auto exposed = [&](bool barrier) {
    Case request = make_case(workload, 4, Staged{4, AttentionExchange::keys_values, barrier});
    request.schedule.launch = Launch::eager;  // in a graph exchanges of a higher priority come first without it
    return run(scenarios::built_by_model(request, test_machine())).time_us;
  };
  EXPECT_LT(exposed(true), exposed(false));
}

/// MagiAttention's objective knows no gaps between kernels, which short stages are made of.
TEST(DistributedAttention, SolverIsCloseToTheBestNumberOfStages) {
  for (const AttentionExchange exchange : {AttentionExchange::keys_values, AttentionExchange::queries})
    for (const std::int64_t tokens : {8192, 32768}) {
      const AttentionWorkload workload{tokens, 8, 4, 64, AttentionMask::causal};
      double best_us = 1e300;
      for (int stages = 1; stages <= 8; ++stages)
        best_us = std::min(
            best_us,
            run(scenarios::built_by_model(make_case(workload, 4, Staged{stages, exchange}), test_machine())).time_us);
      const double searched =
          run(scenarios::built_by_model(make_case(workload, 4, Staged{std::nullopt, exchange}), test_machine()))
              .time_us;
      EXPECT_LE(searched, 1.2 * best_us) << tokens << ' ' << name_of(exchange);
    }
}

TEST(DistributedAttention, RefusesWhatCannotBeCut) {
  const auto complaint = [](const AttentionWorkload& workload, int gpus, const Family& family) {
    return error_of([&] { scenarios::built_by_model(make_case(workload, gpus, family), test_machine()); });
  };
  EXPECT_EQ(complaint({100, 2, 1, 8, AttentionMask::causal}, 8, Staged{1}),
            "workload.tokens: expected a multiple of 2 x gpus = 16, got 100");
  EXPECT_EQ(complaint({100, 2, 1, 8, AttentionMask::full}, 8, Serial{}),
            "workload.tokens: expected a multiple of gpus = 8, got 100");
  EXPECT_EQ(complaint({96, 3, 2, 8, AttentionMask::full}, 2, Serial{}),
            "workload.kv_heads: expected a divisor of heads = 3, got 2");
  EXPECT_EQ(complaint({32, 2, 1, 8, AttentionMask::causal}, 8, Staged{3}),
            "schedule.stages: expected at most the 2 rows that a pair of GPUs exchanges, got 3");
  EXPECT_THAT(complaint({32, 2, 1, 8, AttentionMask::causal}, 8, Decomposition{2}),
              HasSubstr("got distributed_attention"));
  EXPECT_THAT(complaint({32, 2, 1, 8, AttentionMask::causal}, 1, Staged{1}), HasSubstr("gpus: expected at least 2"));
  EXPECT_EQ(complaint({32, 2, 1, 8, AttentionMask::causal}, 2, Staged{1, AttentionExchange::queries, true, 16}),
            "schedule.sm_margin: expected fewer than the 16 SMs of test-machine, got 16");
}

}  // namespace distributed_attention_test
}  // namespace weft::sim
