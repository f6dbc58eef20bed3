#include "calibration/evidence/contests.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/statistics.hpp"

namespace weft::calibration::evidence {
namespace {

std::string contest_of(const MeasuredCase& one) {
  const scenarios::Case& request = one.request;
  return one.run + " " + std::to_string(request.gpus) + " " + describe(request.workload) + " " +
         std::string(name_of(request.schedule.launch));
}

/// Serial as it runs where nobody chooses: by the library, as it comes. Priority is no matter of one stream.
bool is_reference(const scenarios::ScheduleChoice& choice) {
  return choice ==
         scenarios::ScheduleChoice{.family = scenarios::Serial{}, .launch = choice.launch, .urgent = choice.urgent};
}

/// A layer without its communication computes something else.
bool takes_part(const scenarios::ScheduleChoice& choice) { return choice.collectives != scenarios::Collectives::none; }

const Comparison& fastest(const std::vector<Comparison>& schedules, double (*time_us)(const Comparison&)) {
  return *std::min_element(schedules.begin(), schedules.end(),
                           [&](const Comparison& a, const Comparison& b) { return time_us(a) < time_us(b); });
}
double predicted_us(const Comparison& one) { return one.predicted_us; }
double measured_us(const Comparison& one) { return one.measured.time_us; }

}  // namespace

bool Contest::has_choice() const { return serial && std::any_of(schedules.begin(), schedules.end(), is_overlapped); }

std::vector<Contest> contests_of(const std::vector<Comparison>& comparisons) {
  std::vector<Contest> contests;
  std::map<std::string, std::size_t> position;
  for (const Comparison& one : comparisons) {
    const scenarios::ScheduleChoice& choice = one.measured.request.schedule;
    if (!takes_part(choice)) continue;
    const auto [known, is_new] = position.try_emplace(contest_of(one.measured), contests.size());
    if (is_new) contests.emplace_back();
    Contest& contest = contests[known->second];
    contest.schedules.push_back(one);
    if (is_reference(choice) && !contest.serial) contest.serial = one;
  }
  return contests;
}

std::vector<Speedup> speedups_of(const std::vector<Contest>& contests) {
  std::vector<Speedup> speedups;
  for (const Contest& contest : contests)
    for (const Comparison& one : contest.schedules)
      if (contest.serial && is_overlapped(one))
        speedups.push_back(
            {contest.serial->predicted_us / one.predicted_us, contest.serial->measured.time_us / one.measured.time_us});
  return speedups;
}

std::vector<double> right_signs_beyond(double share, const std::vector<Speedup>& speedups) {
  std::vector<double> signs;
  for (const Speedup& one : speedups)
    if (std::abs(one.measured - 1) > share) signs.push_back(one.has_right_sign() ? 1 : 0);
  return signs;
}

std::vector<Regret> regrets_of(const std::vector<Contest>& contests) {
  std::vector<Regret> regrets;
  for (const Contest& contest : contests) {
    if (!contest.has_choice()) continue;
    const MeasuredCase& best = fastest(contest.schedules, measured_us).measured;
    const MeasuredCase& choice = fastest(contest.schedules, predicted_us).measured;
    regrets.push_back({choice.time_us / best.time_us - 1, contest.serial->measured.time_us / best.time_us - 1,
                       best.repeats_us.empty() ? 0 : relative_spread(best.repeats_us)});
  }
  return regrets;
}

std::vector<double> gemm_ratio_errors(const std::vector<Comparison>& gemms) {
  std::map<std::string, const Comparison*> before;
  std::vector<double> errors;
  for (const Comparison& one : gemms) {
    const Comparison*& other = before[one.measured.run + gpus_name(one)];
    if (other != nullptr)
      errors.push_back((one.predicted_us / other->predicted_us) / (one.measured.time_us / other->measured.time_us) - 1);
    other = &one;
  }
  return errors;
}

}  // namespace weft::calibration::evidence
