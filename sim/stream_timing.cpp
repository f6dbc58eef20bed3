#include "sim/stream_timing.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "models/base/harmonic_number.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/late_kernels.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/hardware_queues.hpp"
#include "models/schedule/kernel_sizes.hpp"
#include "sim/skew.hpp"

namespace weft::sim {
namespace {

/// In which share of launches a collective that begins a graph beside other operations starts first: on every rank at
/// once, as each must hold its SMs before any goes on. Under load, when the next graph waits at the GPU, one that was
/// created first always does. 0 where nothing races.
double starts_first(const Schedule& schedule, const Machine& machine) {
  std::vector<bool> has_begun(schedule.streams.size());
  int roots = 0, position = -1;
  for (const Operation& operation : schedule.operations) {
    if (!has_begun[operation.stream] && operation.after.empty()) {
      if (const Facts of_work = facts(operation.work); of_work.by_library && of_work.meetings > 0) position = roots;
      ++roots;
    }
    has_begun[operation.stream] = true;
  }
  if (schedule.launch != Launch::graph || roots < 2 || position < 0) return 0;
  const CollectiveKernel& kernel = machine.collective_kernel;
  double on_a_rank = position == 0 ? kernel.created_first_wins : kernel.created_later_wins;
  if (machine.condition.condition == Condition::sustained)
    on_a_rank = position == 0 ? 1 : kernel.created_later_wins_under_load;
  double on_all = 1;
  for (int rank = 0; rank < schedule.gpus; ++rank) on_all *= on_a_rank;
  return on_all;
}

/// How many kernels take turns: by what they do, GEMMs by their size as well.
std::size_t different_kernels(const Schedule& schedule) {
  std::set<std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t>> kernels;
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const Gemm& gemm) {
          const MatrixSize size = size_of(gemm, schedule.gpus);
          kernels.emplace(operation.work.index(), size.m, size.n, size.k);
        },
        [&](const MemoryBound& bound) {
          kernels.emplace(operation.work.index(), static_cast<std::int64_t>(bound.kernel), 0, 0);
        },
        [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Attention, PartialAttention> auto&) {
          kernels.emplace(operation.work.index(), 0, 0, 0);
        },
        [](const OneOf<Copy, Signal, Wait, Barrier, Delay> auto&) {});
  return kernels.size();
}

/// Where more kernels take turns than instruction caches hold, the code of each is fetched again: two and three GEMMs
/// in turn take as long each as in a row of themselves, four 0 to 0.25 us longer, six 0.25 and twelve 0.35, the nine
/// kernels of decoder layers 0.2 to 0.45 (calibration/measurements/rows-2026-12-01).
double cold_code_us(const Schedule& schedule, const Latencies& latencies) {
  constexpr double held = 3, too_many = 6;
  if (latencies.cold_code_us == 0) return 0;
  const auto kernels = static_cast<double>(different_kernels(schedule));
  return latencies.cold_code_us * std::clamp((kernels - held) / (too_many - held), 0.0, 1.0);
}

/// In a graph.
double kernel_gap_us(const Schedule& schedule, const Machine& machine) {
  const Latencies& latencies = machine.latencies;
  const bool is_late = machine.condition.late_kernels || makes_kernels_late(schedule, machine.condition);
  return latencies.kernel_gap_us + cold_code_us(schedule, latencies) + (is_late ? latencies.late_gap_us : 0);
}

/// 0 for two, 1 for four, 2 for eight; between them on a straight line.
double doublings_beyond_two(int gpus) {
  double doublings = 0;
  int reached = 2;
  for (; 2 * reached <= gpus; reached *= 2) ++doublings;
  return doublings + std::max(0.0, static_cast<double>(gpus) / reached - 1);
}

/// Whether it has tiles of the usual extent for all SMs.
bool fills_the_gpu(const Work& work, const Schedule& schedule, const Machine& machine) {
  constexpr std::int64_t tile_elements = 128 * 128;
  return match(
      work,
      [&](const Gemm& gemm) {
        const MatrixSize size = size_of(gemm, schedule.gpus);
        return size.m * size.n >= machine.gpu.sms() * tile_elements;
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return false; });
}

/// The next graph comes as late after one that has such GEMMs on two branches as after a collective: beside hybrids
/// with the same copies and the same GEMMs on one stream, 242 gathers of async TP took 3 us longer on H200s and H100s
/// than the order of their kernels explains, whether the GEMMs met or not (calibration/peers, seeds 93 to 139). Where
/// the GEMMs are small nothing of it is seen.
bool has_gemms_on_several_streams(const Schedule& schedule, const Machine& machine) {
  std::optional<StreamId> of_one;
  for (const Operation& operation : schedule.operations) {
    if (!fills_the_gpu(operation.work, schedule, machine)) continue;
    if (of_one.value_or(operation.stream) != operation.stream) return true;
    of_one = operation.stream;
  }
  return false;
}

}  // namespace

