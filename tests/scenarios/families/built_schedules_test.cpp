// Whatever the shape: what holds for every schedule that a builder makes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/families/families.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace built_schedules_test {

class Shapes {
 public:
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(generator_);
  }

 private:
  std::mt19937 generator_{20240817};
};

/// That overlap inside of the pairs of a layer, and serial.
std::vector<Family> families_of_layers(bool sequence_parallel) {
  const auto hybrid = [](HybridMover mover, HybridPieces pieces, int count, HybridLanes lanes = HybridLanes::one) {
    return Hybrid{.mover = mover, .pieces = pieces, .count = count, .lanes = lanes};
  };
  std::vector<Family> all{Serial{},
                          Decomposition{2},
                          Decomposition{4},
                          hybrid(HybridMover::nccl, HybridPieces::chunks, 2),
                          hybrid(HybridMover::push, HybridPieces::shards, 1),
                          hybrid(HybridMover::pull, HybridPieces::chunks, 4, HybridLanes::each_peer),
                          hybrid(HybridMover::push, HybridPieces::columns, 2),
                          hybrid(HybridMover::peer_kernel, HybridPieces::shards, 2)};
  if (!sequence_parallel) return all;
  all.insert(all.end(), {AsyncTp{}, AsyncTp{AsyncInput::symmetric, AsyncForm::rotating}});
  return all;
}

