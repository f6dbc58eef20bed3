#include "calibration/hardware.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>

#include "calibration/device_module.hpp"
#include "calibration/lone_measurement.hpp"
#include "calibration/pass.hpp"
#include "calibration/process_group.hpp"
#include "calibration/rank_message.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"
#include "models/check/check.hpp"
#include "models/check/hardware_support.hpp"
#include "models/schedule/facts.hpp"

namespace weft::calibration {
namespace {

std::optional<InputError> why_refused(const Schedule& schedule) {
  try {
    check(schedule);
  } catch (const InputError& error) {
    return error;
  }
  return why_not_runnable(schedule);
}

/// What processes of ranks are started for: a number of GPUs, and of connections, which CUDA reads when it starts.
struct RanksFor {
  int gpus = 1, max_connections = 0;
  auto operator<=>(const RanksFor&) const = default;
};

/// Mixes of the schedules for each kind of ranks, that of a mix's first schedule, in the order of the list; what cannot
/// be run is reported.
std::map<RanksFor, std::vector<Mix>> by_ranks(const std::vector<Schedule>& schedules, const std::vector<Mix>& mixes,
                                              const Observer& observer) {
  std::map<RanksFor, std::vector<Mix>> groups;
  for (const Mix& mix : mixes) {
    Mix runnable;
    for (const std::size_t i : mix) {
      const auto error = why_refused(schedules[i]);
      if (!error)
        runnable.push_back(i);
      else if (observer.on_error)
        observer.on_error(i, error->what());
    }
    if (runnable.empty()) continue;
    const Schedule& first = schedules[runnable.front()];
    groups[{first.gpus, first.max_connections}].push_back(std::move(runnable));
  }
  return groups;
}

std::vector<Mix> each_alone(std::size_t schedules) {
  std::vector<Mix> mixes;
  for (std::size_t i = 0; i < schedules; ++i) mixes.push_back({i});
  return mixes;
}

std::size_t count_of(const std::vector<Mix>& mixes) {
  return std::accumulate(mixes.begin(), mixes.end(), std::size_t{0},
                         [](std::size_t count, const Mix& mix) { return count + mix.size(); });
}

/// What some of the ranks have recorded of schedules that are to run again.
void forget_recordings(const std::vector<Mix>& mixes, std::map<std::size_t, Measurement>& results) {
  for (const Mix& mix : mixes)
    for (const std::size_t index : mix)
      if (const auto found = results.find(index); found != results.end()) {
        found->second.trace.spans.clear();
        found->second.kernels.clear();
      }
}

/// What is left of the mixes: schedules without an answer, but for the one that failed.
std::vector<Mix> left_of(const std::vector<Mix>& mixes, const Pass& pass, std::size_t failed) {
  std::vector<Mix> left;
  for (Mix mix : mixes) {
    std::erase_if(mix, [&](std::size_t index) { return index == failed || !pass.awaits(index); });
    if (!mix.empty()) left.push_back(std::move(mix));
  }
  return left;
}

/// One failure after the other, with no answer between them, is the machine's.
constexpr int most_failures_in_a_row = 3;

/// A schedule that hangs, or takes its processes along, is reported, and the others go on in new processes. Without an
/// observer of errors it is thrown.
void run_passes(const std::vector<Schedule>& schedules, RankJob job, const Observer& observer,
                std::map<std::size_t, Measurement>& results) {
  int in_a_row = 0;
  while (!job.mixes.empty()) {
    Pass pass(schedules, job, observer, results);
    try {
      return pass.run();
    } catch (const ScheduleFailure& failure) {
      std::vector<Mix> left = left_of(job.mixes, pass, failure.index());
      const bool has_answers = count_of(left) + 1 < count_of(job.mixes);
      in_a_row = has_answers ? 1 : in_a_row + 1;
      if (!observer.on_error || in_a_row == most_failures_in_a_row) throw;
      observer.on_error(failure.index(), failure.reason());
      forget_recordings(left, results);
      job.mixes = std::move(left);
    }
  }
}

/// {"gpus": 4, "failed": ""}
std::string count_line() {
  int found = 0;
  std::string failed;
  try {
    if (load_device_module().count_gpus(found, failed) != 0) found = 0;
  } catch (const std::exception& error) {
    failed = error.what();
  }
  return line_of({{"gpus", found}, {"failed", failed}});
}

bool needs_own_gpus(const Schedule& schedule) {
  return std::ranges::any_of(schedule.operations,
                             [](const Operation& operation) { return facts(operation.work).by_library; });
}

void require_gpus(const std::vector<Schedule>& schedules, bool may_share) {
  require_device_part();
  const int visible = visible_gpus();
  if (visible == 0) throw InputError("device", "expected a machine with NVIDIA GPUs, found none");
  for (const Schedule& schedule : schedules) {
    const bool shares = may_share && !needs_own_gpus(schedule);
    const int most = shares ? max_ranks : std::min(visible, max_ranks);
    if (schedule.gpus >= 1 && schedule.gpus <= most) continue;
    const std::string why = shares      ? ""
                            : may_share ? " (the GPUs visible here, which NCCL's ranks cannot share)"
                                        : " (the GPUs visible here)";
    throw InputError("gpus", "expected 1 to " + std::to_string(most) + why + ", got " + std::to_string(schedule.gpus) +
                                 " in schedule \"" + schedule.name + "\"");
  }
}

}  // namespace

bool GpuReadings::is_held_back_by_surroundings() const {
  return std::ranges::any_of(held_back_by,
                             [](const std::string& why) { return why != "power cap" && why != "sync boost"; });
}

bool has_device_part() { return std::filesystem::exists(device_module_path()); }

void require_device_part() {
  if (!has_device_part())
    throw InputError("device", "expected a weft built with nvcc, NCCL, cuBLASLt and CUPTI, got one built without CUDA");
}

int visible_gpus(double limit_s) {
  if (!has_device_part()) return 0;
  const std::string process = "the process that counts GPUs";
  std::optional<int> gpus;
  std::string failed;
  ProcessGroup group(1, [](int, const Send& send) {
    send(count_line());
    return 0;
  });
  const SilenceLimit limit(process, limit_s);
  group.supervise({.on_line =
                       [&](int, const std::string& line) {
                         const auto message = parse_json(line);
                         JsonObject count(message);
                         gpus = static_cast<int>(count.integer("gpus", 0, INT_MAX));
                         failed = count.string("failed");
                       },
                   .on_tick = [&] { limit.check(); },
                   .on_death = [&](int, const std::string& how) { failed = process + " " + how; }});
  if (failed.empty() && !gpus) failed = process + " ended without an answer";
  if (!failed.empty()) throw ExecutionError(failed);
  return *gpus;
}

void measure(const std::vector<Schedule>& schedules, const RunOptions& options, const Observer& observer) {
  require_gpus(schedules, options.may_share_gpus);
  for (const auto& [ranks, mixes] : by_ranks(schedules, each_alone(schedules.size()), observer)) {
    std::map<std::size_t, Measurement> results;
    run_passes(schedules, {.mixes = mixes, .options = options}, observer, results);
    if (!options.spans) continue;
    std::vector<Mix> succeeded;
    for (const auto& [index, result] : results) succeeded.push_back({index});
    if (!succeeded.empty())
      run_passes(schedules, {.mixes = succeeded, .options = options, .profiled = true}, observer, results);
  }
}

void measure_in_turn(const std::vector<Schedule>& schedules, const std::vector<Mix>& mixes, const RunOptions& options,
                     const Observer& observer) {
  require_gpus(schedules, options.may_share_gpus);
  for (const auto& [ranks, of_group] : by_ranks(schedules, mixes, observer)) {
    std::map<std::size_t, Measurement> results;
    run_passes(schedules, {.mixes = of_group, .in_turn = true, .options = options}, observer, results);
  }
}

Trace HardwareExecutor::run(const Schedule& schedule, const Machine& machine) {
  if (const auto error = why_refused(schedule)) throw *error;
  LoneMeasurement result = measure_alone(schedule, options_);
  if (!result.not_recorded.empty()) throw ExecutionError(result.not_recorded);
  Trace trace = std::move(result.measurement.trace);
  trace.machine = machine.name;
  return trace;
}

}  // namespace weft::calibration
