#include "scenarios/study/prediction.hpp"

#include <algorithm>
#include <optional>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/check/hardware_support.hpp"
#include "models/cost/measured_gemms.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/own_kernel_of.hpp"
#include "scenarios/study/given_times.hpp"
#include "scenarios/study/settle.hpp"

namespace weft::scenarios::study {
namespace {

using scenarios::Case;
using scenarios::PairWorkload;

/// Without a stratum of its own in the profile a case gets this band.
constexpr double unknown_low = -0.25, unknown_high = 0.25;

/// Gaps and waits of many chunks add up: their errors are up to twice those of few.
constexpr int most_coarse_chunks = 4;
const std::string fine_decomposition = "fine_decomposition", untabled_gemm = "untabled_gemm";

/// By a kernel that no table of the library's answers has: such GEMMs are met less well.
bool is_untabled_gemm(const Case& request) {
  const auto* const gemm = std::get_if<scenarios::GemmWorkload>(&request.workload);
  const auto* const serial = std::get_if<scenarios::Serial>(&request.schedule.family);
  if (gemm == nullptr || serial == nullptr) return false;
  const GemmKernel* own = own_kernel_of(serial->gemm);
  return is_untabled({gemm->m, gemm->n, gemm->k}, own == nullptr ? GemmKernel{} : *own, gemm->dtype);
}

/// Of a case the finest stratum that the profile has bands of in the machine's condition.
std::string banded_stratum(const Case& request, const Machine& machine) {
  const std::string stratum = stratum_of(request);
  for (const ErrorBands& errors : machine.errors)
    if (errors.condition == machine.condition.condition &&
        std::ranges::find(errors.bands, stratum, &ErrorBand::stratum) != errors.bands.end())
      return stratum;
  if (stratum == untabled_gemm) return std::string(op_of(request.workload));
  return stratum == fine_decomposition ? std::string(family_of(request.schedule)) : stratum;
}

/// A stratum that was measured in one condition only has its bands for the other as well.
void set_interval(Prediction& prediction, const Case& request, const Machine& machine) {
  double low = unknown_low, high = unknown_high;
  bool is_of_condition = false;
  const std::string stratum = banded_stratum(request, machine);
  for (const ErrorBands& errors : machine.errors) {
    const bool is_asked = errors.condition == machine.condition.condition;
    const double widening = errors.widening(request.gpus);
    for (const ErrorBand& band : errors.bands) {
      if (band.stratum != stratum || band.from_us > prediction.time_us) continue;
      if (is_asked || !is_of_condition) low = band.low * widening, high = band.high * widening;
      is_of_condition = is_of_condition || is_asked;
    }
  }
  prediction.low_us = prediction.time_us * std::max(0.0, 1 + low);
  prediction.high_us = prediction.time_us * (1 + high);
}

}  // namespace

std::vector<std::string> outside_calibration(const Schedule& schedule, const Machine& machine) {
  std::vector<std::string> names;
  const auto check = [&](std::string_view quantity, double value) {
    for (const CalibratedRange& range : machine.calibrated)
      if (range.quantity == quantity && (value < range.low || value > range.high) &&
          std::find(names.begin(), names.end(), quantity) == names.end())
        names.emplace_back(quantity);
  };
  const auto require_range = [&](std::string_view quantity) {  // where there is none, nobody has measured it
    const auto is_it = [&](const CalibratedRange& range) { return range.quantity == quantity; };
    if (std::none_of(machine.calibrated.begin(), machine.calibrated.end(), is_it) &&
        std::find(names.begin(), names.end(), quantity) == names.end())
      names.emplace_back(quantity);
  };
  check("gpus", schedule.gpus);
  if (std::ranges::any_of(schedule.buffers, is_packed)) require_range("weight_bits");
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
        [&](const OneOf<AllReduceNorm, GroupedGemm> auto&) { require_range(kind_of(operation.work)); },
        [&](const Attention& attention) {
          if (attention.cached) require_range("cached_attention");
        },
        [](const OneOf<PartialAttention, GroupedExchange, Copy, MemoryBound, Signal, Wait, Barrier, Delay> auto&) {});
  }
  return names;
}

