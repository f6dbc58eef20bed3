#include "scenarios/study/prediction.hpp"

#include <algorithm>
#include <optional>

#include "models/base/input_error.hpp"
#include "models/check/hardware_support.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/given_times.hpp"

namespace weft::scenarios::study {
namespace {

using scenarios::Case;
using scenarios::PairWorkload;

/// Without a stratum of its own in the profile a case gets this band.
constexpr double unknown_low = -0.25, unknown_high = 0.25;

Trace simulate(const Schedule& schedule, const Machine& machine, const sim::SimulationOptions& options) {
  return sim::SimulatedExecutor(options).run(schedule, machine);
}

void set_interval(Prediction& prediction, const Case& request, const Machine& machine) {
  double low = unknown_low, high = unknown_high;
  for (const ErrorBand& band : machine.errors)
    if (band.stratum == stratum_of(request) && band.from_us <= prediction.time_us) low = band.low, high = band.high;
  prediction.low_us = prediction.time_us * (1 + low);
  prediction.high_us = prediction.time_us * (1 + high);
}

/// Sizes of the largest GEMM and collective of the schedule, and its GPUs, against what was calibrated.
std::vector<std::string> outside(const Schedule& schedule, const Machine& machine) {
  std::vector<std::string> names;
  const auto check = [&](const std::string& quantity, double value) {
    for (const CalibratedRange& range : machine.calibrated)
      if (range.quantity == quantity && (value < range.low || value > range.high) &&
          std::find(names.begin(), names.end(), quantity) == names.end())
        names.push_back(quantity);
  };
  const auto require_range = [&](const std::string& quantity) {  // where there is none, nobody has measured it
    const auto is_it = [&](const CalibratedRange& range) { return range.quantity == quantity; };
    if (std::none_of(machine.calibrated.begin(), machine.calibrated.end(), is_it) &&
        std::find(names.begin(), names.end(), quantity) == names.end())
      names.push_back(quantity);
  };
  check("gpus", schedule.gpus);
  for (const Operation& operation : schedule.operations) {
    match(
        operation.work,
        [&](const Gemm& gemm) {
          const MatrixSize size = size_of(gemm, schedule.gpus);
          check("m", static_cast<double>(size.m));
          check("n", static_cast<double>(size.n));
          check("k", static_cast<double>(size.k));
        },
        [&](const Collective& collective) {
          check("bytes", static_cast<double>(bytes_of(full_slice(collective), schedule)));
        },
        [&](const OneOf<AllReduceNorm, GroupedGemm> auto&) { require_range(std::string(kind_of(operation.work))); },
        [&](const OneOf<Attention, PartialAttention> auto&) { check("attention", 1); },
        [](const OneOf<GroupedExchange, Copy, MemoryBound, Signal, Wait, Barrier, Delay> auto&) {});
  }
  return names;
}

Case serial_case(Case request) {
  request.schedule = {scenarios::Serial{}, 0, request.schedule.launch};
  return request;
}

/// Searched values are those that are the fastest on the simulator.
scenarios::ScheduleChoice with_searched_values(const Case& request, const Machine& machine,
                                               const sim::Mechanisms& mechanisms) {
  return families::with_searched_values(request, machine, [&](const Case& one) {
    return simulate(families::build(one, machine), machine, {.spans = false, .mechanisms = mechanisms}).time_us;
  });
}

/// A case with its searched values, and how it runs.
struct SimulatedCase {
  Case request;
  Schedule schedule;
  Trace trace;
};

SimulatedCase simulate_case(Case request, const Machine& machine, const PredictionOptions& options) {
  request.schedule = with_searched_values(request, machine, options.mechanisms);
  Schedule schedule = families::build(request, machine);
  Trace trace = simulate(schedule, machine, {.spans = options.spans, .mechanisms = options.mechanisms});
  return {std::move(request), std::move(schedule), std::move(trace)};
}

/// The fastest of the families that the request's op has, on the simulator; of equally fast ones the one that is listed
/// first.
SimulatedCase simulate_fastest_family(const Case& request, const Machine& machine, const PredictionOptions& options) {
  std::optional<SimulatedCase> fastest;
  for (Case& one : scenarios::candidates(request.workload, request.gpus,
                                         {.max_ctas = {},
                                         .fused_norm_ctas = scenarios::fused_norm_ctas(machine),
                                         .launch = request.schedule.launch})) {
    one.schedule.max_ctas = request.schedule.max_ctas;
    SimulatedCase simulated = simulate_case(std::move(one), machine, options);
    if (!fastest || simulated.trace.time_us < fastest->trace.time_us) fastest = std::move(simulated);
  }
  fastest->request.id = request.id;
  fastest->request.measured = request.measured;
  return std::move(*fastest);
}

}  // namespace

std::string stratum_of(const Case& request) {
  const bool is_pair = std::holds_alternative<PairWorkload>(request.workload) ||
                       std::holds_alternative<scenarios::ConcurrentPair>(request.workload);
  return std::string(is_pair ? family_of(request.schedule) : op_of(request.workload));
}

std::optional<double> speedup_low(const Machine& machine) {
  for (const ErrorBand& band : machine.errors)
    if (band.stratum == "speedup") return band.low;
  return std::nullopt;
}

void require_gpus(int gpus, const Machine& machine) {
  if (gpus > machine.gpus)
    throw InputError("gpus", "expected at most " + std::to_string(machine.gpus) + ", the GPUs of " + machine.name +
                                 ", got " + std::to_string(gpus));
}

Prediction predict(const Case& asked, const Machine& machine, const PredictionOptions& options) {
  require_gpus(asked.gpus, machine);
  const bool has_measured = asked.measured.gemm_us || asked.measured.collective_us;
  const Machine scaled = has_measured ? with_given_times(asked, machine, options.mechanisms) : Machine{};
  const Machine& used = has_measured ? scaled : machine;
  const bool is_open = std::holds_alternative<scenarios::Best>(asked.schedule.family);
  SimulatedCase simulated =
      is_open ? simulate_fastest_family(asked, used, options) : simulate_case(asked, used, options);
  const Case& request = simulated.request;

  Prediction prediction;
  prediction.choice = request.schedule;
  prediction.schedule = std::move(simulated.schedule);
  prediction.trace = std::move(simulated.trace);
  prediction.time_us = prediction.serial_us = prediction.trace.time_us;
  prediction.limited_by = prediction.trace.limited_by;
  if (const Case serial = serial_case(request); options.serial && !(serial == request))
    prediction.serial_us =
        simulate(families::build(serial, used), used, {.spans = false, .mechanisms = options.mechanisms}).time_us;
  prediction.bound_us = scenarios::bound_us(request.workload, request.gpus, machine, request.measured);
  prediction.runnable = is_runnable(prediction.schedule, machine);
  prediction.outside_calibration = outside(prediction.schedule, machine);
  set_interval(prediction, request, machine);
  return prediction;
}

}  // namespace weft::scenarios::study
