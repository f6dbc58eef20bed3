#include "calibration/hardware.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <tuple>

#include "calibration/device_module.hpp"
#include "calibration/lone_measurement.hpp"
#include "calibration/measurement_json.hpp"
#include "calibration/process_group.hpp"
#include "models/base/input_error.hpp"
#include "models/check/check.hpp"
#include "models/check/hardware_support.hpp"

namespace weft::calibration {
namespace {

/// CUDA, NCCL and CUPTI start, and communicators connect, in tens of seconds at worst.
constexpr double start_up_limit_s = 120;

std::string describe_rank(const SharedState& state, int rank) {
  const RankStatus& status = state.status[static_cast<std::size_t>(rank)];
  const Activity activity = status.activity;
  std::string text = "rank " + std::to_string(rank) + " was " + std::string(describe(activity));
  if (activity == Activity::waiting_for_ranks) text += " after " + std::string(describe(status.last_work));
  return text;
}

/// All schedules of one number of GPUs, in one pass (times, or spans).
class Pass {
 public:
  Pass(const std::vector<Schedule>& schedules, RankJob job, const Observer& observer,
       std::map<std::size_t, Measurement>& results)
      : schedules_(schedules),
        job_(std::move(job)),
        observer_(observer),
        results_(results),
        ranks_(schedules[job_.mixes.front().front()].gpus),
        state_(make_shared_state(ranks_)) {
    job_.ranks = ranks_, job_.schedules = &schedules_, job_.state = state_.get();
  }

  void run() {
    ProcessGroup group(ranks_, [this](int rank, const Send& send) { return rank_main(rank, send); });
    group.supervise({.on_line = [this](int rank, const std::string& line) { take(rank, line); },
                     .on_tick = [this] { check_time(); },
                     .on_death = [this](int rank, const std::string& how) { report_death(rank, how); }});
  }

 private:
  int rank_main(int rank, const Send& send) const {
    RankJob job = job_;
    job.rank = rank;
    std::string failed;
    int status = 1;
    try {
      status = load_device_module().run_rank(job, send, failed);
    } catch (const std::exception& error) {
      failed = error.what();
    }
    if (status != 0) send(nlohmann::json{{"failed", failed}}.dump());
    return status;
  }

  std::string schedule_of(int rank) const {
    const int index = state_->status[static_cast<std::size_t>(rank)].schedule;
    if (index < 0) return "before the first schedule";
    return "schedule \"" + schedules_[static_cast<std::size_t>(index)].name + "\"";
  }

  void take(int rank, const std::string& line) {
    const auto message = nlohmann::json::parse(line);
    if (message.contains("failed"))
      throw ExecutionError("rank " + std::to_string(rank) + ", " + schedule_of(rank) + ", " +
                           std::string(describe(state_->status[static_cast<std::size_t>(rank)].last_work)) + ": " +
                           message["failed"].get<std::string>());
    if (message.contains("conditions")) return take_conditions(message["conditions"]);
    const std::size_t index = message.at("index");
    if (message.contains("error")) {
      if (observer_.on_error) observer_.on_error(index, message["error"]);
    } else if (message.contains("measurement")) {
      JsonObject measurement(message["measurement"]);
      results_[index] = measurement_from(measurement);
      if (observer_.on_result) observer_.on_result(index, results_[index]);
    } else {
      take_spans(index, message);
    }
  }

  void take_conditions(const nlohmann::json& conditions) const {
    if (!job_.profiled && observer_.on_conditions) observer_.on_conditions(conditions_from(JsonObject(conditions)));
  }

  void take_spans(std::size_t index, const nlohmann::json& message) {
    Measurement& result = results_[index];
    for (const auto& span : message.at("spans")) result.trace.spans.push_back(span_from(JsonObject(span)));
    for (const auto& kernel : message.at("kernels")) result.kernels.push_back(kernel_from(JsonObject(kernel)));
    if (++ranks_heard_[index] < ranks_) return;
    result.trace.source = "measured";
    result.trace.time_us = result.time_us;
    const auto by_place = [](const auto& a, const auto& b) {
      return std::tie(a.gpu, a.start_us, a.end_us) < std::tie(b.gpu, b.start_us, b.end_us);
    };
    std::ranges::stable_sort(result.trace.spans, by_place);
    std::ranges::stable_sort(result.kernels, by_place);
    if (observer_.on_result) observer_.on_result(index, result);
  }

  void check_time() const {
    for (int rank = 0; rank < ranks_; ++rank) {
      const RankStatus& status = state_->status[static_cast<std::size_t>(rank)];
      const Activity activity = status.activity;
      if (activity == Activity::finished) continue;
      const bool starts_up = activity == Activity::starting || status.last_work == Activity::connecting ||
                             status.last_work == Activity::starting;
      const double limit_s =
          starts_up ? std::max(start_up_limit_s, job_.options.time_limit_s) : job_.options.time_limit_s;
      const double elapsed_s = static_cast<double>(steady_now_ns() - status.since_ns) * 1e-9;
      if (elapsed_s < limit_s) continue;
      std::string doing;
      for (int other = 0; other < ranks_; ++other) doing += (other ? ", " : "") + describe_rank(*state_, other);
      std::ostringstream message;
      message << schedule_of(rank) << " exceeded the time limit of " << limit_s << " s: " << doing;
      throw ExecutionError(message.str());
    }
  }

