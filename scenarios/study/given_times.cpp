#include "scenarios/study/given_times.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/cost/collective_model.hpp"
#include "scenarios/bound.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/parts.hpp"

namespace weft::scenarios::study {
namespace {

/// A measured GEMM is met within this share, in a few steps: not all that a kernel does is scaled.
constexpr double scaling_agreement = 2e-3, least_scale = 0.01;
constexpr int most_scaling_steps = 5;

/// Collectives alone differ by that much from those in a schedule and from one session to the next: how fast graphs are
/// launched and how far ranks are apart. No more than what exceeds it says something of the links.
constexpr double launch_allowance_us = 10, least_time_share = 0.1;

/// A profile's rates may be a little off, but nothing takes less than that share of its bound.
constexpr double least_bound_share = 0.9;

void require_possible(const std::string& key, double given_us, const Workload& part, int gpus, const Machine& machine) {
  const double least_us = least_bound_share * bound_us(part, gpus, machine, {});
  if (given_us < least_us && std::isfinite(least_us))  // of what the machine has at all
    throw InputError("measured." + key, "expected at least " + fixed(least_us, 3) + " us, which " + machine.name +
                                            " needs for it, got " + shown_name(fixed(given_us, 6)));
}

/// Every GEMM takes `factor` times as long, at the same power.
void slow_down_gemms(Machine& machine, double factor) {
  GemmTiming& gemm = machine.gemm;
  gemm.cooperative_efficiency /= factor;
  gemm.pingpong_efficiency /= factor;
  gemm.even_rows_efficiency /= factor;
  gemm.odd_rows_efficiency /= factor;
  gemm.load_latency_us *= factor;
  gemm.epilogue_us_per_element *= factor;
  gemm.kernel_overhead_us *= factor;
  gemm.split_k_overhead_us *= factor;
  machine.power.tensor_pJ_per_flop *= factor;
  machine.gpu.l2_GBps /= factor;
  machine.gpu.l2_unique_GBps /= factor;
  machine.gpu.hbm_GBps /= std::min(1.0, factor);
}

void meet_gemm_time(Machine& machine, double measured_us, const std::function<double(const Machine&)>& simulated_us) {
  const double gap_us = machine.latencies.graph_gap_us;
  for (int step = 0; step < most_scaling_steps; ++step) {
    const double time_us = simulated_us(machine);
    if (std::abs(measured_us / time_us - 1) < scaling_agreement) return;
    slow_down_gemms(machine, std::max(least_scale, (measured_us - gap_us) / (time_us - gap_us)));
  }
}

/// What the profile's protocols say, at each doubling of the size: a curve, whose times can be shifted.
CollectiveCurve curve_of_protocols(const Machine& machine, CollectiveKind kind, int gpus) {
  constexpr Bytes smallest = 1 << 10, largest = Bytes{1} << 34;
  CollectiveCurve curve{.kind = kind, .gpus = gpus};
  for (Bytes bytes = smallest; bytes <= largest; bytes *= 2) {
    const CollectiveTiming timing = time_collective(machine, kind, gpus, bytes, 0);
    curve.points.push_back({bytes, timing.latency_us + timing.transfer_us, timing.alone_us, timing.ctas});
    curve.ctas = timing.ctas;
    curve.cluster = timing.cluster;
  }
  return curve;
}

/// The difference goes with the bytes: a chunk gets its share of it.
void shift_collective_time(Machine& machine, const scenarios::CollectiveWorkload& collective, int gpus,
                           double measured_us, double simulated_us) {
  const double difference_us = measured_us - simulated_us;
  const double shift_us = std::copysign(std::max(0.0, std::abs(difference_us) - launch_allowance_us), difference_us);
  if (shift_us == 0) return;
  if (!machine.collective_protocols.empty() && !has_curve(machine.collectives, collective.kind, gpus))
    machine.collectives.push_back(curve_of_protocols(machine, collective.kind, gpus));
  for (CollectiveCurve& curve : machine.collectives)
    for (CurvePoint& point : curve.points) {
      const double share = static_cast<double>(point.bytes) / static_cast<double>(collective.bytes);
      for (double* time_us : {&point.kernel_us, &point.alone_us})
        *time_us = std::max(least_time_share * *time_us, *time_us + share * shift_us);
    }
  machine.fabric = scaled(machine.fabric, std::max(1.0, simulated_us / (simulated_us + shift_us)));
}

}  // namespace

Machine with_given_times(const scenarios::Case& request, const Machine& machine, const TimeOfSchedule& time_us) {
  Machine scaled = machine;
  const auto parts = scenarios::parts_of(request.workload);
  if (!parts) return scaled;
  const auto alone_us = [&](const scenarios::Workload& part, const Machine& on) {
    return time_us(families::build({"", request.gpus, part, {{}, 0, request.schedule.launch}, {}}, on), on);
  };
  if (const auto& gemm_us = request.measured.gemm_us)
    require_possible("gemm_us", *gemm_us, parts->gemm, request.gpus, machine);
  if (const auto& collective_us = request.measured.collective_us)
    require_possible("collective_us", *collective_us, parts->collective, request.gpus, machine);
  if (request.measured.gemm_us)
    meet_gemm_time(scaled, *request.measured.gemm_us, [&](const Machine& on) { return alone_us(parts->gemm, on); });
  if (request.measured.collective_us)
    shift_collective_time(scaled, parts->collective, request.gpus, *request.measured.collective_us,
                          alone_us(parts->collective, machine));
  return scaled;
}

}  // namespace weft::scenarios::study
