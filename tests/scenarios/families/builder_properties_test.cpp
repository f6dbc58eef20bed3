// What holds for every builder, whatever the shape, the number of GPUs and the fabric. Shapes are drawn with a fixed
// seed; the families are those that the search knows, so a new one is looked at without being named here.
#include <gtest/gtest.h>

#include "calibration/evidence/dice.hpp"
#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "models/cost/all_reduce_norm_model.hpp"
#include "models/cost/library_model.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/amounts.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/search.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/sim/port_bytes.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::scenarios::families {
namespace builder_properties_test {

using namespace scenarios;

constexpr std::size_t schedules_of_each_kind = 1;  // named families and hybrids, of a workload; on 42 occasions

/// Another one for each machine, the same everywhere.
std::uint64_t seed_of(const std::string& machine) {
  std::uint64_t seed = 20261121;
  for (const char letter : machine) seed = seed * 31 + static_cast<unsigned char>(letter);
  return seed;
}

/// Sizes from one row to a few thousand: odd ones, and ones that can be cut as a family needs it.
class Shapes {
 public:
  Shapes(const std::string& machine, int gpus)
      : dice_(seed_of(machine), static_cast<std::uint32_t>(gpus)), gpus_(gpus) {}

  std::vector<Workload> workloads() {
    std::vector<Workload> all{GemmWorkload{extent(), extent(), extent()}, GemmWorkload{1, extent(), extent()},
                              ConcurrentPair{extent(), extent(), extent(), 2 * dice_.log_uniform_multiple(1, 1, 1e7)}};
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
      all.push_back(CollectiveWorkload{kind, dice_.log_uniform_multiple(2 * gpus_, 2 * gpus_, 1e8)});
    for (const auto& [pattern, name] : NamesOf<CopyPattern>::names)
      all.push_back(CopyWorkload{dice_.log_uniform_multiple(2, 2, 1e8), pattern});
    for (const auto& [op, name] : NamesOf<PairOp>::names) {
      const std::int64_t gpus = gpus_;
      all.push_back(pair(op, gpus, 1));  // a row for each GPU
      all.push_back(pair(op, dice_.log_uniform_multiple(gpus * gpus, gpus * gpus, 4096), extent()));
      all.push_back(pair(op, dice_.log_uniform_multiple(128 * gpus, 128 * gpus, 8192), 128 * (1 + dice_.below(16))));
    }
    for (const std::int64_t experts : {0, 8}) all.push_back(layer(experts, false));
    all.push_back(layer(0, true));
    for (const auto& [mask, name] : NamesOf<AttentionMask>::names) {
      const std::int64_t kv_heads = 1 + static_cast<std::int64_t>(dice_.below(4));
      all.push_back(AttentionWorkload{dice_.log_uniform_multiple(2 * gpus_, 2 * gpus_, 8192),
                                      kv_heads * (1 + static_cast<std::int64_t>(dice_.below(3))), kv_heads, 64, mask});
    }
    return all;
  }

  /// Some of the named families, and of the hybrids.
  std::vector<Case> requests(const Workload& workload, const Machine& machine) {
    SearchSpace space{.chunks = {2, 3}, .stages = {2}, .max_ctas = {4}, .fused_norm_ctas = fused_norm_ctas(machine)};
    std::vector<Case> all = drawn(candidates(workload, gpus_, space));
    const auto* pair = std::get_if<PairWorkload>(&workload);
    if (pair == nullptr || !dice_.one_in(3)) return all;  // all hybrids take a while to list
    space.gemm_sms = {machine.gpu.sms() / 2};
    for (const ScheduleChoice& choice : drawn(hybrid_choices(*pair, gpus_, space)))
      all.push_back({.id = describe(choice), .gpus = gpus_, .workload = workload, .schedule = choice, .measured = {}});
    return all;
  }

 private:
  template <class Value>
  std::vector<Value> drawn(std::vector<Value> values) {
    dice_.shuffle(values);
    values.resize(std::min(values.size(), schedules_of_each_kind));
    return values;
  }
  std::int64_t extent() { return dice_.log_uniform_multiple(dice_.one_in(2) ? 1 : 8, 1, 4096); }
  PairWorkload pair(PairOp op, std::int64_t m, std::int64_t n) {
    PairWorkload drawn{op, m, n, dice_.log_uniform_multiple(gpus_, gpus_, 4096)};
    if (collective_of(op) == CollectiveKind::all_to_all && dice_.one_in(2)) drawn.imbalance = dice_.log_uniform(1, 2);
    return drawn;
  }
  LayerWorkload layer(std::int64_t experts, bool sequence_parallel) {
    LayerWorkload layer;
    layer.tokens = dice_.log_uniform_multiple(sequence_parallel ? gpus_ : 1, 2 * gpus_, 4096);
    layer.hidden = dice_.log_uniform_multiple(8, 64, 4096);
    layer.kv_heads = gpus_;
    layer.heads = gpus_ * (1 + static_cast<std::int64_t>(dice_.below(4)));
    layer.head_dim = 64;
    layer.intermediate = dice_.log_uniform_multiple(8 * gpus_, 8 * gpus_, 8192);
    layer.sequence_parallel = sequence_parallel;
    layer.experts = experts;
    layer.experts_per_token = experts / 4;
    if (experts > 0) layer.expert_imbalance = dice_.log_uniform(1, 4);
    return layer;
  }

