// A loss is what its mechanism costs: on a machine without the mechanism there is none, and on one with it there is.
#include <gtest/gtest.h>

#include <ostream>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/losses.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/scenarios/built_by_model.hpp"

namespace weft::scenarios::study {
namespace losses_without_mechanisms_test {

using sim::Mechanisms;

/// A cause of losses, and what of the machine has to be off for it to have no effect.
struct Row {
  Cause cause;
  std::vector<bool Mechanisms::*> off;

  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << name_of(row.cause); }
};

/// Ranks come apart with every pull, so that pulls meet at a source, and memory is too slow for what runs at once.
const Machine& machine() {
  static const Machine machine = [] {
    Machine h200 = read_machine(machine_path("h200x8-nvswitch"));
    h200.copy_engines.setup_spread_us = 40;
    h200.gpu.hbm_GBps /= 4, h200.gpu.l2_GBps /= 4;
    h200.gemm.own_efficiency = 0.9;  // a kernel that is faster than serial's is a gain, which counts as power
    h200.power.limit_W = 450;
    return h200;
  }();
  return machine;
}

struct Question {
  Schedule serial, schedule;
};

Question question_of(const Workload& workload, int gpus, const ScheduleChoice& choice) {
  const auto built = [&](const ScheduleChoice& one) {
    return built_by_model({.id = "a", .gpus = gpus, .workload = workload, .schedule = one, .measured = {}}, machine());
  };
  return {built({Serial{}, 0, choice.launch}), built(choice)};
}

/// Two GEMMs, one after the other and then side by side, each on some of the SMs.
Question two_small_gemms() {
  Schedule serial = question_of(GemmWorkload{1024, 1024, 8192}, 2, {}).serial;
  Operation second = serial.operations.front();
  second.name = "second";
  auto& gemm = std::get<Gemm>(second.work);
  serial.buffers.push_back(serial.buffers[static_cast<std::size_t>(gemm.c.buffer)]);
  serial.buffers.back().name = "second";
  gemm.c.buffer = static_cast<BufferId>(serial.buffers.size()) - 1;
  serial.operations.push_back(second);
  Schedule side_by_side = serial;
  side_by_side.streams.push_back({.name = "second"});
  side_by_side.operations.back().stream = static_cast<StreamId>(side_by_side.streams.size()) - 1;
  return {serial, side_by_side};
}

/// Collectives beside GEMMs that run long enough for the power limit, pulls by copy engines, chunks on two streams.
std::vector<Question> questions() {
  return {
      question_of(PairWorkload{PairOp::gemm_all_reduce, 16384, 8192, 4096}, 4, {Decomposition{4}, 0, Launch::graph}),
      question_of(PairWorkload{PairOp::gemm_reduce_scatter, 4096, 2048, 2048}, 4, {Signaling{}, 0, Launch::graph}),
      question_of(PairWorkload{PairOp::all_gather_gemm, 8192, 4096, 4096}, 4, {Ficco{}, 0, Launch::eager}),
      question_of(PairWorkload{PairOp::all_gather_gemm, 65536, 128, 8192}, 8, {Signaling{}, 0, Launch::graph}),
      question_of(ConcurrentPair{8192, 8192, 8192, 256 << 20}, 4, {Concurrent{FirstLaunched::gemm}, 0, Launch::graph}),
      two_small_gemms()};
}

/// The largest of the cause's losses in all questions, by its absolute value, as `clock` tells the times.
std::int64_t largest_ps(Cause cause, const Clock& clock) {
  std::int64_t largest = 0;
  for (const auto& [serial, schedule] : questions())
    largest = std::max(largest, std::abs(LossAccount(serial, machine(), clock).of(schedule).of(cause)));
  return largest;
}

class LossesWithoutMechanisms : public testing::TestWithParam<Row> {};

TEST_P(LossesWithoutMechanisms, AreNone) {
  const auto& [cause, off] = GetParam();
  const Clock without = [&off](const Schedule& schedule, const Machine& machine, sim::SimulationOptions options) {
    for (const auto mechanism : off) options.mechanisms.*mechanism = false;
    return sim::simulate(schedule, machine, options);
  };
  EXPECT_EQ(largest_ps(cause, without), 0);
}

TEST_P(LossesWithoutMechanisms, AreSomeWhereTheMechanismIs) {
  EXPECT_GT(largest_ps(GetParam().cause, sim::simulate), 0);
}

INSTANTIATE_TEST_SUITE_P(By, LossesWithoutMechanisms,
                         testing::Values(Row{Cause::sm_sharing, {&Mechanisms::sm_sharing, &Mechanisms::residency}},
                                         Row{Cause::slowdown, {&Mechanisms::slowdown}},
                                         Row{Cause::links, {&Mechanisms::links}},
                                         Row{Cause::copy_engines, {&Mechanisms::copy_engines}},
                                         Row{Cause::hbm, {&Mechanisms::hbm}}, Row{Cause::l2, {&Mechanisms::l2}},
                                         Row{Cause::power, {&Mechanisms::power}}, Row{Cause::skew, {&Mechanisms::skew}},
                                         Row{Cause::synchronisation, {&Mechanisms::synchronisation}},
                                         Row{Cause::launch, {&Mechanisms::gaps}}),
                         [](const testing::TestParamInfo<Row>& row) { return std::string(name_of(row.param.cause)); });

}  // namespace losses_without_mechanisms_test
}  // namespace weft::scenarios::study