/// Every op under every family that it has, on 2 to 8 GPUs, with shapes drawn from a fixed seed.
std::vector<Case> random_cases() {
  Shapes draw;
  std::vector<Case> cases;
  for (int gpus = 2; gpus <= 8; ++gpus) {
    for (const auto& [op, name] : NamesOf<PairOp>::names)
      for (const int chunks : {1, 2, 3, 5, 8}) {
        PairWorkload pair{op, gpus * chunks * draw.between(1, 40), draw.between(1, 500), draw.between(1, 500)};
        if (collective_of(op) == CollectiveKind::all_to_all)
          pair.imbalance = 1 + static_cast<double>(draw.between(0, 100)) / 100;
        cases.push_back(make_case(pair, gpus));
        if (op != PairOp::all_to_all_gemm) cases.push_back(make_case(pair, gpus, Decomposition{chunks}));
      }
    for (const PairOp op : {PairOp::all_gather_gemm, PairOp::gemm_reduce_scatter})
      for (const AsyncInput input : {AsyncInput::copied, AsyncInput::symmetric}) {
        if (op == PairOp::gemm_reduce_scatter && input == AsyncInput::symmetric) continue;
        const PairWorkload pair{op, gpus * draw.between(1, 40), draw.between(1, 500), draw.between(1, 500)};
        cases.push_back(make_case(pair, gpus, AsyncTp{input}));
        if (op == PairOp::gemm_reduce_scatter)
          cases.push_back(make_case(pair, gpus, AsyncTp{input, AsyncForm::rotating}));
      }
    for (const PairOp op : {PairOp::all_gather_gemm, PairOp::all_to_all_gemm})
      for (const Ficco& point : ficco_points(op)) {
        const PairWorkload pair{op, gpus * gpus * draw.between(1, 10), draw.between(1, 500),
                                gpus * draw.between(1, 100)};
        cases.push_back(make_case(pair, gpus, point));
        if (op != PairOp::all_to_all_gemm) continue;
        PairWorkload uneven = pair;
        uneven.imbalance = 1 + static_cast<double>(draw.between(1, 100)) / 100;
        cases.push_back(make_case(uneven, gpus, point));
      }
    for (const PairOp op : {PairOp::gemm_all_reduce, PairOp::gemm_reduce_scatter, PairOp::gemm_all_to_all}) {
      if (op != PairOp::gemm_all_reduce && 128 % gpus != 0) continue;
      const PairWorkload pair{op, 128 * gpus * draw.between(3, 10), 1024 * draw.between(4, 8), draw.between(1, 500)};
      cases.push_back(make_case(pair, gpus, Signaling{{1, 1}}));
      if (op == PairOp::gemm_all_to_all) {
        PairWorkload uneven = pair;
        uneven.imbalance = 1.5;
        cases.push_back(make_case(uneven, gpus, Signaling{{1, 1}}));
      }
      cases.push_back(make_case(pair, gpus, Signaling{}));
    }
    cases.push_back(make_case(PairWorkload{PairOp::all_gather_gemm, 128 * gpus * draw.between(1, 10),
                                           128 * draw.between(1, 10), draw.between(1, 500)},
                              gpus, Signaling{}));
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
      cases.push_back(make_case(CollectiveWorkload{kind, 2 * gpus * draw.between(1, 100000)}, gpus));
    for (const CopyPattern pattern : {CopyPattern::one_peer, CopyPattern::all_peers})
      cases.push_back(make_case(CopyWorkload{2 * draw.between(1, 100000), pattern}, gpus));
    const ConcurrentPair both{draw.between(1, 500), draw.between(1, 500), draw.between(1, 500),
                              2 * draw.between(1, 100000)};
    for (const Family& family :
         {Family(Serial{}), Family(Concurrent{FirstLaunched::collective}), Family(Concurrent{FirstLaunched::gemm})})
      cases.push_back(make_case(both, gpus, family));
    const std::int64_t tokens = draw.between(300, 1000);
    for (const TokenSplit& split : {TokenSplit{draw.between(1, tokens - 1)}, TokenSplit{}})
      cases.push_back(make_case(LayerWorkload{.tokens = tokens,
                                              .hidden = 8 * draw.between(1, 50),
                                              .heads = 2 * gpus,
                                              .kv_heads = gpus,
                                              .head_dim = 16,
                                              .intermediate = gpus * draw.between(1, 50)},
                                gpus, split));
    for (const std::int64_t experts : {0, 4}) {
      LayerWorkload layer{.tokens = tokens,
                          .hidden = 8 * draw.between(1, 50),
                          .heads = 2 * gpus,
                          .kv_heads = gpus,
                          .head_dim = 16,
                          .intermediate = gpus * draw.between(1, 50)};
      layer.experts = experts;
      layer.experts_per_token = experts / 2;
      if (experts > 0) layer.expert_imbalance = static_cast<double>(draw.between(10, 20)) / 10;
      cases.push_back(make_case(layer, gpus));
      cases.push_back(make_case(layer, gpus, TokenSplit{draw.between(1, tokens - 1)}));
      cases.push_back(make_case(layer, gpus, TokenSplit{gpus * draw.between(1, (tokens - 1) / gpus), true}));
      cases.push_back(make_case(layer, gpus, TokenSplit{std::nullopt, true}));
    }
    for (const bool sequence_parallel : {false, true}) {
      const LayerWorkload layer{.tokens = 4 * gpus * draw.between(1, 12),
                                .hidden = 8 * draw.between(1, 50),
                                .heads = 2 * gpus,
                                .kv_heads = gpus,
                                .head_dim = 16,
                                .intermediate = gpus * draw.between(1, 50),
                                .dtype = DataType::bf16,
                                .sequence_parallel = sequence_parallel};
      for (const Family& family : families_of_layers(sequence_parallel))
        cases.push_back(make_case(layer, gpus, family));
      LayerWorkload batch = layer;
      batch.sequences = batch.tokens / 4, batch.prefix = draw.between(1, 100);
      const Hybrid pulls{.mover = HybridMover::pull, .pieces = HybridPieces::shards, .count = 1};
      for (const Family& family : {Family{Serial{}}, Family{Pairs{.o = PairSchedule{pulls}}}})
        cases.push_back(make_case(batch, gpus, family));
      if (!sequence_parallel) cases.push_back(make_case(batch, gpus, TokenSplit{}));
      LayerWorkload mixed = layer;
      mixed.decoding = draw.between(1, mixed.tokens - 1), mixed.decoding_prefix = draw.between(0, 100);
      cases.push_back(make_case(mixed, gpus));
      if (!sequence_parallel) cases.push_back(make_case(mixed, gpus, TokenSplit{}));
    }
  }
  return cases;
}

