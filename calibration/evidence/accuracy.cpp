#include "calibration/evidence/accuracy.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "models/base/input_error.hpp"
#include "models/base/statistics.hpp"
#include "models/cost/attention_model.hpp"
#include "models/execution/execution_error.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::calibration::evidence {

namespace {

constexpr std::string_view first_fills_by_kernels = "2026-11-24";  // UTC: when graphs of weft had no memsets any more
constexpr std::string_view first_warm_up_on_one_stream = "2026-11-30";
constexpr std::string_view first_quick_heads_of_64 = "2026-11-30T02:15";
constexpr std::string_view first_even_fetches = "2026-11-30T05:20";
constexpr std::string_view first_boxes_of_groups = "2026-11-30T08:50";
constexpr std::string_view first_many_splits = "2026-11-30T09:00";
constexpr std::string_view first_even_shares = "2026-11-30T14:27";
constexpr std::string_view first_flagged_shards = "2026-11-28T18:30";

/// What has no date is of today.
bool is_before(std::string_view date, const MeasuredCase& one) {
  return !one.conditions.date.empty() && one.conditions.date < date;
}

/// Attention over some of the keys took 14 % longer for heads of 64 columns until then.
bool has_slow_heads(const MeasuredCase& one) {
  const auto* attention = std::get_if<scenarios::AttentionWorkload>(&one.request.workload);
  return attention != nullptr && attention->head_dim == 64 && is_before(first_quick_heads_of_64, one);
}

/// Gathers in one launch took up to a fifth longer until then: slices of the last tiles waited for CTAs that waited for
/// rows, and rows came in uneven pieces.
bool has_uneven_fetches(const MeasuredCase& one) {
  const auto* hybrid = std::get_if<scenarios::Hybrid>(&one.request.schedule.family);
  return hybrid != nullptr && hybrid->mover == scenarios::HybridMover::fetch && is_before(first_even_fetches, one);
}

/// Experts' products loaded and multiplied 128 rows for each of them until then, however few it had: decoding took up
/// to half as long again.
bool has_whole_tiles_of_experts(const MeasuredCase& one) {
  const auto* layer = std::get_if<scenarios::LayerWorkload>(&one.request.workload);
  return layer != nullptr && layer->experts > 0 && layer->dtype == DataType::bf16 &&
         is_before(first_boxes_of_groups, one);
}

/// Attention on cached keys had at most 16 splits until then: one sequence with 50,000 keys took 2.4 times as long.
bool had_fewer_splits(const MeasuredCase& one, const Schedule& schedule, const Machine& machine) {
  return is_before(first_many_splits, one) && merges_many_splits(machine, schedule);
}

/// Few queries had the kernel of many until then, which took 20 % longer, and for some hours one whose CTAs had a tile
/// for the few keys of a sequence's own rows. One in between merged pieces later; of its times the long ones are kept.
bool had_no_even_shares(const MeasuredCase& one, const Schedule& schedule, const Machine& machine) {
  return is_before(first_even_shares, one) && decodes(machine, schedule);
}

bool is_of_another_kernel(const MeasuredCase& one, const Schedule& schedule, const Machine& machine) {
  return had_fewer_splits(one, schedule, machine) || had_no_even_shares(one, schedule, machine);
}

/// Until then a gather's signaling copied its own rows first, and no barrier said that those of peers were there.
bool is_of_another_program(const MeasuredCase& one) {
  if (has_slow_heads(one) || has_uneven_fetches(one) || has_whole_tiles_of_experts(one)) return true;
  const scenarios::Case& request = one.request;
  return std::holds_alternative<scenarios::Signaling>(request.schedule.family) &&
         op_of(request.workload) == name_of(scenarios::PairOp::all_gather_gemm) && is_before(first_flagged_shards, one);
}

}  // namespace