  calibration::evidence::Dice dice_;
  int gpus_;
};

/// What leaves a rank and what comes to it over the fabric, as the schedule says, requests of pulls by copy engines
/// included. A collective below the sizes of the profile's curves is all latency: nothing flows.
struct SentBytes {
  double out = 0, in = 0;
};
SentBytes sent_bytes(const Schedule& schedule, const std::vector<sim::OperationCost>& costs, int rank,
                     const CopyEngines& engines) {
  SentBytes sent;
  for (std::size_t id = 0; id < costs.size(); ++id) {
    const CollectiveTiming& timing = costs[id].collective;
    if (timing.latency_us > 0 && timing.transfer_us == 0) continue;
    double both = 0;
    std::visit(Overloaded{[&](const Collective& collective) {
                            const auto bytes = static_cast<double>(bytes_of(full_slice(collective), schedule));
                            both = bytes_out(timing.algorithm, collective.kind, schedule.gpus, bytes);
                          },
                          [&](const Gemm& gemm) {  // every rank stores as much on its peers as they on it
                            for (const RowBlock& block : row_blocks(gemm)) {
                              std::vector<Slice> stored = block.replicas;
                              stored.push_back(block.c);
                              for (const Slice& slice : stored)
                                if (slice.place != 0) both += static_cast<double>(bytes_of(slice, schedule));
                            }
                          },
                          [&](const AllReduceNorm& norm) {
                            const auto bytes = static_cast<double>(bytes_of(norm.partial, schedule));
                            both = tests::port_bytes(norm.transport, schedule.gpus, bytes);
                          },
                          [&](const GroupedExchange& exchange) {
                            for (int peer = 0; peer < schedule.gpus; ++peer) {
                              if (peer == rank) continue;
                              sent.out += static_cast<double>(pair_bytes(exchange, rank, peer, schedule));
                              sent.in += static_cast<double>(pair_bytes(exchange, peer, rank, schedule));
                            }
                          },
                          [&](const Copy& copy) {
                            if (copy.source.place == copy.destination.place) return;
                            const auto bytes_by = [&](int executing) {
                              const int by = (executing % schedule.gpus + schedule.gpus) % schedule.gpus;
                              return static_cast<double>(bytes_on_rank(copy.source, by, schedule));
                            };
                            const bool asks = copy.path == CopyPath::copy_engine && copy.source.place != 0;
                            const double with_requests = asks ? engines.rate_of_push_GBps() / engines.GBps : 1;
                            sent.out += with_requests * bytes_by(rank - copy.source.place);
                            sent.in += with_requests * bytes_by(rank - copy.destination.place);
                          },
                          [](const auto&) {}},
               schedule.operations[id].work);
    sent.out += both;
    sent.in += both;
  }
  return sent;
}

class EveryBuilder : public testing::TestWithParam<std::string> {
 protected:
  void expect_all_properties(const Case& request) const {
    const Schedule schedule = built_by_model(request, machine_);
    EXPECT_NO_THROW(validate(schedule));
    for (const Race& race : find_races(schedule)) ADD_FAILURE() << race.message;
    expect_bytes_conserved(schedule);
    const double time_us = sim::SimulatedExecutor({.spans = false, .mechanisms = {}}).run(schedule, machine_).time_us;
    EXPECT_GE(time_us, bound_us(request.workload, request.gpus, machine_));
  }
  void expect_bytes_conserved(const Schedule& schedule) const {
    sim::Engine engine;
    const std::vector<sim::OperationCost> costs = sim::operation_costs(schedule, machine_);
    sim::SimulatedMachine device(engine, machine_, schedule, costs, schedule.gpus);
    const sim::StreamOrder order(schedule, {});
    sim::ScheduleRun run(engine, device, order, schedule.gpus);
    run.prepare(1);
    run.run();
    EXPECT_LE(device.pool().peak_load(), 1 + 1e-9);
    for (int rank = 0; rank < schedule.gpus; ++rank) {
      const SentBytes sent = sent_bytes(schedule, costs, rank, machine_.copy_engines);
      EXPECT_NEAR(device.served(rank).out, sent.out, 1e-6 * sent.out) << "rank " << rank;
      EXPECT_NEAR(device.served(rank).in, sent.in, 1e-6 * sent.in) << "rank " << rank;
    }
  }

  const Machine machine_ = read_machine(machine_path(GetParam()));
};

TEST_P(EveryBuilder, IsFreeOfRacesConservesBytesAndNeverBeatsTheBound) {
  for (int gpus = 2; gpus <= machine_.gpus; ++gpus) {
    Shapes shapes(GetParam(), gpus);
    for (const Workload& workload : shapes.workloads())
      for (const Case& request : shapes.requests(workload, machine_)) {
        SCOPED_TRACE(describe(workload) + " on " + std::to_string(gpus) + " GPUs, " + request.id);
        EXPECT_NO_THROW(expect_all_properties(request));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, EveryBuilder, tests::shipped_profiles, tests::name_of_profile);

}  // namespace builder_properties_test
}  // namespace weft::scenarios::families