/// By all ranks together from their peers.
Bytes bytes_received(const Schedule& schedule) {
  Bytes total = 0;
  for (const Collective& collective : all_of_kind<Collective>(schedule))
    total += bytes_of(full_slice(collective), schedule) * (schedule.gpus - 1) *
             (collective.kind == CollectiveKind::all_reduce ? 2 : 1);
  for (const Copy& copy : all_of_kind<Copy>(schedule))
    if (copy.source.place != copy.destination.place) total += bytes_of(copy.source, schedule) * schedule.gpus;
  return total;
}

Flops flops_of(const Schedule& schedule) {
  Flops total = 0;
  for (const Gemm& gemm : all_of_kind<Gemm>(schedule)) total += size_of(gemm, schedule.gpus).flops();
  return total;
}

TEST(BuiltSchedules, AreValid) {
  for (const Case& request : random_cases())
    EXPECT_NO_THROW(validate(built_by_model(request, round_machine())))
        << built_by_model(request, round_machine()).name;
}

TEST(BuiltSchedules, HaveNoRaces) {
  for (const Case& request : random_cases()) {
    const Schedule schedule = built_by_model(request, round_machine());
    for (const Race& race : find_races(schedule)) ADD_FAILURE() << schedule.name << ": " << race.message;
  }
}

TEST(BuiltSchedules, WouldRaceWithoutTheirEdges) {
  Schedule schedule = build_case(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4, Decomposition{2});
  for (Operation& operation : schedule.operations) operation.after.clear();
  EXPECT_FALSE(find_races(schedule).empty());
}

TEST(BuiltSchedules, SurviveWritingAndReading) {
  for (const Case& request : random_cases()) {
    const Schedule schedule = built_by_model(request, round_machine());
    EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule) << schedule.name;
  }
}

TEST(BuiltSchedules, NameEveryOperationOnce) {
  for (const Case& request : random_cases()) {
    const Schedule schedule = built_by_model(request, round_machine());
    std::set<std::string> names;
    for (const Operation& operation : schedule.operations) names.insert(operation.name);
    EXPECT_EQ(names.size(), schedule.operations.size()) << schedule.name;
  }
}

TEST(BuiltSchedules, CuttingChangesNeitherBytesNorFlops) {
  for (Case request : random_cases()) {
    const auto* pair = std::get_if<PairWorkload>(&request.workload);
    if (pair && pair->imbalance != 1) continue;  // rounding up to whole chunks adds rows
    const bool is_layer = std::holds_alternative<LayerWorkload>(request.workload);
    if (!pair && (!is_layer || std::holds_alternative<TokenSplit>(request.schedule.family))) continue;
    const Schedule schedule = built_by_model(request, round_machine());
    request.schedule.family = Serial{};
    const Schedule serial = built_by_model(request, round_machine());
    EXPECT_EQ(bytes_received(schedule), bytes_received(serial)) << schedule.name;
    EXPECT_EQ(flops_of(schedule), flops_of(serial)) << schedule.name;
  }
}

TEST(BuiltSchedules, ChunksCoverEveryRowOnce) {
  for (const Case& request : random_cases()) {
    if (!std::holds_alternative<Decomposition>(request.schedule.family) ||
        !std::holds_alternative<PairWorkload>(request.workload))
      continue;
    const Schedule schedule = built_by_model(request, round_machine());
    std::int64_t next_row = 0;
    for (const Gemm& gemm : all_of_kind<Gemm>(schedule)) {
      EXPECT_EQ(first_row(gemm.c.rows, 0, schedule.gpus), next_row) << schedule.name;
      next_row += row_count(gemm.c.rows, schedule.gpus);
    }
    const std::vector<std::int64_t>& rows = schedule.meaning->rows_of_rank;
    EXPECT_EQ(next_row, rows.empty() ? schedule.meaning->m : rows.front()) << schedule.name;
  }
}

}  // namespace built_schedules_test
}  // namespace weft::scenarios::families
