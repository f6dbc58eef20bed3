#include "calibration/evidence/measuring.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/check/hardware_support.hpp"
#include "models/execution/executor.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/in_turn.hpp"
#include "scenarios/study/reference.hpp"
#include "scenarios/study/settle.hpp"

namespace weft::calibration::evidence {

using scenarios::Case;

Measuring::Measuring(const std::vector<Case>& requests, const Machine& machine, const MeasuringOptions& options,
                     MeasurementFileWriter& file, Executor& simulator)
    : machine_(machine), options_(options), file_(file), simulator_(simulator), before_(requests.size()) {
  if (options.in_turn)
    for (const std::vector<std::size_t>& mix : scenarios::study::mixes_of(requests)) {
      std::vector<Case> contest;
      for (const std::size_t place : mix) contest.push_back(requests[place]);
      add_contest(contest);
    }
  else
    for (const Case& one : requests)
      if (!file_.holds(one)) add(one);
}

/// The times of a mix are of one clock, so where one is missing all are measured again.
void Measuring::add_contest(const std::vector<Case>& contest) {
  if (std::ranges::all_of(contest, [this](const Case& one) { return file_.holds(one); })) return;
  Mix mix;
  for (const Case& one : contest)
    if (add(one)) mix.push_back(cases_.size() - 1);
  if (!mix.empty()) mixes_.push_back(std::move(mix));
}

bool Measuring::add(const Case& one) {
  --before_;
  try {
    if (one.condition.timing != Timing{})
      throw InputError("timing", "expected back_to_back, as iterations on GPUs follow one another");
    Schedule schedule = scenarios::study::close_case(one, machine_, simulator_).schedule;
    require_runnable(schedule);
    if (auto reference = scenarios::study::reference_of(one, machine_))
      options_.run.references.emplace(schedules_.size(), *std::move(reference));
    schedules_.push_back(std::move(schedule));
  } catch (const InputError& error) {
    refused_.emplace_back(one, error.what());
    return false;
  }
  cases_.push_back(one);
  return true;
}

std::string Measuring::first_of_mix(std::size_t index) const {
  for (const Mix& mix : mixes_)
    if (std::ranges::find(mix, index) != mix.end()) return cases_[mix.front()].id;
  return "";
}

void Measuring::take(std::size_t index, Measurement measurement) {
  measurement.in_turn_with = first_of_mix(index);
  if (measurement.kernels.empty())
    file_.add(cases_[index], measurement);
  else
    file_.add_kernels(cases_[index], measurement.kernels);
}

void Measuring::write_refused() {
  for (const auto& [one, why] : std::exchange(refused_, {})) file_.add_error(one, why);
}

void Measuring::run(const Progress& progress) {
  std::size_t failed = refused_.size();
  if (cases_.empty())
    write_refused();
  else
    failed += failures_of_runs(progress);
  if (failed > 0) throw ExecutionError(std::to_string(failed) + " cases failed: their lines carry \"error\"");
}

std::size_t Measuring::failures_of_runs(const Progress& progress) {
  ProgressCounter runs_done(progress, cases_.size() * (options_.run.spans ? 2 : 1));
  std::size_t failed = 0;
  const Observer observer{.on_conditions =
                              [&](const Conditions& conditions) {
                                file_.add(conditions);
                                write_refused();
                              },
                          .on_result =
                              [&](std::size_t index, const Measurement& measurement) {
                                take(index, measurement);
                                runs_done.add();
                              },
                          .on_error =
                              [&](std::size_t index, const std::string& message) {
                                file_.add_error(cases_[index], message);
                                runs_done.add();
                                ++failed;
                              }};
  if (options_.run.guests.are_there())
    for (const Case& one : cases_) options_.run.guests.cases.push_back(scenarios::to_json(one).dump());
  if (options_.in_turn)
    measure_in_turn(schedules_, mixes_, options_.run, observer);
  else
    measure(schedules_, options_.run, observer);
  return failed;
}

}  // namespace weft::calibration::evidence