scenarios::Case in_its_condition(const MeasuredCase& one) {
  scenarios::Case request = one.request;
  request.condition.condition = one.condition;
  request.condition.memsets = is_before(first_fills_by_kernels, one);
  request.condition.warmed_on_all_streams = is_before(first_warm_up_on_one_stream, one);
  if (!one.conditions.torch.empty()) request.schedule.implementation = Implementation::pytorch;
  return request;
}

std::vector<Comparison> compare(const std::vector<MeasuredCase>& measured, const Machine& machine, std::size_t& refused,
                                const sim::Mechanisms& mechanisms, const Progress& progress) {
  std::vector<Comparison> comparisons(measured.size());
  ProgressCounter counter(progress, measured.size());
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = mechanisms, .given_us = {}});
  tbb::parallel_for(std::size_t{0}, measured.size(), [&](std::size_t i) {
    comparisons[i].measured = measured[i];
    if (is_of_another_program(measured[i])) return counter.add();
    try {
      const scenarios::study::Prediction prediction =
          scenarios::study::predict(in_its_condition(measured[i]), machine, executor, {.serial = false});
      comparisons[i].predicted_us =
          is_of_another_kernel(measured[i], prediction.schedule, machine) ? 0 : prediction.time_us;
      comparisons[i].low_us = prediction.low_us;
      comparisons[i].high_us = prediction.high_us;
    } catch (const InputError&) {
      comparisons[i].predicted_us = 0;
    } catch (const ExecutionError&) {  // it gets stuck
      comparisons[i].predicted_us = 0;
    }
    counter.add();
  });
  refused = std::erase_if(comparisons, [](const Comparison& one) { return one.predicted_us == 0; });
  return comparisons;
}

Accuracy accuracy_of(const std::vector<Comparison>& comparisons) {
  Accuracy accuracy;
  accuracy.cases = comparisons.size();
  if (comparisons.empty()) return accuracy;
  std::vector<double> errors, noise, half_widths;
  const auto count = static_cast<double>(comparisons.size());
  for (const Comparison& one : comparisons) {
    errors.push_back(std::abs(one.error()));
    half_widths.push_back(one.half_width());
    accuracy.bias += one.error() / count;
    accuracy.coverage += (one.is_covered() ? 1 : 0) / count;
    if (one.measured.repeats_us.size() > 1) noise.push_back(relative_spread(one.measured.repeats_us));
  }
  accuracy.mean = mean(errors);
  accuracy.median = quantile(errors, 0.5);
  accuracy.p90 = quantile(errors, 0.9);
  accuracy.p99 = quantile(errors, 0.99);
  accuracy.maximum = quantile(errors, 1);
  accuracy.half_width = quantile(half_widths, 0.5);
  accuracy.noise = noise.empty() ? 0 : quantile(noise, 0.5);
  return accuracy;
}

Groups grouped(const std::vector<Comparison>& comparisons, const std::function<std::string(const Comparison&)>& name) {
  Groups groups;
  for (const Comparison& one : comparisons)
    if (const std::string group = name(one); !group.empty()) groups[group].push_back(one);
  return groups;
}

std::string op_name(const Comparison& one) { return std::string(op_of(one.measured.request.workload)); }

std::string family_name(const Comparison& one) {
  const scenarios::ScheduleChoice& choice = one.measured.request.schedule;
  std::string name(family_of(choice));
  if (const auto* decomposition = std::get_if<scenarios::Decomposition>(&choice.family))
    name += " " + std::to_string(decomposition->chunks);
  return name;
}

std::string gpus_name(const Comparison& one) { return std::to_string(one.measured.request.gpus) + " GPUs"; }

std::string stratum_name(const Comparison& one) {
  return op_name(one) + " | " + family_name(one) + " | " + gpus_name(one);
}

bool is_overlapped(const Comparison& one) {
  return !std::holds_alternative<scenarios::Serial>(one.measured.request.schedule.family);
}

}  // namespace weft::calibration::evidence
