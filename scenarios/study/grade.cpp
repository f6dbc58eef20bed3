#include "scenarios/study/grade.hpp"

#include <algorithm>
#include <array>

#include "models/cost/collective_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/schedule/amounts.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::study {
namespace {

constexpr double enough = 0.1;  // of the time

/// Microseconds that rest on numbers of each grade and kind.
class Rests {
 public:
  void add(Grade grade, double time_us) { us_[static_cast<std::size_t>(grade)] += time_us; }
  /// Numbers that are weaker count with those that are not: what rests on them is no better.
  Grade weakest_above(double time_us) const {
    double sum_us = 0;
    for (std::size_t i = us_.size(); i-- > 0;)
      if ((sum_us += us_[i]) > time_us) return static_cast<Grade>(i);
    return Grade::measured;
  }

 private:
  std::array<double, 4> us_{};
};

double bytes_of_all(const std::vector<Slice>& slices, const Schedule& schedule) {
  double bytes = 0;
  for (const Slice& slice : slices) bytes += static_cast<double>(bytes_of(slice, schedule));
  return bytes;
}

CollectiveTiming time_of(const Collective& collective, Bytes bytes, int gpus, const Machine& machine) {
  return time_over(machine, collective.transport, collective.kind, gpus, bytes, collective.max_ctas);
}

Grade grade_of(const Collective& collective, int gpus, const ProfileGrades& grades) {
  switch (collective.transport) {
    case Transport::peer_kernel:
    case Transport::one_shot:
      return grades.of_two_shot(gpus);
    case Transport::multicast:
      return grades.multimem;
    case Transport::nccl:
    case Transport::nccl_nvls:
    case Transport::nccl_copy_engine:
    case Transport::pull:
    case Transport::push:
      break;
  }
  return grades.of(collective.kind, gpus);
}

}  // namespace

Grade grade_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades) {
  Rests rests;
  const double tensor_rate = machine.gpu.flops_per_us(), hbm_rate = machine.gpu.hbm_GBps * 1e3;
  const double copy_rate = machine.copy_engines.GBps * 1e3;  // bytes in a microsecond
  rests.add(grades.launches, machine.latencies.graph_gap_us);
  for (const Operation& operation : schedule.operations) {
    rests.add(grades.launches, machine.latencies.kernel_gap_us);
    match(
        operation.work,
        [&](const OneOf<Gemm, GroupedGemm> auto& gemm) {
          rests.add(grades.gemm, tensor_flops(Work(gemm), schedule.gpus) / tensor_rate);
        },
        [&](const OneOf<Attention, PartialAttention> auto& attention) {
          rests.add(grades.attention, tensor_flops(Work(attention), schedule.gpus) / tensor_rate);
        },
        [&](const Collective& collective) {
          const Bytes bytes = bytes_of(full_slice(collective), schedule);
          const CollectiveTiming timing = time_of(collective, bytes, schedule.gpus, machine);
          rests.add(grade_of(collective, schedule.gpus, grades), timing.latency_us + timing.transfer_us);
        },
        [&](const Copy& copy) {
          rests.add(grades.copies, static_cast<double>(bytes_of(copy.source, schedule)) / copy_rate);
        },
        [&](const MemoryBound& kernel) {
          rests.add(grades.memory,
                    (bytes_of_all(kernel.reads, schedule) + bytes_of_all(kernel.writes, schedule)) / hbm_rate);
        },
        [&](const AllReduceNorm& kernel) {
          rests.add(grades.fused_norm, 2 * static_cast<double>(bytes_of(kernel.partial, schedule)) / hbm_rate);
        },
        [](const OneOf<GroupedExchange, Signal, Wait, Barrier, Delay> auto&) {});
  }
  return rests.weakest_above(enough * time_us * schedule.repeats_per_iteration);
}

Grade grade_of_advice(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                      const ProfileGrades& grades) {
  const Answer& answer = exploration.answers[leading_answer(verdict_of(exploration, scenario), exploration)];
  const Candidate& advice = answer.ranking.advice();
  Case as_run = advice.request;
  for (const Explored& one : answer.fastest_first)
    if (one.candidate.request == advice.request) as_run.schedule = one.as_run;
  return grade_of(families::build(as_run, machine), advice.estimate.time_us, machine, grades);
}

}  // namespace weft::scenarios::study
