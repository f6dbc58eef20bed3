#include "scenarios/study/grade.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "models/cost/all_reduce_norm_model.hpp"
#include "models/cost/collective_model.hpp"
#include "models/cost/direct_collective_model.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/footprint.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/transports.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::study {
namespace {

constexpr double enough = 0.1;  // of the time

/// Microseconds that rest on numbers of each grade, and on which numbers.
class Rests {
 public:
  void add(Grade grade, double time_us, const AssumedNumbers& numbers) {
    us_[static_cast<std::size_t>(grade)] += time_us;
    if (grade == Grade::assumed) assumed_us_[numbers] += time_us;
  }
  double counted_us() const { return std::accumulate(us_.begin(), us_.end(), 0.0); }
  /// Numbers that are weaker count with those that are not: what rests on them is no better.
  Grade weakest_above(double time_us) const {
    double sum_us = 0;
    for (std::size_t i = us_.size(); i-- > 0;)
      if ((sum_us += us_[i]) > time_us) return static_cast<Grade>(i);
    return Grade::measured;
  }
  /// Most time first, until what is left is no more than `time_us`.
  std::vector<AssumedNumbers> assumed(double time_us) const {
    std::vector<std::pair<double, AssumedNumbers>> parts;
    double left_us = 0;
    for (const auto& [numbers, us] : assumed_us_) parts.emplace_back(us, numbers), left_us += us;
    std::ranges::sort(parts, std::greater());
    std::vector<AssumedNumbers> names;
    for (const auto& [us, numbers] : parts) {
      if (left_us <= time_us) break;
      names.push_back(numbers);
      left_us -= us;
    }
    return names;
  }

 private:
  std::array<double, NamesOf<Grade>::names.size()> us_{};
  std::map<AssumedNumbers, double> assumed_us_;
};

std::string words_of(CollectiveKind kind, int gpus) {
  std::string name(name_of(kind));
  std::ranges::replace(name, '_', '-');
  return name + " of " + std::to_string(gpus) + " GPUs";
}

void add_library(const Collective& collective, double bytes, int gpus, const Machine& machine,
                 const ProfileGrades& grades, const CollectiveTiming& timing, Rests& rests) {
  const std::string words = words_of(collective.kind, gpus);
  constexpr MeasuredBy by_logs = MeasuredBy::nccl_tests;
  const bool in_window = needs_window(collective.transport);
  if (const auto grade = grades.of(collective.kind, gpus, in_window ? collective.transport : Transport::nccl))
    return rests.add(*grade, timing.latency_us + timing.transfer_us, {words, by_logs});
  if (machine.collective_protocols.empty() || in_window)  // the curves of other numbers of GPUs
    return rests.add(Grade::assumed, timing.latency_us + timing.transfer_us, {words, by_logs});
  const LibraryTime time = library_time(machine, collective.kind, gpus, bytes, collective.max_ctas);
  const ProfileGrades::OfProtocol& protocol = grades.protocols[time.protocol];
  const Grade of_links = std::max(protocol.links, grades.of(time.busiest));
  rests.add(protocol.latency, timing.latency_us, {"the latency of " + words, by_logs});
  rests.add(time.is_limited_by_channels ? protocol.channels : of_links, timing.transfer_us,
            {"the rate of " + words, by_logs});
}

void add(const Collective& collective, const Schedule& schedule, const Machine& machine, const ProfileGrades& grades,
         Rests& rests) {
  const int gpus = schedule.gpus;
  const Bytes bytes = bytes_of(full_slice(collective), schedule);
  const CollectiveTiming timing =
      time_over(machine, collective.transport, collective.kind, gpus, bytes, collective.max_ctas);
  const double time_us = timing.latency_us + timing.transfer_us;
  switch (collective.transport) {
    case Transport::peer_kernel:
    case Transport::one_shot:
      return rests.add(grades.of_two_shot(gpus), time_us, {"collectives over peer memory"});
    case Transport::multicast:
      return rests.add(grades.multimem, time_us, {"collectives in the switch"});
    case Transport::nccl:
    case Transport::nccl_nvls:
    case Transport::nccl_symmetric:
    case Transport::nccl_copy_engine:
    case Transport::pull:
    case Transport::push:
      break;
  }
  add_library(collective, static_cast<double>(bytes), gpus, machine, grades, timing, rests);
}

/// As the all-to-all that it takes as long as.
void add(const GroupedExchange& exchange, const Schedule& schedule, const Machine& machine, const ProfileGrades& grades,
         Rests& rests) {
  const int gpus = schedule.gpus;
  const CollectiveTiming timing = time_grouped_exchange(machine, exchange, schedule);
  if (exchange.transport == Transport::peer_kernel)
    return rests.add(grades.of_two_shot(gpus), timing.latency_us + timing.transfer_us,
                     {"collectives over peer memory"});
  const Collective as_equals{.kind = CollectiveKind::all_to_all, .max_ctas = exchange.max_ctas};
  add_library(as_equals, static_cast<double>(equal_all_to_all_bytes(exchange, schedule)), gpus, machine, grades, timing,
              rests);
}

/// By the tiles that it has or that the library takes for it.
Grade grade_of_tiles(const Gemm& gemm, const Schedule& schedule, const Machine& machine, KernelChoices& choices,
                     const ProfileGrades& grades) {
  const DataType dtype = schedule.buffers[static_cast<std::size_t>(gemm.a.buffer)].dtype;
  const GemmKernel kernel = gemm.kernel ? *gemm.kernel : choices.of(size_of(gemm, schedule.gpus), dtype);
  const bool is_large = is_cooperative(machine.gemm, kernel, dtype);
  return is_large || is_own_kernel(kernel) ? grades.gemm : grades.small_gemm;
}

/// Its groups may have tiles of both kinds.
Grade grade_of_tiles(const GroupedGemm&, const Schedule&, const Machine&, KernelChoices&, const ProfileGrades& grades) {
  return std::max(grades.gemm, grades.small_gemm);
}

/// Of the stream that has most: those of streams side by side pass at once.
std::int64_t most_operations_in_a_row(const Schedule& schedule) {
  std::vector<std::int64_t> counts(std::max<std::size_t>(schedule.streams.size(), 1));
  for (const Operation& operation : schedule.operations) ++counts[static_cast<std::size_t>(operation.stream)];
  return std::ranges::max(counts);
}

}  // namespace

