#include "calibration/device/span_recording.hpp"

#include <algorithm>
#include <map>

#include "calibration/device/schedule_error.hpp"
#include "calibration/device/timing.hpp"
#include "models/base/statistics.hpp"

namespace weft::calibration::device {
namespace {

constexpr int launches = 5;

struct OwnedRecord {
  ActivityRecord activity;
  OperationId operation = -1;
};
using Iteration = std::vector<OwnedRecord>;

double length_us(const Iteration& iteration) {
  std::uint64_t end = 0;
  for (const OwnedRecord& record : iteration) end = std::max(end, record.activity.end_ns);
  return static_cast<double>(end - iteration.front().activity.start_ns) * 1e-3;
}

/// What a record looks like it came from: the names of the libraries' kernels tell. Empty: they do not.
std::string_view class_of(const ActivityRecord& record) {
  if (record.bytes == sizeof(std::uint64_t)) return "signal";  // the word that tells of a copy
  if (record.bytes > 0 || record.name == "memcpy") return "copy";
  if (record.name.find("nccl") != std::string::npos) return "collective";
  if (record.name.find("spin_kernel") != std::string::npos) return "delay";
  if (record.name.find("sum_kernel") != std::string::npos) return "memory_bound";
  if (record.name.find("barrier_kernel") != std::string::npos) return "barrier";
  if (record.name.find("signal_kernel") != std::string::npos) return "signal";
  if (record.name.find("wait_kernel") != std::string::npos) return "wait";
  constexpr std::string_view of_gemms[] = {"gemm", "nvjet", "cutlass", "xmma"};
  return std::ranges::any_of(of_gemms,
                             [&](std::string_view part) { return record.name.find(part) != std::string::npos; })
             ? "gemm"
             : "";
}

/// The profiler records it as a kernel.
bool is_copy_by_sms(const Work& work) {
  return match(
      work, [](const Copy& copy) { return copy.path == CopyPath::sms; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return false; });
}

/// Without node ids: the k-th record of a kind is the k-th operation of that kind, where their numbers agree.
void match_by_order(Iteration& iteration, const Schedule& schedule) {
  std::map<std::string_view, std::vector<OperationId>> operations;
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const Work& work = schedule.operations[id].work;
    operations[is_copy_by_sms(work) ? "memory_bound" : kind_of(work)].push_back(static_cast<OperationId>(id));
  }
  std::map<std::string_view, std::vector<OwnedRecord*>> records;
  for (OwnedRecord& record : iteration) records[class_of(record.activity)].push_back(&record);
  for (auto& [kind, found] : records)
    if (found.size() == operations[kind].size())
      for (std::size_t i = 0; i < found.size(); ++i)
        if (found[i]->operation < 0) found[i]->operation = operations[kind][i];
}

/// The records of each launch, in the order of the launches.
std::vector<Iteration> split(const std::vector<ActivityRecord>& records, const Profiler& profiler,
                             const Schedule& schedule) {
  std::map<std::uint64_t, Iteration> by_launch;
  for (const ActivityRecord& record : records) {
    if (schedule.launch == Launch::graph) {
      if (record.graph_node == 0) continue;
      by_launch[record.correlation].push_back({record, profiler.operation_of_node(record.graph_node)});
    } else if (std::uint64_t tag = 0; profiler.find_tag(record.correlation, tag)) {
      const std::uint64_t operations = schedule.operations.size();
      by_launch[tag / operations].push_back({record, static_cast<OperationId>(tag % operations)});
    }
  }
  std::vector<Iteration> iterations;
  for (auto& [launch, iteration] : by_launch) {
    if (std::ranges::any_of(iteration, [](const OwnedRecord& record) { return record.operation < 0; }))
      match_by_order(iteration, schedule);
    iterations.push_back(std::move(iteration));
  }
  // Records of earlier launches may have come late.
  if (iterations.size() > static_cast<std::size_t>(launches))
    iterations.erase(iterations.begin(), iterations.end() - launches);
  return iterations;
}

std::string describe(const KernelRecord& kernel) {
  const KernelLaunch& launch = kernel.launch;
  if (launch.grid[0] == 0) return launch.kernel + " " + std::to_string(kernel.bytes) + " bytes";
  const auto sizes = [](const std::array<int, 3>& of) {
    return std::to_string(of[0]) + "x" + std::to_string(of[1]) + "x" + std::to_string(of[2]);
  };
  return launch.kernel + " grid " + sizes(launch.grid) + " block " + sizes(launch.block) + " cluster " +
         sizes(launch.cluster);
}

KernelRecord kernel_record(const OwnedRecord& record, const Schedule& schedule, int gpu, double origin_ns) {
  const ActivityRecord& activity = record.activity;
  KernelRecord kernel;
  kernel.gpu = gpu;
  if (record.operation >= 0) {
    const Operation& operation = schedule.operations[static_cast<std::size_t>(record.operation)];
    kernel.operation = operation.name;
    kernel.stream = schedule.streams[static_cast<std::size_t>(operation.stream)].name;
  }
  kernel.launch = {activity.name,
                   activity.grid,
                   activity.block,
                   activity.cluster,
                   activity.registers,
                   activity.static_shared_memory,
                   activity.dynamic_shared_memory};
  kernel.bytes = activity.bytes;
  kernel.start_us = (static_cast<double>(activity.start_ns) - origin_ns) * 1e-3;
  kernel.end_us = (static_cast<double>(activity.end_ns) - origin_ns) * 1e-3;
  return kernel;
}

/// From the first start to the last end of an operation's kernels.
std::vector<Span> spans_of(const RecordedIteration& recorded, const Iteration& iteration, const Schedule& schedule) {
  std::map<OperationId, Span> spans;
  for (std::size_t i = 0; i < iteration.size(); ++i) {
    const OperationId id = iteration[i].operation;
    const KernelRecord& kernel = recorded.kernels[i];
    if (id < 0) continue;
    auto [found, is_new] = spans.try_emplace(id);
    Span& span = found->second;
    if (is_new) {
      const auto kind = std::string(kind_of(schedule.operations[static_cast<std::size_t>(id)].work));
      span = {kernel.operation, kind, kernel.stream, kernel.gpu, kernel.start_us, kernel.end_us, describe(kernel), {}};
    } else {
      span.start_us = std::min(span.start_us, kernel.start_us);
      span.end_us = std::max(span.end_us, kernel.end_us);
      span.detail += "; " + describe(kernel);
    }
  }
  std::vector<Span> ordered;
  for (auto& [id, span] : spans) ordered.push_back(std::move(span));
  return ordered;
}

void run_iterations(const Program& program, const Launcher& launcher, Profiler& profiler) {
  const auto operations = static_cast<std::uint64_t>(program.schedule().operations.size());
  for (std::uint64_t launch = 0; launch < launches; ++launch) {
    EnqueueHooks hooks;
    hooks.before = [&](OperationId id) { profiler.push(launch * operations + static_cast<std::uint64_t>(id)); };
    hooks.after = [&](OperationId) { profiler.pop(); };
    launcher.launch(hooks);
  }
}

/// Empty where nothing is.
std::string what_is_missing(const std::vector<Iteration>& iterations, std::size_t dropped) {
  if (dropped > 0) return "CUPTI dropped " + std::to_string(dropped) + " records";
  if (iterations.size() == static_cast<std::size_t>(launches)) return "";
  return "CUPTI recorded " + std::to_string(iterations.size()) + " of " + std::to_string(launches) + " iterations";
}

/// Position of the iteration whose length, on the rank where it is longest, is the median; the same on all ranks. A
/// rank that starts one early waits in it for the others.
std::size_t choose(const std::vector<Iteration>& iterations, RankView& ranks) {
  std::vector<double> lengths;
  for (const Iteration& iteration : iterations) lengths.push_back(-ranks.minimum(-length_us(iteration)));
  const auto middle = std::ranges::find(lengths, median(lengths)) - lengths.begin();
  return static_cast<std::size_t>(ranks.from_rank_zero(static_cast<double>(middle)));
}

}  // namespace

