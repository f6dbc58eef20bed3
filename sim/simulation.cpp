#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/governor.hpp"
#include "models/execution/timing_protocol.hpp"
#include "sim/energy.hpp"
#include "sim/observer.hpp"
#include "sim/stream_timing.hpp"

namespace weft::sim {
namespace {

constexpr int most_iterations = 12;
constexpr int iterations_of_meeting_ranks = 5;
constexpr int iterations_of_racing_ranks = 16;  // of which the first quarter, while the host gets ahead, does not count
constexpr int most_operations_adrift = 4000;    // of all ranks and iterations, after a pause: 0.2 to 0.5 ms to simulate
constexpr int operations_adrift_under_load = 960;    // likewise
constexpr int iterations_of_copies_under_load = 80;  // where ranks only copy: within 3 % of the mean of thousands
constexpr double steady_to = 1e-3;                   // of an iteration's time
constexpr double worth_naming = 0.05;                // of it: launches that take no more are not what limits it

/// Measured on three and four H200s: pulls from all peers that take 10 to 21 us stay in step under load, those of 31 us
/// and more do not (calibration/measurements/pulls-2026-11-27).
constexpr double longest_in_step_us = 25;

std::vector<OperationCost> costs_of(const Schedule& schedule, const Machine& machine,
                                    const SimulationOptions& options) {
  std::vector<OperationCost> costs = operation_costs(schedule, machine, options.mechanisms.l2_reuse);
  for (std::size_t id = 0; id < options.given_us.size(); ++id) costs[id].given_us = options.given_us[id];
  return costs;
}

}  // namespace

Simulation::Simulation(const Schedule& schedule, const Machine& machine, const SimulationOptions& options)
    : schedule_(schedule),
      machine_(machine),
      options_(options),
      order_(schedule, timing_of(schedule, machine, options.mechanisms)),
      ranks_(ranks_are_alike(schedule) && !order_.ranks_race() ? 1 : schedule.gpus),
      regime_(regime_of(order_, ranks_)),
      costs_(costs_of(schedule, machine, options)),
      are_only_copies_(regime_ == Regime::adrift && CopyChains::are_all(order_, costs_)),
      energy_(schedule, machine, costs_),
      device_(engine_, machine, schedule, costs_, ranks_, options.mechanisms),
      run_(engine_, device_, order_, ranks_) {
  if (!options.spans) device_.leave_out_details();
}

void Simulation::leave_out_statistics() {
  device_.leave_out_peak_load();
  if (are_only_copies_) chains_.emplace(order_, device_, ranks_);
}

double Simulation::tensor_clock_share(double clock_share) const {
  return std::min(clock_share, machine_.power.tensor_clock);
}

/// The mean is that by which the governor goes, where it is highest.
GovernedPower Simulation::governed_power(const Attempt& last, const PowerChanges& changes) const {
  const Power& power = machine_.power;
  const double memory_us = governor_memory_us(power);
  GovernedPower governed{
      .idle_W = power.idle_W,
      .mean_W = last.power_W * (memory_us > 0 ? highest_over_mean(changes, power.idle_W, memory_us) : 1),
      .limit_W = is_steady_load(schedule_) ? power.limit_of_steady_load_W() : power.limit_W,
      .peak_limit_W = power.peak_limit_W};
  if (governed.peak_limit_W > 0) governed.peak_W = peak_W(changes, power.idle_W);
  return governed;
}

std::vector<PowerSpan> Simulation::power_spans(const Attempt& last) {
  return spans_of(last, 0, run_.begin_of(0, last.iterations - 1));
}

double Simulation::clock_share_between(double clock_share) const {
  const bool uses_tensor_cores = energy_.uses_tensor_cores();
  const bool is_governed = !machine_.condition.holds_clock() && (uses_tensor_cores || machine_.condition.is_of_mix);
  if (!is_governed) return clock_share;
  const double at_work = tensor_clock_share(clock_share);
  if (uses_tensor_cores && is_steady_load(schedule_)) return at_work;
  return std::max(at_work, std::min(machine_.power.clock_between, machine_.power.clock_rise * at_work));
}

double Simulation::mean_clock_share(const Attempt& last) {
  double at_work = tensor_clock_share(last.clock_share);
  if (!last.clock_shares.empty()) {
    double time_us = 0, cycles = 0;
    for (OperationId id = 0; id < static_cast<OperationId>(costs_.size()); ++id) {
      if (!energy_.is_on_tensor_cores(id)) continue;
      const PowerSpan span = span_of(id, last, 0, 0);
      time_us += span.end_us - span.start_us;
      cycles += (span.end_us - span.start_us) * last.clock_shares[static_cast<std::size_t>(id)];
    }
    if (time_us > 0) at_work = cycles / time_us;
  }
  return std::lerp(clock_share_between(last.clock_share), at_work, tensor_time_us(last) / last.time_us);
}

/// Of a rank in the last iteration, which it begins at 0.
PowerSpan Simulation::span_of(OperationId id, const Attempt& last, int rank, double energy_uJ) {
  const int iteration = last.iterations - 1;
  const Activity& activity = run_.activity(rank, iteration, id);
  const Picoseconds begin = run_.begin_of(rank, iteration);
  return {to_us(activity.first_cta_started.time() - begin), to_us(activity.end.time() - begin), energy_uJ,
          energy_.is_on_tensor_cores(id)};
}

/// How long tensor cores are at work in an iteration, however many operations use them at once.
double Simulation::tensor_time_us(const Attempt& last) {
  std::vector<PowerSpan> spans;
  for (OperationId id = 0; id < static_cast<OperationId>(costs_.size()); ++id)
    if (energy_.is_on_tensor_cores(id)) spans.push_back(span_of(id, last, 0, 0));
  std::ranges::sort(spans, {}, &PowerSpan::start_us);
  double time_us = 0, until_us = 0;
  for (const PowerSpan& span : spans) {
    time_us += std::max(0.0, span.end_us - std::max(span.start_us, until_us));
    until_us = std::max(until_us, span.end_us);
  }
  return std::min(time_us, last.time_us);
}

Attempt Simulation::run(double clock_share) {
  clock_shares_.clear();
  return run_at(clock_share);
}

/// What is on no tensor cores has the highest clock of those that are.
Attempt Simulation::run_each_at(std::vector<double> clock_shares) {
  double highest = 0;
  for (OperationId id = 0; id < static_cast<OperationId>(costs_.size()); ++id)
    if (energy_.is_on_tensor_cores(id)) highest = std::max(highest, clock_shares[static_cast<std::size_t>(id)]);
  clock_shares_ = std::move(clock_shares);
  return run_at(highest);
}

Attempt Simulation::run_at(double clock_share) {
  switch (regime_) {
    case Regime::racing:
      return run_race(clock_share);
    case Regime::from_rest:
      return run_iterations(1, clock_share);
    case Regime::adrift:
      return run_adrift(clock_share);
    case Regime::meeting:
      return run_iterations(iterations_of_meeting_ranks, clock_share, 1);
    case Regime::host_driven:
      break;
  }
  if (order_.ranks_race())
    return run_iterations(iterations_of_racing_ranks, clock_share, iterations_of_racing_ranks / 4);
  return run_until_steady(clock_share);
}

/// One iteration with each outcome, the usual one last, and their mean by how often each comes.
Attempt Simulation::run_race(double clock_share) {
  const double share = std::max(order_.timing().starts_first, 1 - order_.timing().starts_first);
  if (share == 1) return run_iterations(1, clock_share);
  simulate(2, clock_share);
  double time_us = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    time_us = std::max(time_us, std::lerp(period_us(rank, 0, 0), period_us(rank, 1, 1), share));
  return attempt_of(2, clock_share, time_us);
}

/// After a pause ranks begin in step, and the mean of a timed run's iterations counts, or of the later half where it
/// has more than are simulated. Under load they have long lost step when time is taken, unless iterations are very
/// short: they begin scattered over one, and the first quarter of them, in which they find places, does not count. (In
/// step pulls never meet at a source, and it takes thousands of iterations until they do as often as they will.)
Attempt Simulation::run_adrift(double clock_share) {
  run_.scatter(0);
  const double once_us = run_iterations(1, clock_share).time_us;
  const int operations = ranks_ * static_cast<int>(schedule_.operations.size());
  const bool loses_step = machine_.condition.condition == Condition::sustained &&
                          machine_.latencies.start_skew_us > 0 && once_us > longest_in_step_us;
  if (loses_step) {
    const int least = are_only_copies_ ? iterations_of_copies_under_load : most_iterations;
    const int iterations = std::max(least, operations_adrift_under_load / operations);
    run_.scatter(once_us);
    simulate(iterations, clock_share);
    return attempt_of(iterations, clock_share, drifting_period_us(iterations - 1, iterations / 4));
  }
  const int most = std::max(most_iterations, most_operations_adrift / operations);
  const int launches = launches_for(run_ms * 1e3, once_us);
  const int iterations = std::min(launches, most);
  return run_iterations(iterations, clock_share, launches > iterations ? iterations / 2 : 0);
}

/// In the end ranks that do the same take as long, and their mean is nearer to that than the slowest: by 1 to 3 % in so
/// few iterations.
double Simulation::drifting_period_us(int last, int from) const {
  double slowest_us = 0, sum_us = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const double of_rank_us = period_us(rank, last, from);
    slowest_us = std::max(slowest_us, of_rank_us);
    sum_us += of_rank_us;
  }
  return ranks_do_the_same(schedule_, machine_.fabric.kind) ? sum_us / ranks_ : slowest_us;
}