  void report_death(int rank, const std::string& how) const {
    throw ExecutionError("rank " + std::to_string(rank) + " " + how + ", " + schedule_of(rank) + ": " +
                         describe_rank(*state_, rank));
  }

  const std::vector<Schedule>& schedules_;
  RankJob job_;
  const Observer& observer_;
  std::map<std::size_t, Measurement>& results_;
  std::map<std::size_t, int> ranks_heard_;
  int ranks_;
  SharedStatePointer state_;
};

std::optional<InputError> why_refused(const Schedule& schedule) {
  try {
    check(schedule);
  } catch (const InputError& error) {
    return error;
  }
  return why_not_runnable(schedule);
}

/// Mixes of the schedules for each number of GPUs, in the order of the list; what cannot be run is reported.
std::map<int, std::vector<Mix>> by_gpus(const std::vector<Schedule>& schedules, const std::vector<Mix>& mixes,
                                        const Observer& observer) {
  std::map<int, std::vector<Mix>> groups;
  for (const Mix& mix : mixes) {
    Mix runnable;
    for (const std::size_t i : mix) {
      const auto error = why_refused(schedules[i]);
      if (!error)
        runnable.push_back(i);
      else if (observer.on_error)
        observer.on_error(i, error->what());
    }
    if (!runnable.empty()) groups[schedules[runnable.front()].gpus].push_back(std::move(runnable));
  }
  return groups;
}

std::vector<Mix> each_alone(std::size_t schedules) {
  std::vector<Mix> mixes;
  for (std::size_t i = 0; i < schedules; ++i) mixes.push_back({i});
  return mixes;
}

void require_gpus(const std::vector<Schedule>& schedules) {
  require_device_part();
  const int visible = visible_gpus();
  if (visible == 0) throw InputError("device", "expected a machine with NVIDIA GPUs, found none");
  for (const Schedule& schedule : schedules)
    if (schedule.gpus < 1 || schedule.gpus > std::min(visible, max_ranks))
      throw InputError("gpus", "expected 1 to " + std::to_string(std::min(visible, max_ranks)) +
                                   " (the GPUs visible here), got " + std::to_string(schedule.gpus) +
                                   " in schedule \"" + schedule.name + "\"");
}

}  // namespace

bool GpuReadings::is_held_back_by_surroundings() const {
  return std::ranges::any_of(held_back_by,
                             [](const std::string& why) { return why != "power cap" && why != "sync boost"; });
}

bool has_device_part() {
#ifdef WEFT_HAS_CUDA
  return true;
#else
  return false;
#endif
}

void require_device_part() {
  if (!has_device_part())
    throw InputError("device", "expected a weft built with nvcc, NCCL, cuBLASLt and CUPTI, got one built without CUDA");
}

int visible_gpus() {
  if (!has_device_part()) return 0;
  int gpus = 0;
  ProcessGroup group(1, [](int, const Send& send) {
    std::string failed;
    int found = 0;
    try {
      if (load_device_module().count_gpus(found, failed) != 0) found = 0;
    } catch (const std::exception& error) {
      failed = error.what();
    }
    send(nlohmann::json{{"gpus", found}, {"failed", failed}}.dump());
    return 0;
  });
  std::string failed;
  group.supervise({.on_line =
                       [&](int, const std::string& line) {
                         const auto message = nlohmann::json::parse(line);
                         gpus = message.at("gpus");
                         failed = message.at("failed");
                       },
                   .on_tick = {},
                   .on_death = [&](int, const std::string& how) { failed = "the process that counts GPUs " + how; }});
  if (!failed.empty()) throw ExecutionError(failed);
  return gpus;
}

void measure(const std::vector<Schedule>& schedules, const RunOptions& options, const Observer& observer) {
  require_gpus(schedules);
  for (const auto& [gpus, mixes] : by_gpus(schedules, each_alone(schedules.size()), observer)) {
    std::map<std::size_t, Measurement> results;
    Pass(schedules, {.mixes = mixes, .options = options}, observer, results).run();
    if (!options.spans) continue;
    std::vector<Mix> succeeded;
    for (const auto& [index, result] : results) succeeded.push_back({index});
    if (!succeeded.empty())
      Pass(schedules, {.mixes = succeeded, .options = options, .profiled = true}, observer, results).run();
  }
}

void measure_in_turn(const std::vector<Schedule>& schedules, const std::vector<Mix>& mixes, const RunOptions& options,
                     const Observer& observer) {
  require_gpus(schedules);
  for (const auto& [gpus, of_group] : by_gpus(schedules, mixes, observer)) {
    std::map<std::size_t, Measurement> results;
    Pass(schedules, {.mixes = of_group, .in_turn = true, .options = options}, observer, results).run();
  }
}

Trace HardwareExecutor::run(const Schedule& schedule, const Machine& machine) {
  if (const auto error = why_refused(schedule)) throw *error;
  Trace trace = measure_alone(schedule, options_).measurement.trace;
  trace.machine = machine.name;
  return trace;
}

}  // namespace weft::calibration