Evidence evidence_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades) {
  Rests rests;
  KernelChoices choices(machine);
  const double hbm_rate = bytes_per_us(machine.gpu.hbm_GBps), copy_rate = bytes_per_us(machine.copy_engines.GBps);
  const auto kernel_gaps = static_cast<double>(most_operations_in_a_row(schedule));
  rests.add(grades.launches, machine.latencies.graph_gap_us + kernel_gaps * machine.latencies.kernel_gap_us,
            {"gaps between kernels"});
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const OneOf<Gemm, GroupedGemm> auto& gemm) {
          const DataType factors = schedule.buffers[static_cast<std::size_t>(gemm.a.buffer)].dtype;
          const double tensor_us = tensor_flops(operation.work, schedule.gpus) / machine.gpu.flops_per_us(factors);
          const Footprint operands = footprint(schedule, operation);
          const double memory_us =
              (bytes_of_all(operands.reads, schedule) + bytes_of_all(operands.writes, schedule)) / hbm_rate;
          rests.add(grade_of_tiles(gemm, schedule, machine, choices, grades), tensor_us,
                    {"the efficiency of GEMMs", MeasuredBy::gemms});
          // Behind the tensor cores' time what an L2 spares is not known.
          if (memory_us > tensor_us) rests.add(grades.hbm, memory_us, {"the rate of the memory"});
        },
        [&](const OneOf<Attention, PartialAttention> auto& attention) {
          const double tensor_us = tensor_flops(Work(attention), schedule.gpus) / machine.gpu.flops_per_us();
          const double memory_us = bytes_of_all(footprint(schedule, operation).reads, schedule) / hbm_rate;
          rests.add(grades.attention, tensor_us, {"the efficiency of attention"});
          // Few queries of many cached keys: as fast as these come, and as the kernel asks for them.
          if (memory_us > tensor_us)
            rests.add(std::max(grades.attention, grades.hbm), memory_us, {"the rate at which attention reads keys"});
        },
        [&](const Collective& collective) { add(collective, schedule, machine, grades, rests); },
        [&](const Copy& copy) {
          const auto bytes = static_cast<double>(bytes_of(copy.source, schedule));
          if (facts(operation.work).crosses_ranks)
            rests.add(grades.copies, bytes / copy_rate, {"the rate of copies between GPUs"});
          else
            rests.add(grades.hbm, 2 * bytes / hbm_rate, {"the rate of the memory"});
        },
        [&](const MemoryBound& kernel) {
          rests.add(grades.memory,
                    (bytes_of_all(kernel.reads, schedule) + bytes_of_all(kernel.writes, schedule)) / hbm_rate,
                    {"the rate of the memory"});
        },
        [&](const AllReduceNorm& kernel) {
          const CollectiveTiming timing = time_all_reduce_norm(machine, kernel.transport, kernel.ctas, schedule.gpus,
                                                               bytes_of(kernel.partial, schedule));
          rests.add(grades.fused_norm, timing.latency_us + timing.transfer_us, {"the fused all-reduce and norm"});
        },
        [&](const GroupedExchange& exchange) { add(exchange, schedule, machine, grades, rests); },
        [](const OneOf<Signal, Wait, Barrier, Delay> auto&) {});
  // What the parts take at their peaks can be far less than the time that passes: the rest is of the same parts.
  const double enough_us = enough * std::min(time_us * schedule.repeats_per_iteration, rests.counted_us());
  const Grade grade = rests.weakest_above(enough_us);
  return {.grade = grade,
          .assumed = grade == Grade::assumed ? rests.assumed(enough_us) : std::vector<AssumedNumbers>{}};
}

Grade grade_of(const Schedule& schedule, double time_us, const Machine& machine, const ProfileGrades& grades) {
  return evidence_of(schedule, time_us, machine, grades).grade;
}

Evidence evidence_of_advice(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                            const ProfileGrades& grades) {
  const Answer& answer = exploration.answers[leading_answer(verdict_of(exploration, scenario), exploration)];
  const Candidate& advice = answer.ranking.advice();
  Case as_run = advice.request;
  for (const Explored& one : answer.fastest_first)
    if (one.candidate.request == advice.request) as_run.schedule = one.as_run;
  const Schedule schedule = families::build(as_run, machine);
  Evidence evidence = evidence_of(schedule, advice.estimate.time_us, machine, grades);
  evidence.outside = outside_calibration(schedule, machine);
  return evidence;
}

}  // namespace weft::scenarios::study
