#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/check/hardware_support.hpp"
#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/search.hpp"
#include "sim/meaning/numerical_meaning.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace hybrid_test {

std::vector<ScheduleChoice> choices_of(const PairWorkload& pair, int gpus) {
  return hybrid_choices(pair, gpus, {.max_ctas = {8}, .gemm_sms = {60}});
}

/// Combinations drawn from a fixed seed: every op, 2 to 8 GPUs, small shapes, and one of whole tiles for tile groups.
std::vector<Case> random_cases(std::size_t most_of_each) {
  std::mt19937 generator{20261121};
  const auto up_to = [&](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(generator); };
  std::vector<Case> cases;
  for (int gpus = 2; gpus <= 8; ++gpus)
    for (const auto& [op, name] : NamesOf<PairOp>::names) {
      const int odd = gpus == 6 ? 3 : gpus % 2 == 0 ? 1 : gpus;
      const std::array shapes{PairWorkload{op, 4 * gpus * up_to(2), 4 * up_to(3), 4 * up_to(3)},
                              PairWorkload{op, 512 * odd, 128, 4}};
      for (const PairWorkload& pair : shapes) {
        std::vector<ScheduleChoice> choices = choices_of(pair, gpus);
        const bool has_tiles = pair.n == 128;
        std::erase_if(choices, [&](const ScheduleChoice& choice) {
          return (std::get<Hybrid>(choice.family).trigger == HybridTrigger::tile_group) != has_tiles;
        });
        std::shuffle(choices.begin(), choices.end(), generator);
        choices.resize(std::min(choices.size(), has_tiles ? 1 : most_of_each));
        for (const ScheduleChoice& choice : choices) {
          Case request = make_case(pair, gpus, choice.family);
          request.schedule = choice;
          cases.push_back(request);
        }
      }
    }
  return cases;
}

TEST(Hybrids, AreValidAndHaveNoRaces) {
  for (const Case& request : random_cases(16)) {
    const Schedule schedule = build(request, round_machine());
    EXPECT_NO_THROW(validate(schedule)) << schedule.name;
    for (const Race& race : find_races(schedule)) {
      ADD_FAILURE() << schedule.name << ": " << race.message;
      break;
    }
  }
}

TEST(Hybrids, ComputeWhatTheySay) {
  for (const Case& request : random_cases(8)) {
    const Schedule schedule = build(request, round_machine());
    for (const std::uint64_t seed : {1, 2})
      if (const auto wrong = sim::meaning::check_meaning(schedule, seed)) {
        ADD_FAILURE() << schedule.name << ": " << describe(*wrong);
        break;
      }
  }
}

// 1.06 x 1536 rows are 1629, and tiles have 128: the busiest GPU's are 1664.
TEST(Hybrids, OfImbalancedRowsHaveWholeTiles) {
  const PairWorkload pair{PairOp::gemm_all_to_all, 1536, 256, 128, DataType::bf16, 1.06};
  const Schedule schedule =
      build_case(pair, 2, Hybrid{.trigger = HybridTrigger::tile_group, .mover = HybridMover::pull, .count = 1});
  EXPECT_EQ(schedule.meaning->m, 1664);
}

TEST(Hybrids, RunOnTheSimulatorAndSurviveWritingAndReading) {
  Machine machine = round_machine();
  machine.copy_engines.per_gpu = 2;
  machine.fabric.link.GBps = 100;
  machine.copy_engines.GBps = machine.copy_engines.local_GBps = machine.copy_engines.local_strided_GBps = 50;
  machine.other_kernels.memory_share_per_sm = 0.02;
  for (const Case& request : random_cases(4)) {
    const Schedule schedule = build(request, machine);
    const double time_us = sim::SimulatedExecutor().run(schedule, machine).time_us;
    EXPECT_GT(time_us, 0) << schedule.name;
    const Schedule read = schedule_from_json(to_json(schedule));
    EXPECT_EQ(read, schedule) << schedule.name;
    EXPECT_EQ(sim::SimulatedExecutor().run(read, machine).time_us, time_us) << schedule.name;
  }
}

TEST(Hybrids, CasesSurviveWritingAndReading) {
  for (const Case& request : random_cases(4)) EXPECT_EQ(case_from_json(to_json(request)), request) << request.id;
}

