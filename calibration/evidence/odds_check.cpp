#include "calibration/evidence/odds_check.hpp"

#include <algorithm>

#include "scenarios/study/odds.hpp"

namespace weft::calibration::evidence {
namespace {

scenarios::Odds odds_of(const Comparison& one, const Comparison& serial, bool is_measured) {
  return scenarios::study::shipped_ratio_errors().of(scenarios::study::predicted_ratio(
      one.measured.request, serial.predicted_us / one.predicted_us, serial.predicted_us, is_measured));
}

/// Serial by other collectives is what weft explore may advise, too.
bool is_reference(const Comparison& one, const Comparison& serial) {
  return one.measured.request.schedule == serial.measured.request.schedule;
}

}  // namespace

std::array<OddsBin, 10> odds_bins(const std::vector<Contest>& contests, bool is_measured) {
  std::array<OddsBin, 10> bins{};
  for (const Contest& contest : contests)
    for (const Comparison& one : contest.schedules) {
      if (!contest.serial || !is_overlapped(one)) continue;
      const double probability = odds_of(one, *contest.serial, is_measured).faster;
      OddsBin& bin = bins[std::min(static_cast<std::size_t>(probability * 10), bins.size() - 1)];
      ++bin.cases;
      bin.predicted += probability;
      bin.measured += one.measured.time_us < contest.serial->measured.time_us ? 1 : 0;
    }
  for (OddsBin& bin : bins)
    if (bin.cases > 0) {
      bin.predicted /= static_cast<double>(bin.cases);
      bin.measured /= static_cast<double>(bin.cases);
    }
  return bins;
}

std::vector<double> regrets_of_advice(const std::vector<Contest>& contests, bool is_measured) {
  std::vector<double> regrets;
  for (const Contest& contest : contests) {
    if (!contest.has_choice()) continue;
    const auto measured_us = [](const Comparison& one) { return one.measured.time_us; };
    const double best_us = measured_us(*std::ranges::min_element(contest.schedules, {}, measured_us));
    const Comparison* advised = &*contest.serial;
    double gain = 0;
    for (const Comparison& one : contest.schedules) {
      if (is_reference(one, *contest.serial)) continue;
      if (const double other = odds_of(one, *contest.serial, is_measured).gain; other > gain)
        advised = &one, gain = other;
    }
    regrets.push_back(advised->measured.time_us / best_us - 1);
  }
  return regrets;
}

}  // namespace weft::calibration::evidence
