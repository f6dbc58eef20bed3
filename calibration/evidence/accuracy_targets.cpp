#include "calibration/evidence/accuracy_targets.hpp"

#include <cmath>

#include "calibration/evidence/contests.hpp"
#include "calibration/evidence/duration_ratio.hpp"
#include "models/base/statistics.hpp"
#include "scenarios/parts.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::calibration::evidence {
namespace {

using scenarios::Case;
using Values = std::vector<double>;

constexpr double operations_of_a_large_gemm = 1e11;
constexpr std::size_t cases_of_a_stratum = 20;  ///< with fewer a share is no statistic

// --- Which cases belong to a row -------------------------------------------------------------------------------

double operations_of(const Case& request) {
  const auto* gemm = std::get_if<scenarios::GemmWorkload>(&request.workload);
  return gemm == nullptr
             ? 0
             : 2.0 * static_cast<double>(gemm->m) * static_cast<double>(gemm->n) * static_cast<double>(gemm->k);
}

bool is_large_gemm(const Case& request) { return operations_of(request) >= operations_of_a_large_gemm; }
bool is_small_gemm(const Case& request) { return operations_of(request) > 0 && !is_large_gemm(request); }

bool is_collective_alone(const Case& request) {
  return std::holds_alternative<scenarios::CollectiveWorkload>(request.workload) && request.schedule.max_ctas == 0;
}
bool is_limited_collective(const Case& request) {
  return std::holds_alternative<scenarios::CollectiveWorkload>(request.workload) && request.schedule.max_ctas > 0;
}
bool is_copy(const Case& request) { return std::holds_alternative<scenarios::CopyWorkload>(request.workload); }

template <class Family>
bool has_family(const Case& request) {
  return std::holds_alternative<Family>(request.schedule.family);
}
bool is_serial_pair(const Case& request) {
  return has_family<scenarios::Serial>(request) && scenarios::parts_of(request.workload);
}
bool is_any(const Case&) { return true; }

// --- What a row's values are -----------------------------------------------------------------------------------

template <bool (*belongs)(const Case&)>
Values errors_of(const Evidence& evidence) {
  Values errors;
  for (const Comparison& one : evidence.all)
    if (belongs(one.measured.request)) errors.push_back(std::abs(one.error()));
  return errors;
}

Values absolute(Values values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

Values gemm_ratios(const Evidence& evidence) {
  std::vector<Comparison> gemms;
  for (const Comparison& one : evidence.all)
    if (is_large_gemm(one.measured.request)) gemms.push_back(one);
  return absolute(gemm_ratio_errors(gemms));
}

Values speedup_errors(const Evidence& evidence) {
  Values errors;
  for (const Speedup& one : speedups_of(contests_of(evidence.all))) errors.push_back(std::abs(one.error()));
  return errors;
}

Values balanced_errors(const Evidence& evidence) {
  Values errors;
  const auto balanced = evidence.by_duration_ratio.find("0.8 to 1.25");
  if (balanced != evidence.by_duration_ratio.end())
    for (const Comparison& one : balanced->second) errors.push_back(std::abs(one.error()));
  return errors;
}

Values given_errors(const Evidence& evidence) {
  Values errors;
  for (const Comparison& one : evidence.given)
    if (is_overlapped(one)) errors.push_back(std::abs(one.error()));
  return errors;
}

Values right_signs(const Evidence& evidence) {
  return right_signs_beyond(0.05, speedups_of(contests_of(evidence.all)));
}

Values regrets(const Evidence& evidence) {
  Values values;
  for (const Regret& one : regrets_of(contests_of(evidence.all))) values.push_back(one.of_choice);
  return values;
}

Values coverages(const Evidence& evidence) {
  Values shares;
  for (const auto& [stratum, some] :
       grouped(evidence.all, [](const Comparison& one) { return scenarios::study::stratum_of(one.measured.request); }))
    if (some.size() >= cases_of_a_stratum) shares.push_back(accuracy_of(some).coverage);
  return shares;
}

Values half_widths(const Evidence& evidence) {
  Values widths;
  for (const Comparison& one : evidence.all) widths.push_back(one.half_width());
  return widths;
}

// --- The targets -----------------------------------------------------------------------------------------------

struct Goal {
  Statistic statistic;
  Bound bound;
  double percent;
};
struct TargetRow {
  std::string_view name;
  Values (*values)(const Evidence&);
  std::vector<Goal> goals;
};

const std::vector<TargetRow>& rows() {
  using enum Statistic;
  using enum Bound;
  static const std::vector<TargetRow> table{
      {"GEMM alone, from 1e11 operations", errors_of<is_large_gemm>, {{mean, at_most, 3}, {p90, at_most, 6.5}}},
      {"ratio of two such GEMMs of one run", gemm_ratios, {{mean, at_most, 2.5}}},
      {"GEMM alone, smaller", errors_of<is_small_gemm>, {{mean, at_most, 6}}},
      {"collective alone", errors_of<is_collective_alone>, {{mean, at_most, 4}, {p90, at_most, 10}}},
      {"collective alone, CTAs limited", errors_of<is_limited_collective>, {{mean, at_most, 5}}},
      {"copy alone", errors_of<is_copy>, {{mean, at_most, 5}}},
      {"pair, serial", errors_of<is_serial_pair>, {{mean, at_most, 2.5}}},
      {"pair, chunked",
       errors_of<has_family<scenarios::Decomposition>>,
       {{mean, at_most, 3.5}, {p90, at_most, 8}, {p99, at_most, 20}}},
      {"pair, async TP", errors_of<has_family<scenarios::AsyncTp>>, {{mean, at_most, 5}, {p90, at_most, 10}}},
      {"pair, concurrent", errors_of<has_family<scenarios::Concurrent>>, {{mean, at_most, 4}, {p90, at_most, 9}}},
      {"pair, FiCCO", errors_of<has_family<scenarios::Ficco>>, {{mean, at_most, 5}}},
      {"all cases",
       errors_of<is_any>,
       {{mean, at_most, 5}, {median, at_most, 4}, {p90, at_most, 10}, {p99, at_most, 20}}},
      {"speedup over serial", speedup_errors, {{mean, at_most, 3}}},
      {"overlapped, GEMM / collective 0.8 to 1.25", balanced_errors, {{median, at_most, 6}}},
      {"overlapped, measured parts given", given_errors, {{mean, at_most, 3}}},
      {"sign of speedups beyond 5 % right", right_signs, {{mean, at_least, 96}}},
      {"regret of the choice", regrets, {{mean, at_most, 1.5}}},
      {"coverage of 90 % intervals, by stratum", coverages, {{least, at_least, 85}, {most, at_most, 95}}},
      {"half width of 90 % intervals", half_widths, {{median, at_most, 8}}},
  };
  return table;
}

double statistic_of(Statistic statistic, const Values& values) {
  switch (statistic) {
    case Statistic::mean:
      return mean(values);
    case Statistic::median:
      return quantile(values, 0.5);
    case Statistic::p90:
      return quantile(values, 0.9);
    case Statistic::p99:
      return quantile(values, 0.99);
    case Statistic::least:
      return quantile(values, 0);
    case Statistic::most:
      break;
  }
  return quantile(values, 1);
}

}  // namespace

Evidence evidence_of(const std::vector<MeasuredCase>& measured, const Machine& machine, const Progress& progress) {
  Evidence evidence;
  std::size_t refused = 0;
  evidence.all = compare(measured, machine, refused, {}, progress);
  evidence.given = compare(with_parts_given(measured), machine, refused);
  DurationRatios ratios(measured, machine);
  evidence.by_duration_ratio = grouped(evidence.all, [&](const Comparison& one) { return ratios.class_of(one); });
  return evidence;
}

std::vector<TargetResult> target_results(const Evidence& evidence) {
  std::vector<TargetResult> results;
  for (const TargetRow& row : rows()) {
    const Values values = row.values(evidence);
    for (const Goal& goal : row.goals)
      results.push_back({row.name, goal.statistic, goal.bound, goal.percent, values.size(),
                         values.empty() ? 0 : 100 * statistic_of(goal.statistic, values)});
  }
  return results;
}

}  // namespace weft::calibration::evidence