TEST(Hybrids, AllRunOnGpus) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  for (const auto& [op, name] : NamesOf<PairOp>::names)
    for (const ScheduleChoice& choice : choices_of({op, 4096, 4096, 4096}, 4)) {
      Case request = make_case(PairWorkload{op, 4096, 4096, 4096}, 4, choice.family);
      request.schedule = choice;
      const auto refused = why_not_runnable(build(request, machine));
      EXPECT_FALSE(refused) << describe(choice) << ": " << refused->what();
    }
}

TEST(Hybrids, AreManyAndEachHasItsOwnName) {
  for (const auto& [op, name] : NamesOf<PairOp>::names) {
    const std::vector<ScheduleChoice> choices = choices_of({op, 4096, 4096, 4096}, 4);
    EXPECT_GE(choices.size(), 60u) << name;
    std::set<std::string> names;
    for (const ScheduleChoice& choice : choices) names.insert(describe(choice));
    EXPECT_EQ(names.size(), choices.size()) << name;
  }
}

TEST(Hybrids, WhatMakesNoSenseIsRefusedByTheChoiceThatDoesNotFit) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 4096, 4096, 4096};
  const auto error = [&](const Hybrid& hybrid) { return build_error(pair, 4, hybrid); };
  EXPECT_EQ(error({.pieces = HybridPieces::columns}),
            "schedule.pieces: expected chunks: NCCL moves contiguous rows of all ranks");
  EXPECT_EQ(error({.lanes = HybridLanes::each_peer}), "schedule.lanes: expected one for NCCL");
  EXPECT_EQ(error({.mover = HybridMover::pull, .urgent = true}),
            "schedule.urgent: expected false: copy engines have no priority over kernels");
  EXPECT_EQ(error({.mover = HybridMover::push, .kernel_barrier = true}),
            "schedule.kernel_barrier: expected false: copy engines need no SMs");
  EXPECT_EQ(
      error({.trigger = HybridTrigger::tile_group, .mover = HybridMover::pull, .pieces = HybridPieces::shards}),
      "schedule.pieces: expected chunks with trigger tile_group, bands of tile rows, or shards where copy engines "
      "pull what one GEMM multiplies");
  const auto flagged_error = [](const Hybrid& hybrid) {
    return build_error(PairWorkload{PairOp::all_gather_gemm, 4096, 4096, 4096}, 4, hybrid);
  };
  EXPECT_EQ(flagged_error({.trigger = HybridTrigger::tile_group,
                           .mover = HybridMover::pull,
                           .pieces = HybridPieces::shards,
                           .lanes = HybridLanes::each_peer}),
            "schedule.lanes: expected one: tiles run in the order in which rows come");
  EXPECT_EQ(flagged_error({.trigger = HybridTrigger::tile_group,
                           .mover = HybridMover::pull,
                           .pieces = HybridPieces::shards,
                           .ahead = true}),
            "schedule.ahead: expected false: the GEMM follows nothing");
  EXPECT_EQ(flagged_error({.trigger = HybridTrigger::tile_group,
                           .mover = HybridMover::pull,
                           .pieces = HybridPieces::shards,
                           .count = 3}),
            "schedule.count: expected chunks of whole tiles of 128 rows and columns");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 4096, 4096, 4096}, 4,
                        Hybrid{.trigger = HybridTrigger::tile_group}),
            "schedule.gemm_sms: expected a limit: a GEMM whose tiles wait on every SM leaves none for what they wait "
            "for");
  EXPECT_EQ(error({.sums = HybridSums::by_piece}),
            "schedule.sums: expected at_end but where copies bring partial sums");
  EXPECT_EQ(error({.mover = HybridMover::pull, .pieces = HybridPieces::shards, .sums = HybridSums::by_piece}),
            "schedule.sums: expected at_end or in_gemm with pieces shards: each has one owner");
  EXPECT_EQ(error({.mover = HybridMover::pull, .sums = HybridSums::everywhere}),
            "schedule.sums: expected at_end or by_piece: a reduce-scatter's ranks need their own rows only");
  EXPECT_EQ(error({.mover = HybridMover::push, .sums = HybridSums::in_gemm}),
            "schedule.pieces: expected shards with sums in_gemm: accumulators go from each rank to the next");
  EXPECT_EQ(
      error({.trigger = HybridTrigger::kernel_start,
             .mover = HybridMover::pull,
             .pieces = HybridPieces::shards,
             .sums = HybridSums::in_gemm}),
      "schedule.trigger: expected kernel_end, tile_group or one_launch with sums in_gemm: accumulators go from each "
      "rank to the next");
  EXPECT_EQ(error({.mover = HybridMover::pull, .late_sums = true}),
            "schedule.late_sums: expected false but where kernels add up pieces");
  EXPECT_EQ(error({.trigger = HybridTrigger::tile_group,
                   .mover = HybridMover::pull,
                   .sums = HybridSums::by_piece,
                   .late_sums = true}),
            "schedule.late_sums: expected false with trigger tile_group: that GEMM leaves room for sums");
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, 4096}, 4,
                        Hybrid{.mover = HybridMover::pull, .sums = HybridSums::by_piece, .late_sums = true}),
            "schedule.late_sums: expected false where sums of pieces travel: they would all travel after the last "
            "GEMM");
  EXPECT_EQ(error({.mover = HybridMover::store}),
            "schedule.pieces: expected shards with trigger kernel_end, with sums in_gemm shards and with sums "
            "everywhere chunks with "
            "trigger tile_group");
  EXPECT_EQ(
      error({.mover = HybridMover::store, .pieces = HybridPieces::shards, .ahead = true}),
      "schedule.mover: expected nccl, pull, push or peer_kernel with lanes or ahead: what is stored has no stream");
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_reduce_scatter, 4096, 4000, 4096}, 4,
                        Hybrid{.mover = HybridMover::store, .pieces = HybridPieces::shards}),
            "schedule.mover: expected another than store: tiles have 128 columns");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 4096, 4096, 4096}, 4,
                        Hybrid{.mover = HybridMover::store, .pieces = HybridPieces::shards}),
            "schedule.mover: expected one of nccl, pull, push and peer_kernel: a GEMM stores its results");
  EXPECT_EQ(error({.count = 3}), "workload.m: expected a multiple of gpus x count = 12, got 4096");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 14848, 3584, 8192}, 8,
                        Hybrid{.trigger = HybridTrigger::tile_group,
                               .mover = HybridMover::pull,
                               .pieces = HybridPieces::shards,
                               .count = 1}),
            "workload.m: expected a multiple of gpus x count and of tiles of 128 rows = 1024, got 14848");
}

