#include "calibration/fitting/gemm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "calibration/fitting/least_squares.hpp"
#include "calibration/fitting/lone_gemm.hpp"
#include "models/base/input_error.hpp"
#include "models/base/statistics.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr Number times[] = {
    {"latencies", "graph_gap", 0.2, 10},       {"gemm", "root_counter_reset", 0, 10},
    {"gemm", "kernel_overhead", 0, 10},        {"gemm", "epilogue", 0, 1e-3},
    {"gemm", "epilogue_hidden", 0, 1},         {"gemm", "cooperative_efficiency", 0.3, 1},
    {"gemm", "pingpong_efficiency", 0.3, 1},   {"gemm", "load_latency", 0.1, 10},
    {"gemm", "unaligned_load", 1, 4},          {"gemm", "split_sector_load", 1, 4},
    {"gemm", "multicast_saves", 0, 1},         {"gemm", "outside_rows_cost", 1, 20},
    {"gemm", "cluster_start", 0, 2},           {"gemm", "split_k_overhead", 0, 20},
    {"gemm", "split_k_bandwidth", 200, 40000}, {"gpu", "hbm_bandwidth", 1000, 8000},
    {"gpu", "l2_bandwidth", 2000, 40000},      {"gpu", "l2_unique_bandwidth", 1000, 40000},
};
/// Within what times alone tell, less of the tensor cores' energy and more of power.gemm are the same; joules at known
/// clocks tell them apart.
constexpr Number power_of_times[] = {{"power", "gemm", 0, 2000}};
constexpr Number powers[] = {
    {"power", "idle", 0, 400},      {"power", "gemm", 0, 2000},      {"power", "tensor_energy", 0, 10},
    {"power", "l2_energy", 0, 200}, {"power", "hbm_energy", 0, 500}, {"power", "voltage_floor", 0, 1},
};
/// Times whose clocks nobody read tell this apart from powers as little.
constexpr Number times_at_clocks[] = {{"gemm", "overhead_at_clock", 0, 1}};
constexpr Number governor[] = {{"power", "governor_delay", 0, 1000}, {"power", "governor_ramp", 0.1, 1000}};

/// What the L2 keeps, and how many more bytes it takes to lose all of it, are steps rather than slopes of the times:
/// looked for among these shares of what the profile says.
constexpr double least_kept = 0.6, most_kept = 1.6, step_of_kept = 0.01;
constexpr double lost_over_kept[] = {1.02, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.6};
constexpr Bytes step_of_l2_bytes = 100'000;
constexpr double within_95_percent = 3.84;  ///< of chi-square with one degree of freedom

constexpr int rounds = 3;  ///< the numbers decide which kernel a shape gets that the library was not asked for

/// A reading of power says less of a GEMM than its time: what GPUs of one type draw for the same work differs by some
/// percent.
constexpr double weight_of_power = 0.5;

constexpr GemmFactors by_formula;  ///< what else was measured belongs to numbers that are found first

class Fit {
 public:
  Fit(const Machine& machine, const std::vector<GemmObservation>& observations)
      : machine_(machine),
        observations_(observations),
        given_l2_bytes_(machine.gpu.l2_bytes),
        given_l2_lost_bytes_(machine.gpu.l2_lost_bytes) {
    has_load_ = std::ranges::any_of(observations, is_under_load);
    if (!has_load_) return;
    find_tensor_clock();
    find_steady_limit();
  }

  GemmFit run() {
    std::vector<Number> numbers(std::begin(times), std::end(times));
    const auto add = [&](std::span<const Number> more) { numbers.insert(numbers.end(), more.begin(), more.end()); };
    if (std::ranges::any_of(observations_, [](const GemmObservation& one) { return one.reading.has_value(); }))
      add(times_at_clocks);
    if (has_load_) {
      add(powers);
      fit(
          numbers, [&] { return cycles_and_powers(); }, true);
      if (after_pause() >= enough_to_tell) fit(governor, [&] { return times_after_pause(false); });
    } else {
      add(power_of_times);
      add(governor);
      fit(
          numbers, [&] { return times_after_pause(true); }, true);
    }
    return result();
  }