RecordedIteration record_spans(const Program& program, RankView& ranks, Profiler& profiler) {
  warm_up(program);
  Launcher launcher(program);
  profiler.trace_host_calls(!launcher.is_graph());
  profiler.begin_capture();
  EnqueueHooks capture_hooks;
  capture_hooks.after = [&](OperationId id) { profiler.note_captured(id, program.stream_of(id)); };
  capture_hooks.replaced = [&](cudaGraphNode_t from, cudaGraphNode_t to) { profiler.note_replaced(from, to); };
  launcher.prepare(capture_hooks);
  for (int i = 0; i < 3; ++i) launcher.launch();
  WEFT_CHECK(cudaDeviceSynchronize());
  profiler.clear();
  ranks.barrier();
  run_iterations(program, launcher, profiler);
  program.wait();
  WEFT_CHECK(cudaDeviceSynchronize());
  const auto iterations = split(profiler.records(), profiler, program.schedule());

  const std::string problem = ranks.first_problem(what_is_missing(iterations, profiler.dropped()));
  if (!problem.empty()) throw ScheduleError(problem);
  const Iteration& chosen = iterations[choose(iterations, ranks)];
  // Nanoseconds since 1970 do not fit a double exactly: shift them by a whole number of hours first.
  constexpr std::uint64_t hour_ns = 3600'000'000'000;
  const double hours = ranks.from_rank_zero(static_cast<double>(chosen.front().activity.start_ns / hour_ns));
  const auto base_ns = static_cast<std::uint64_t>(std::max(0.0, hours - 1)) * hour_ns;  // others may be earlier
  const double first_ns =
      ranks.minimum(static_cast<double>(static_cast<std::int64_t>(chosen.front().activity.start_ns - base_ns)));
  RecordedIteration recorded;
  for (OwnedRecord record : chosen) {
    record.activity.start_ns -= base_ns;
    record.activity.end_ns -= base_ns;
    recorded.kernels.push_back(kernel_record(record, program.schedule(), ranks.rank(), first_ns));
  }
  recorded.spans = spans_of(recorded, chosen, program.schedule());
  return recorded;
}

}  // namespace weft::calibration::device