Attempt Simulation::run_until_steady(double clock_share) {
  for (int iterations = 3;; iterations *= 2) {
    const Attempt attempt = run_iterations(std::min(iterations, most_iterations), clock_share);
    if (attempt.is_steady || iterations >= most_iterations) return attempt;
  }
}

void Simulation::simulate(int iterations, double clock_share) {
  if (chains_) {
    run_.prepare(iterations);
    if (chains_->tell(run_, iterations)) return;
  }
  engine_.restart();
  device_.restart(
      {.at_work = clock_share, .between = clock_share_between(clock_share), .of_operations = clock_shares_});
  run_.prepare(iterations);
  run_.run();
}

/// The time is that of the last iteration, or the mean since iteration `mean_from` where one is named.
Attempt Simulation::run_iterations(int iterations, double clock_share, int mean_from) {
  simulate(iterations, clock_share);
  const int last = iterations - 1;
  double time_us = 0, before_us = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    time_us = std::max(time_us, period_us(rank, last, mean_from >= 0 ? mean_from : last));
    if (iterations > 1) before_us = std::max(before_us, period_us(rank, last - 1, last - 1));
  }
  Attempt attempt = attempt_of(iterations, clock_share, time_us);
  attempt.is_steady = iterations == 1 || std::abs(before_us - time_us) <= steady_to * time_us;
  return attempt;
}