 private:
  static bool is_under_load(const GemmObservation& one) { return one.reading && one.reading->power_W > 0; }
  /// Its time after a pause is what the governor makes of it, and not of what ran before. Where kernels or clocks tell
  /// its cycles, those are all that counts of one that follows another GEMM.
  static bool tells_governor(const GemmObservation& one) {
    return one.condition == Condition::after_pause && !(one.after_gemm && (one.kernels_us || one.reading));
  }

  std::size_t after_pause() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(observations_, [](const GemmObservation& one) { return tells_governor(one); }));
  }

  void find_tensor_clock() {
    std::vector<double> shares;
    for (const GemmObservation& one : observations_)
      if (is_under_load(one) && one.time_us >= long_us && is_unlimited(one.reading->power_W, machine_.power))
        shares.push_back(std::min(1.0, one.reading->clock_share));
    if (shares.size() < enough_to_tell) return;
    machine_.power.tensor_clock = quantile(shares, 0.5);
    const double spread = (quantile(shares, 0.975) - quantile(shares, 0.025)) / 2;
    numbers_.push_back({"power", "tensor_clock", machine_.power.tensor_clock, spread, false});
  }

  /// A GEMM that is repeated alone is held at some percent more than the limit, as the energy counter reads it.
  void find_steady_limit() {
    std::vector<double> at_limit;
    for (const GemmObservation& one : observations_)
      if (is_under_load(one) && is_held(one.reading->clock_share, machine_.power))
        at_limit.push_back(one.reading->power_W);
    if (at_limit.size() < enough_to_tell) return;
    machine_.power.steady_limit_W = std::max(machine_.power.limit_W, quantile(at_limit, 0.5));
    const double spread = (quantile(at_limit, 0.975) - quantile(at_limit, 0.025)) / 2;
    numbers_.push_back({"power", "steady_limit", machine_.power.steady_limit_W, spread, false});
  }

  void choose_kernels() {
    kernels_.clear();
    for (const GemmObservation& one : observations_)
      kernels_.push_back(choose_gemm_kernel(machine_, one.size, one.dtype));
  }

  /// Takes the likeliest capacity of the L2, the other numbers as they are now. Where the observations do not
  /// speak against what was given, it stays.
  void find_l2(const std::function<std::vector<double>()>& residuals) {
    struct Kept {
      Bytes kept = 0, lost = 0;
      double cost = 0;
    };
    const auto cost_of = [&](Bytes kept, Bytes lost) {
      machine_.gpu.l2_bytes = kept, machine_.gpu.l2_lost_bytes = lost;
      double cost = 0;
      for (const double residual : residuals()) cost += soft_square(residual, usual_error);
      return Kept{kept, lost, cost};
    };
    const auto in_steps = [](double bytes) {
      return std::llround(bytes / static_cast<double>(step_of_l2_bytes)) * step_of_l2_bytes;
    };
    std::vector<Kept> all{cost_of(given_l2_bytes_, given_l2_lost_bytes_)};
    for (double share = least_kept; share < most_kept; share += step_of_kept)
      for (const double over : lost_over_kept) {
        const double kept = share * static_cast<double>(given_l2_bytes_);
        all.push_back(cost_of(in_steps(kept), in_steps(kept * over)));
      }
    const Kept best = *std::ranges::min_element(all, {}, &Kept::cost);
    machine_.gpu.l2_bytes = best.kept, machine_.gpu.l2_lost_bytes = best.lost;
    l2_numbers_.clear();
    const double variance = best.cost / static_cast<double>(residuals().size());
    const auto is_likely = [&](const Kept& one) { return one.cost - best.cost <= within_95_percent * variance; };
    if (is_likely(all.front())) {
      machine_.gpu.l2_bytes = given_l2_bytes_, machine_.gpu.l2_lost_bytes = given_l2_lost_bytes_;
      return;
    }
    const auto add = [&](const char* key, Bytes Kept::*bytes) {
      Bytes spread = 0;
      for (const Kept& one : all)
        if (is_likely(one)) spread = std::max(spread, std::abs(one.*bytes - best.*bytes));
      l2_numbers_.push_back({"gpu", key, static_cast<double>(best.*bytes), static_cast<double>(spread), false});
    };
    add("l2_capacity", &Kept::kept);
    add("l2_lost", &Kept::lost);
  }

  void fit(std::span<const Number> numbers, const std::function<std::vector<double>()>& residuals,
           bool with_l2 = false) {
    std::vector<FittedNumber> found;
    for (int round = 0; round < rounds; ++round) {
      choose_kernels();
      if (with_l2) find_l2(residuals);
      found = fit_numbers(machine_, numbers, residuals);
    }
    numbers_.insert(numbers_.end(), found.begin(), found.end());
    if (with_l2) numbers_.insert(numbers_.end(), l2_numbers_.begin(), l2_numbers_.end());
  }

  /// What was read under load, at the clocks that were read, and recorded kernels that are too short for the clock of
  /// the one iteration that they were recorded in, which nobody read, to matter.
  std::vector<double> cycles_and_powers() const {
    std::vector<double> logarithms;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const GemmObservation& one = observations_[i];
      if (one.kernels_us && *one.kernels_us < long_us)
        logarithms.push_back(std::log(at(i, machine_.power.tensor_clock).kernels_us / *one.kernels_us));
      if (!one.reading) continue;
      const LoneGemm predicted = at_its_clock(i);
      logarithms.push_back(std::log(predicted.time_us / one.time_us));
      if (!is_under_load(one)) continue;
      LoneGemm measured = predicted;
      measured.dynamic_W *= predicted.time_us / one.time_us;
      const Power& power = machine_.power;
      const double at_W =
          is_held(one.reading->clock_share, machine_.power) ? power.limit_of_steady_load_W() : one.reading->power_W;
      logarithms.push_back(weight_of_power * std::log((power.idle_W + measured.dynamic_W) / at_W));
    }
    return logarithms;
  }

  std::vector<double> times_after_pause(bool with_kernels) const {
    std::vector<double> logarithms;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const GemmObservation& one = observations_[i];
      if (one.reading && !has_load_) logarithms.push_back(std::log(at_its_clock(i).time_us / one.time_us));
      if (tells_governor(one)) logarithms.push_back(std::log(predicted_us(i) / one.time_us));
      if (with_kernels && one.kernels_us)
        logarithms.push_back(std::log(at(i, machine_.power.tensor_clock).kernels_us / *one.kernels_us));
    }
    return logarithms;
  }

  LoneGemm at(std::size_t i, double clock_share) const {
    const GemmObservation& one = observations_[i];
    return lone_gemm(machine_, one.size, one.dtype, kernels_[i], clock_share, by_formula);
  }
  LoneGemm at_its_clock(std::size_t i) const { return at(i, std::min(1.0, observations_[i].reading->clock_share)); }

  double predicted_us(std::size_t i) const {
    const GemmObservation& one = observations_[i];
    return governed_gemm_us(machine_, one.size, one.dtype, kernels_[i],
                            one.settled ? Condition::sustained : one.condition, by_formula);
  }

  GemmFit result() {
    choose_kernels();
    std::vector<double> errors;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const GemmObservation& one = observations_[i];
      if (has_load_ && !is_under_load(one)) continue;
      const double time_us = one.reading && !has_load_ ? at_its_clock(i).time_us : predicted_us(i);
      errors.push_back(std::abs(time_us / one.time_us - 1));
    }
    return {machine_, std::move(numbers_), quantile(errors, 0.5), quantile(errors, 0.9)};
  }

  Machine machine_;
  const std::vector<GemmObservation>& observations_;
  const Bytes given_l2_bytes_, given_l2_lost_bytes_;
  bool has_load_ = false;
  std::vector<GemmKernel> kernels_;
  std::vector<FittedNumber> numbers_, l2_numbers_;
};

}  // namespace

GemmFit fit_gemms(const Machine& machine, const std::vector<GemmObservation>& observations) {
  constexpr std::size_t numbers =
      std::size(times) + std::size(times_at_clocks) + std::size(powers) + std::size(governor);
  if (observations.size() <= numbers)
    throw InputError("MEASUREMENTS", "expected more than " + std::to_string(numbers) +
                                         " measured GEMMs, one for each number to fit, got " +
                                         std::to_string(observations.size()));
  return Fit(machine, observations).run();
}

}  // namespace weft::calibration::fitting