/// All combinations, those that make no sense among them.
std::vector<Hybrid> all_hybrids() {
  std::vector<Hybrid> all;
  for (const auto& [trigger, trigger_name] : NamesOf<HybridTrigger>::names)
    for (const auto& [mover, mover_name] : NamesOf<HybridMover>::names)
      for (const auto& [pieces, pieces_name] : NamesOf<HybridPieces>::names)
        for (const auto& [lanes, lanes_name] : NamesOf<HybridLanes>::names)
          for (const bool ahead : {false, true})
            for (const bool urgent : {false, true})
              for (const bool barrier : {false, true})
                all.push_back({trigger, mover, pieces, 2, lanes, ahead, urgent, 0, barrier});
  return all;
}

TEST(Hybrids, ThatMakeNoSenseAreThoseThatAreNotBuilt) {
  int sensible = 0;
  for (const PairOp op : {PairOp::gemm_reduce_scatter, PairOp::all_gather_gemm})
    for (const Hybrid& hybrid : all_hybrids()) {
      const PairWorkload pair{op, 256, 128, 64};
      const auto why = why_not(hybrid, pair, 2);
      EXPECT_EQ(build_error(pair, 2, hybrid), why ? why->what() : "");
      if (!why) ++sensible;
    }
  EXPECT_GT(sensible, 100);
}

TEST(Hybrids, AreNamedFamiliesAtSomePoints) {
  const PairWorkload pair{PairOp::gemm_reduce_scatter, 64, 32, 16};
  EXPECT_EQ(program_of(build_case(pair, 4, Hybrid{.count = 2, .urgent = true})),
            program_of(build_case(pair, 4, Decomposition{2})));
}

}  // namespace hybrid_test
}  // namespace weft::scenarios::families
