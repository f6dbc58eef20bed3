#include "calibration/pass.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "calibration/process_group.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text.hpp"

namespace weft::calibration {
namespace {

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

const RankStatus& status_of(const SharedState& state, int rank) { return state.status[static_cast<std::size_t>(rank)]; }

std::string describe_rank(const SharedState& state, int rank) {
  const RankStatus& status = status_of(state, rank);
  const Activity activity = status.activity;
  std::string text = name_of(rank) + " was " + std::string(describe(activity));
  if (activity == Activity::waiting_for_ranks) text += " after " + std::string(describe(status.last_work));
  return text;
}

}  // namespace

Pass::Pass(const std::vector<Schedule>& schedules, RankJob job, const Observer& observer,
           std::map<std::size_t, Measurement>& results)
    : schedules_(schedules),
      job_(std::move(job)),
      observer_(observer),
      results_(results),
      ranks_(schedules[job_.mixes.front().front()].gpus),
      state_(make_shared_state(ranks_)) {
  job_.ranks = ranks_, job_.schedules = &schedules_, job_.state = state_.get();
  for (const Mix& mix : job_.mixes)
    for (const std::size_t index : mix) awaited_[index] = job_.profiled ? ranks_ : 1;
}

void Pass::run() {
  ProcessGroup group(ranks_, [this](int rank, const Send& send) { return rank_main(rank, send); });
  group.supervise({.on_line = [this](int rank, const std::string& line) { take(rank, line); },
                   .on_tick = [this] { check_time(); },
                   .on_death = [this](int rank, const std::string& how) { report_death(rank, how); },
                   .on_end = [this](int rank) { check_end(rank); }});
  require_all_answers();
}

int Pass::rank_main(int rank, const Send& send) const {
  // In the forked process, before CUDA starts there. Else the environment's, or the driver's default.
  if (const int connections = schedules_[job_.mixes.front().front()].max_connections; connections > 0)
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(connections).c_str(), 1);
  RankJob job = job_;
  job.rank = rank;
  return run_device_part(
      send, [&](const DeviceModule& device, std::string& failed) { return device.run_rank(job, send, failed); });
}

void Pass::take(int rank, const std::string& line) {
  const RankMessage message = understood(rank, line);
  if (message.failed)
    fail(rank,
         name_of(rank) + ", " + std::string(describe(status_of(*state_, rank).last_work)) + ": " + *message.failed);
  if (message.conditions) {
    if (!job_.profiled && observer_.on_conditions) observer_.on_conditions(*message.conditions);
    return;
  }
  require_awaited(rank, message.index);
  if (message.error)
    take_error(message.index, *message.error);
  else if (message.measurement)
    take_measurement(message.index, *message.measurement);
  else
    take_recording(message);
}

RankMessage Pass::understood(int rank, const std::string& line) const {
  try {
    return message_of(line, schedules_.size());
  } catch (const InputError& error) {
    throw ExecutionError(name_of(rank) + " sent a line that no device part of this weft writes: " + error.what());
  }
}

void Pass::require_awaited(int rank, std::size_t index) const {
  if (!awaited_.contains(index))
    throw ExecutionError(name_of(rank) + " answered about schedule \"" + schedules_[index].name +
                         "\", which nobody asked, or more than once");
}

void Pass::take_error(std::size_t index, const std::string& error) {
  awaited_.erase(index);
  if (observer_.on_error) observer_.on_error(index, error);
}

void Pass::take_measurement(std::size_t index, const Measurement& measurement) {
  awaited_.erase(index);
  results_[index] = measurement;
  if (observer_.on_result) observer_.on_result(index, results_[index]);
}

void Pass::take_recording(const RankMessage& message) {
  Measurement& result = results_[message.index];
  result.trace.spans.insert(result.trace.spans.end(), message.spans.begin(), message.spans.end());
  result.kernels.insert(result.kernels.end(), message.kernels.begin(), message.kernels.end());
  if (--awaited_.at(message.index) > 0) return;
  awaited_.erase(message.index);
  result.trace.source = "measured";
  result.trace.time_us = result.time_us;
  const auto by_place = [](const auto& a, const auto& b) {
    return std::tie(a.gpu, a.start_us, a.end_us) < std::tie(b.gpu, b.start_us, b.end_us);
  };
  std::ranges::stable_sort(result.trace.spans, by_place);
  std::ranges::stable_sort(result.kernels, by_place);
  if (observer_.on_result) observer_.on_result(message.index, result);
}

void Pass::check_time() const {
  for (int rank = 0; rank < ranks_; ++rank)
    if (!ended_.contains(rank)) check_time_of(rank);
}

void Pass::check_time_of(int rank) const {
  const double elapsed_s = static_cast<double>(steady_now_ns() - status_of(*state_, rank).since_ns) * 1e-9;
  if (elapsed_s < limit_s(rank)) return;
  std::ostringstream message;
  message << "exceeded the time limit of " << limit_s(rank) << " s: ";
  for (int other = 0; other < ranks_; ++other) message << (other > 0 ? ", " : "") << describe_rank(*state_, other);
  fail(rank, message.str());
}

double Pass::limit_s(int rank) const {
  const RankStatus& status = status_of(*state_, rank);
  const Activity work = status.last_work;
  const bool is_of_no_schedule = work == Activity::starting || work == Activity::connecting ||
                                 work == Activity::waiting_for_guest || work == Activity::finished;
  return is_of_no_schedule ? job_.options.longest_limit_s() : job_.options.time_limit_s;
}

void Pass::report_death(int rank, const std::string& how) const {
  fail(rank, name_of(rank) + " " + how + ": " + describe_rank(*state_, rank));
}

/// A library may call exit().
void Pass::check_end(int rank) {
  if (status_of(*state_, rank).activity != Activity::finished) report_death(rank, "ended before its work was done");
  ended_.insert(rank);
}

void Pass::require_all_answers() const {
  if (!awaited_.empty())
    throw ExecutionError("the ranks ended without an answer about schedule \"" +
                         schedules_[awaited_.begin()->first].name + "\"");
}

void Pass::fail(int rank, const std::string& reason) const {
  const int index = status_of(*state_, rank).schedule;
  if (index < 0 || index >= static_cast<int>(schedules_.size()))
    throw ExecutionError("before the first schedule: " + reason);
  const auto position = static_cast<std::size_t>(index);
  const std::string& name = schedules_[position].name;
  if (!awaits(position)) throw ExecutionError("after schedule \"" + name + "\": " + reason);
  throw ScheduleFailure(position, name, reason);
}

}  // namespace weft::calibration