bool has_library_collectives(const Schedule& schedule) {
  return std::any_of(schedule.operations.begin(), schedule.operations.end(),
                     [](const Operation& operation) { return facts(operation.work).by_library; });
}

StreamTiming timing_of(const Schedule& schedule, const Machine& machine, const Mechanisms& mechanisms) {
  const Latencies& latencies = machine.latencies;
  StreamTiming timing;
  if (mechanisms.synchronisation) {
    timing.barrier = from_us(latencies.barrier_us);
    timing.barrier_beside_gemm = from_us(latencies.barrier_beside_gemm_us);
    // The mean of the last of so many random times, each of mean 1, if they are exponential.
    const double last_of_copies = harmonic_number(schedule.gpus * (schedule.gpus - 1));
    timing.barrier_beside_copies = from_us(latencies.barrier_beside_copies_us * last_of_copies);
    timing.signal_kernel = from_us(latencies.signal_kernel_us);
    timing.wait_kernel = from_us(latencies.wait_kernel_us);
    timing.signal = from_us(latencies.signal_us);
  }
  timing.barrier_skew = from_us(latencies.barrier_skew_us);
  timing.start_skew.reserve(static_cast<std::size_t>(schedule.gpus));
  for (int rank = 0; rank < schedule.gpus; ++rank)
    timing.start_skew.push_back(from_us(latencies.start_skew_us * lateness(rank, 0)));
  const bool graph = schedule.launch == Launch::graph;
  timing.starts_first = starts_first(schedule, machine);
  if (!graph)
    timing.hardware_queues = schedule.max_connections > 0 ? schedule.max_connections : machine.gpu.hardware_queues;
  if (!mechanisms.gaps) return timing;
  timing.kernel_gap = from_us(graph ? kernel_gap_us(schedule, machine) : latencies.eager_gap_us);
  const double longer_us = std::max(0.0, latencies.meeting_gap_us - latencies.kernel_gap_us);
  timing.meeting_gap = timing.kernel_gap + from_us(graph ? longer_us : 0);
  timing.collective_gap = from_us(graph ? latencies.collective_gap_us : latencies.eager_gap_us);
  const double after_collective_us = std::max(latencies.after_collective_gap_us, latencies.kernel_gap_us);
  timing.after_collective_gap = from_us(graph ? after_collective_us : latencies.eager_gap_us);
  timing.join_gap = from_us(graph ? latencies.join_gap_us : latencies.eager_event_us);
  timing.fork_gap = from_us(graph ? latencies.fork_gap_us : latencies.eager_event_us);
  timing.behind_gemm_gap =
      graph
          ? std::max(timing.fork_gap, timing.kernel_gap + from_us(counter_fill_us(machine, schedule))) + Picoseconds{1}
          : timing.fork_gap;
  const bool is_long = has_library_collectives(schedule) || has_gemms_on_several_streams(schedule, machine);
  const double graph_gap_us = is_long ? latencies.collective_graph_gap_us : latencies.graph_gap_us;
  timing.iteration_gap = from_us(graph ? graph_gap_us : latencies.eager_gap_us);
  if (graph) {
    timing.before_copy_gap = from_us(latencies.before_copy_gap_us);
    timing.after_copy_gap = from_us(latencies.after_copy_gap_us);
    timing.copy_ranks_gap = from_us(latencies.copy_ranks_gap_us * doublings_beyond_two(schedule.gpus));
    timing.copy_gap_spread = from_us(latencies.copy_gap_spread_us);
    timing.copy_fork_spread = from_us(latencies.copy_fork_spread_us);
    timing.copy_wait_spread = from_us(latencies.copy_wait_spread_us);
    timing.copy_stream_gap = from_us(latencies.copy_stream_gap_us);
    timing.copy_gap = from_us(machine.copy_engines.turnaround_us);
    timing.copy_join_gap = from_us(latencies.copy_join_gap_us);
  }
  if (branches_share_queue(schedule)) timing.copy_fork_spread = timing.copy_stream_gap = {};
  if (!graph && schedule.gpus > 1) {
    timing.event_spread = from_us(latencies.eager_event_spread_us);
    timing.early_fork_gap = from_us(std::max(0.0, latencies.eager_event_us - latencies.eager_event_spread_us / 2));
  }
  timing.host_launch = from_us(graph ? 0 : latencies.eager_launch_us);
  timing.host_collective = from_us(graph ? 0 : latencies.eager_collective_us);
  return timing;
}

}  // namespace weft::sim