/// Whose iterations take so long on GPUs that the host does not hold up.
Attempt Simulation::attempt_of(int iterations, double clock_share, double time_us) const {
  const double launched_us = time_us + exposed_launch_us(time_us), floor_us = repetition_floor_us();
  Attempt attempt{.time_us = std::max(launched_us, floor_us),
                  .clock_share = clock_share,
                  .clock_shares = clock_shares_,
                  .iterations = iterations};
  attempt.is_launch_bound = launched_us * (1 + worth_naming) < floor_us;
  const double energy_uJ =
      clock_shares_.empty() ? energy_.total_uJ(tensor_clock_share(clock_share)) : energy_.total_uJ(clock_shares_);
  attempt.power_W = machine_.power.idle_W + energy_uJ / attempt.time_us;
  return attempt;
}

std::vector<EnergyAtClock> Simulation::energies(const Attempt& last) const {
  return last.clock_shares.empty() ? energy_.of_each(tensor_clock_share(last.clock_share))
                                   : energy_.of_each(last.clock_shares);
}

Sketch Simulation::sketch() const {
  return one_after_the_other(order_, costs_, energy_, machine_, tensor_clock_share(1), repetition_floor_us());
}

/// From the beginning of one iteration to that of the one after another, for each between them.
double Simulation::period_us(int rank, int iteration, int from) const {
  return to_us(run_.end_of(rank, iteration) + order_.timing().iteration_gap - run_.begin_of(rank, from)) /
         (iteration - from + 1);
}