namespace {

double launch_us_of(scenarios::Host host, const Latencies& latencies, int gpus) {
  switch (host) {
    case scenarios::Host::pytorch:
      return latencies.eager_launch_us;
    case scenarios::Host::cuda:
      return latencies.cuda_launch_us;
    case scenarios::Host::vllm_eager:
      return latencies.vllm_launch_us;
    case scenarios::Host::one_thread:
      break;
  }
  return gpus * latencies.thread_launch_us;
}

/// What passes between the launches of two operations of one GPU.
double eager_launch_us(const Case& asked, const Machine& machine) {
  const scenarios::Host host = asked.schedule.host;
  const double launch_us = launch_us_of(host, machine.latencies, asked.gpus);
  if (host == scenarios::Host::pytorch) return launch_us;
  if (launch_us == 0)
    throw InputError("schedule.host",
                     "expected one whose launch time " + machine.name + " says, got " + std::string(name_of(host)));
  return launch_us;
}

/// The machine in the condition, timed in the way and with the host code that is asked about; `changed` keeps a copy
/// where they are others than the machine's.
const Machine& as_asked(const Case& asked, const Machine& machine, std::optional<Machine>& changed) {
  const double launch_us = eager_launch_us(asked, machine);
  if (asked.condition.fixed_clock_MHz > machine.gpu.max_clock_MHz)
    throw InputError("condition.clock_MHz", "expected at most " + fixed(machine.gpu.max_clock_MHz, 0) +
                                                ", the highest clock of " + machine.name + ", got " +
                                                fixed(asked.condition.fixed_clock_MHz, 0));
  const bool is_usual_host = asked.schedule.host == scenarios::Host::pytorch;
  if (asked.condition == machine.condition && is_usual_host) return machine;
  changed.emplace(machine).condition = asked.condition;
  changed->latencies.eager_launch_us = launch_us;
  if (!is_usual_host) changed->latencies.eager_collective_us = 0;
  return *changed;
}

/// A schedule that leaves its collectives out does not have to wait for their bytes.
double bound_us(const Case& request, const Machine& machine) {
  Measured known = request.measured;
  if (request.schedule.collectives == Collectives::none) known.collective_us = 0;
  return scenarios::bound_us(request.workload, request.gpus, machine, known);
}

bool has_measured(const Case& asked) { return asked.measured.gemm_us || asked.measured.collective_us; }

Case serial_case(Case request) {
  request.schedule.family = scenarios::Serial{};
  request.schedule.max_ctas = 0;
  request.schedule.urgent = true;
  request.schedule.max_connections = 0;
  return request;
}

}  // namespace

std::string stratum_of(const Case& request) {
  if (is_untabled_gemm(request)) return untabled_gemm;
  const bool is_pair = std::holds_alternative<PairWorkload>(request.workload) ||
                       std::holds_alternative<scenarios::ConcurrentPair>(request.workload);
  const auto* const chunked = std::get_if<scenarios::Decomposition>(&request.schedule.family);
  if (is_pair && chunked != nullptr && chunked->chunks > most_coarse_chunks) return fine_decomposition;
  return std::string(is_pair ? family_of(request.schedule) : op_of(request.workload));
}

void require_gpus(int gpus, const Machine& machine) {
  if (gpus > machine.gpus)
    throw InputError("gpus", "expected at most " + std::to_string(machine.gpus) + ", the GPUs of " + machine.name +
                                 ", got " + std::to_string(gpus));
}

void require_machine(const Schedule& schedule, const Machine& machine) {
  require_gpus(schedule.gpus, machine);
  if (!schedule.machine.empty() && schedule.machine != machine.name)
    throw InputError("machine", "expected a schedule for " + machine.name + ", got one for " + schedule.machine);
}

Machine machine_for(const Case& asked, const Machine& on_machine, Executor& executor) {
  std::optional<Machine> changed;
  const Machine& machine = as_asked(asked, on_machine, changed);
  if (!has_measured(asked)) return machine;
  return with_given_times(
      asked, machine, [&](const Schedule& schedule, const Machine& on) { return executor.run(schedule, on).time_us; });
}

Prediction predict(const Case& asked, const Machine& on_machine, Executor& executor, const PredictionOptions& options) {
  require_gpus(asked.gpus, on_machine);
  std::optional<Machine> changed;
  const Machine& machine = as_asked(asked, on_machine, changed);
  const auto time_us = [&](const Schedule& schedule, const Machine& on) { return executor.run(schedule, on).time_us; };
  std::optional<Machine> scaled;
  if (has_measured(asked)) scaled = with_given_times(asked, machine, time_us);
  const Machine& used = scaled ? *scaled : machine;
  Settled settled = settle(asked, used, executor);
  const Case& request = settled.request;

  Prediction prediction;
  prediction.choice = request.schedule;
  prediction.schedule = std::move(settled.schedule);
  prediction.trace = std::move(settled.trace);
  const double added_us = request.condition.timing.added_us;
  prediction.time_us = prediction.serial_us = prediction.trace.time_us + added_us;
  prediction.limited_by = prediction.trace.limited_by;
  if (const Case serial = serial_case(request); options.serial && !(serial == request))
    prediction.serial_us = time_us(families::build(serial, used), used) + added_us;
  prediction.bound_us = bound_us(request, machine);
  if (const auto reason = why_not_runnable(prediction.schedule, machine)) prediction.not_runnable = reason->what();
  prediction.runnable = prediction.not_runnable.empty();
  prediction.outside_calibration = outside_calibration(prediction.schedule, machine);
  set_interval(prediction, request, machine);
  return prediction;
}

}  // namespace weft::scenarios::study
