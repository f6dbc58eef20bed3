#include "scenarios/study/losses.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/search.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/scenarios/built_by_model.hpp"

namespace weft::scenarios::study {
namespace losses_test {

using namespace scenarios;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Schedule built(const Workload& workload, int gpus, const ScheduleChoice& choice, const Machine& machine = h200()) {
  return built_by_model({.id = "a", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}}, machine);
}

Losses losses_of(const Workload& workload, int gpus, const ScheduleChoice& choice, const Machine& machine = h200()) {
  const Schedule serial = built(workload, gpus, {Serial{}, 0, choice.launch}, machine);
  return LossAccount(serial, machine, sim::simulate).of(built(workload, gpus, choice, machine));
}

std::string text(const Losses& losses) {
  std::string text;
  for (const auto& [cause, name] : NamesOf<Cause>::names)
    text += std::string(name) + " " + std::to_string(losses.of(cause) / 1000) + " ns, ";
  return text + "together " + std::to_string(losses.whole_ps() / 1000) + " ns";
}

std::int64_t sum(const Losses& losses) {
  return std::accumulate(losses.parts_ps.begin(), losses.parts_ps.end(), std::int64_t{0});
}

void expect_largest(Cause cause, const Losses& losses) {
  EXPECT_EQ(text_of(losses.largest()), text_of(cause)) << text(losses);
  EXPECT_EQ(sum(losses), losses.whole_ps());
}

TEST(Losses, PartsAddUpToTheWholeForEveryFamilyOnRandomShapes) {
  std::mt19937 generator{20261121};
  const auto between = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(generator);
  };
  for (const int gpus : {2, 4}) {
    std::vector<Workload> workloads{
        ConcurrentPair{between(100, 9000), between(100, 9000), between(100, 9000), 4096 * between(1, 9000)},
        LayerWorkload{
            .tokens = 2048, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .intermediate = 9000}};
    for (const auto& [op, name] : NamesOf<PairOp>::names)
      workloads.push_back(PairWorkload{op, 512 * between(1, 20), 128 * between(1, 60), 64 * between(1, 100)});
    for (const Workload& workload : workloads) {
      const Schedule serial = built(workload, gpus, {});
      const LossAccount account(serial, h200(), sim::simulate);
      for (const Case& request : candidates(workload, gpus, {.chunks = {4}, .max_ctas = {}})) {
        const Schedule schedule = built_by_model(request, h200());
        const Losses losses = account.of(schedule);
        const double time_us = sim::SimulatedExecutor().run(schedule, h200()).time_us;
        EXPECT_EQ(losses.time_ps, from_us(time_us).count) << schedule.name;
        EXPECT_EQ(sum(losses), losses.time_ps - losses.overlap_ps) << schedule.name << ": " << text(losses);
        // In the ideal machine no order beats perfect overlap, but for the nanosecond that each end is rounded to.
        EXPECT_GE(losses.of(Cause::exposed), -1000 * static_cast<std::int64_t>(schedule.operations.size()))
            << schedule.name << ": " << text(losses);
      }
    }
  }
}

TEST(Losses, OfSerialAreTheShorterOfItsTwoParts) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  expect_largest(Cause::exposed, losses_of(pair, 4, {}));
}

TEST(Losses, OfAPieceOfWorkAloneAreNone) { EXPECT_EQ(losses_of(GemmWorkload{4096, 4096, 4096}, 2, {}).whole_ps(), 0); }

TEST(Losses, TinyChunksAreOtherTransfersOrSmallGemms) {
  const Losses losses = losses_of(PairWorkload{PairOp::gemm_all_reduce, 4096, 1024, 16384}, 2, {Decomposition{32}});
  EXPECT_TRUE(losses.largest() == Cause::transfers || losses.largest() == Cause::gemms) << text(losses);
  EXPECT_GT(losses.of(Cause::transfers) + losses.of(Cause::gemms), losses.whole_ps() / 2) << text(losses);
}

TEST(Losses, AGemmOnAllSmsBeforeALateCollectiveIsSharedSms) {
  Machine machine = h200();
  machine.power.limit_W = 1e6;  // so large a GEMM loses more to the limit than to anything else
  const ConcurrentPair both{8192, 8192, 8192, 256 << 20};
  expect_largest(Cause::sm_sharing, losses_of(both, 4, {Concurrent{FirstLaunched::gemm}}, machine));
}

TEST(Losses, PullsThatMeetAtASourceAreSharedLinks) {
  Machine machine = h200();
  machine.copy_engines.setup_spread_us = 20;  // ranks come apart with every pull
  const PairWorkload pair{PairOp::all_gather_gemm, 65536, 128, 8192};
  expect_largest(Cause::links, losses_of(pair, 8, {Signaling{}}, machine));
}

TEST(Losses, ALongChainRunEagerlyIsLaunch) {
  expect_largest(Cause::launch,
                 losses_of(PairWorkload{PairOp::all_gather_gemm, 256, 128, 512}, 4, {Ficco{}, 0, Launch::eager}));
}

// Copies between PCIe cards pass the host once, and a ring's blocks again and again.
TEST(Losses, CopiesThatAreFasterThanTheCollectiveAreAGainOfTransfers) {
  const Machine cards = read_machine(machine_path("rtxpro6000x8-pcie"));
  const PairWorkload pair{PairOp::all_gather_gemm, 12288, 2048, 1024};
  const Losses losses = losses_of(pair, 4, {AsyncTp{}}, cards);
  ASSERT_LT(losses.whole_ps(), 0);
  EXPECT_EQ(sum(losses), losses.whole_ps());
  EXPECT_LT(losses.of(Cause::transfers), losses.whole_ps() / 2) << text(losses);
  EXPECT_LE(losses.of(Cause::power), 0) << text(losses);
}

TEST(Losses, TheTextNamesTheLargest) {
  Losses losses{.time_ps = 100'000'000, .overlap_ps = 60'000'000, .parts_ps = {}};
  EXPECT_EQ(why(losses), "-");
  losses.parts_ps[static_cast<std::size_t>(Cause::hbm)] = 10'000'000;
  losses.parts_ps[static_cast<std::size_t>(Cause::exposed)] = 30'000'000;
  EXPECT_EQ(why(losses), "exposed communication 30 us");
}

}  // namespace losses_test
}  // namespace weft::scenarios::study