/// A graph does not repeat faster than with one of its collectives alone, and among many ranks than their hosts launch
/// it.
double Simulation::repetition_floor_us() const {
  if (schedule_.launch != Launch::graph || !options_.mechanisms.gaps) return 0;
  const bool is_launched_by_many = machine_.condition.condition == Condition::sustained && schedule_.gpus > 2 &&
                                   schedule_.operations.size() > 1 && has_library_collectives(schedule_);
  double floor_us = is_launched_by_many ? machine_.latencies.many_ranks_graph_us : 0;
  for (const OperationCost& cost : costs_) floor_us = std::max(floor_us, cost.collective.alone_us);
  return floor_us;
}

/// What the host needs to launch a graph with collectives beside other operations, where the iteration is too short
/// to hide it. Under load the host is far ahead.
double Simulation::exposed_launch_us(double time_us) const {
  if (machine_.condition.condition == Condition::sustained || schedule_.launch != Launch::graph ||
      !options_.mechanisms.gaps || schedule_.operations.size() < 2 || !has_library_collectives(schedule_))
    return 0;
  const Latencies& latencies = machine_.latencies;
  return std::clamp(latencies.short_graph_us - time_us, 0.0, latencies.short_graph_gap_us);
}

Trace Simulation::trace(const Attempt& last) {
  Trace trace = trace_of(run_, schedule_, ranks_, last.iterations - 1, options_.spans);
  if (last.is_launch_bound) trace.limited_by = Limit::launch;
  trace.machine = machine_.name;
  trace.time_us = last.time_us / schedule_.repeats_per_iteration;
  trace.clock_MHz = machine_.gpu.max_clock_MHz * mean_clock_share(last);
  trace.power_W = last.power_W;
  return trace;
}

std::vector<Track> Simulation::tracks(const Attempt& last) {
  Observer observer(engine_, device_, machine_, schedule_.gpus, ranks_);
  engine_.watch(waiter_for<&Observer::look>(&observer));
  chains_.reset();
  clock_shares_ = last.clock_shares;
  run_iterations(last.iterations, last.clock_share);
  engine_.watch({});
  const int iteration = last.iterations - 1;
  Picoseconds begin = run_.begin_of(0, iteration), end = run_.end_of(0, iteration);
  for (int rank = 1; rank < ranks_; ++rank) {
    begin = std::min(begin, run_.begin_of(rank, iteration));
    end = std::max(end, run_.end_of(rank, iteration));
  }
  std::vector<Track> tracks;
  for (int gpu = 0; gpu < schedule_.gpus; ++gpu) {
    const int rank = ranks_ == 1 ? 0 : gpu;  // equal ranks are simulated once and shown for each GPU
    std::vector<Track> of_gpu = observer.tracks(rank, begin, end);
    of_gpu.push_back(power_track(spans_of(last, rank, begin), machine_.power));
    for (Track& track : of_gpu) {
      track.gpu = gpu;
      tracks.push_back(std::move(track));
    }
  }
  return tracks;
}

std::vector<PowerSpan> Simulation::spans_of(const Attempt& last, int rank, Picoseconds origin) {
  const double late_us = to_us(run_.begin_of(rank, last.iterations - 1) - origin);
  const std::vector<EnergyAtClock> each = energies(last);
  std::vector<PowerSpan> spans;
  spans.reserve(costs_.size());
  for (OperationId id = 0; id < static_cast<OperationId>(costs_.size()); ++id) {
    PowerSpan span = span_of(id, last, rank, each[static_cast<std::size_t>(id)].total_uJ);
    span.start_us += late_us;
    span.end_us += late_us;
    spans.push_back(span);
  }
  return spans;
}

SimulationStatistics Simulation::statistics(const Attempt& last) const {
  return {.events = engine_.events(),
          .plans = device_.pool().plans(),
          .peak_load = device_.pool().peak_load(),
          .iterations = last.iterations,
          .ranks = ranks_,
          .clock_share = last.clock_share};
}

}  // namespace weft::sim
