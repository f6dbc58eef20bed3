#include "calibration/fitting/gemm_fit.hpp"

#include <algorithm>
#include <cmath>

#include "calibration/fitting/least_squares.hpp"
#include "models/base/input_error.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/governor.hpp"
#include "models/cost/l2_reuse.hpp"
#include "models/machine/machine_numbers.hpp"

namespace weft::calibration::fitting {
namespace {

struct Number {
  const char* section;
  const char* key;
  double low, high;  ///< what is physically possible
};

// power.tensor_energy is none of them: within what GEMMs alone tell, less of it and more of power.gemm are the same.
constexpr Number numbers[] = {
    {"latencies", "graph_gap", 0.2, 10},
    {"gemm", "root_counter_reset", 0, 10},
    {"gemm", "kernel_overhead", 0, 10},
    {"gemm", "epilogue", 0, 1e-3},
    {"gemm", "cooperative_efficiency", 0.3, 1},
    {"gemm", "pingpong_efficiency", 0.3, 1},
    {"gemm", "load_latency", 0.1, 10},
    {"gemm", "unaligned_load", 1, 4},
    {"gemm", "split_k_overhead", 0, 20},
    {"gpu", "hbm_bandwidth", 1000, 8000},
    {"gpu", "l2_bandwidth", 2000, 40000},
    {"gpu", "l2_unique_bandwidth", 1000, 40000},
    {"power", "gemm", 0, 2000},
    {"power", "governor_delay", 0, 1000},
    {"power", "governor_ramp", 0.1, 1000},
};

constexpr double usual_error = 0.03;  ///< residuals well above it count as outliers
constexpr int rounds = 3;  ///< the numbers decide which kernel a shape gets that the library was not asked for

/// Bytes that a GEMM which is repeated finds no more in the L2.
double hbm_bytes(const Machine& machine, const MatrixSize& size, DataType dtype) {
  const auto operand = static_cast<double>(bytes_of(dtype)), output = static_cast<double>(bytes_of(DataType::bf16));
  const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n), k = static_cast<double>(size.k);
  const double touched = (m * k + n * k) * operand + m * n * output;
  return touched * l2_miss_share(machine.gpu, touched);
}

struct LoneGemm {
  double time_us = 0, kernels_us = 0;
};

LoneGemm lone_gemm(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                   bool settled = false) {
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const auto waves = static_cast<double>((tiles + ctas - 1) / ctas);
  const TileTiming tile = time_tile(machine, size, kernel, dtype);
  const double from_hbm = hbm_bytes(machine, size, dtype);
  const double stream_us = from_hbm / bytes_per_us(machine.gpu.hbm_GBps);
  const bool is_dynamic = kernel.scheduler == TileScheduler::dynamic_persistent;
  const double kernels_us = (is_dynamic ? machine.gemm.root_counter_reset_us : 0) + tile.once_us +
                            std::max(waves * tile.tile_us, stream_us) + split_k_reduction_us(machine, size, kernel);
  const double time_us = machine.latencies.graph_gap_us + kernels_us;
  const Power& power = machine.power;
  const double tensor_pJ = power.tensor_pJ_per_flop * size.flops() / machine.gpu.speedup(dtype);
  const double energy_uJ =
      power.gemm_W * busy_us(machine.gpu, tiles, tile) + (tensor_pJ + power.hbm_pJ_per_byte * from_hbm) * 1e-6;
  const double throttled_us = std::max(time_us, energy_uJ / (power.limit_W - power.idle_W));
  const double share = settled ? 1 : throttled_share(power, time_us);
  return {.time_us = time_us + share * (throttled_us - time_us), .kernels_us = kernels_us};
}

class Fit {
 public:
  Fit(const Machine& machine, const std::vector<GemmObservation>& observations)
      : machine_(machine), observations_(observations) {
    for (const Number& number : numbers) fitted_.push_back(&number_of(machine_, number.section, number.key));
  }
  Fit(const Fit&) = delete;  // `fitted_` points into `machine_`

  GemmFit run() {
    std::vector<FittedParameter> estimates;
    for (int round = 0; round < rounds; ++round) {
      choose_kernels();
      std::vector<Parameter> parameters;
      for (std::size_t i = 0; i < std::size(numbers); ++i)
        parameters.push_back({*fitted_[i], numbers[i].low, numbers[i].high});
      estimates = fit_least_squares([this](const std::vector<double>& values) { return residuals(values); }, parameters,
                                    usual_error);
      for (std::size_t i = 0; i < estimates.size(); ++i) *fitted_[i] = estimates[i].value;
    }
    return result(estimates);
  }

 private:
  void choose_kernels() {
    kernels_.clear();
    for (const GemmObservation& one : observations_) kernels_.push_back(choose_gemm_kernel(machine_, one.size));
  }

  std::vector<double> residuals(const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) *fitted_[i] = values[i];
    std::vector<double> logarithms;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const GemmObservation& one = observations_[i];
      const LoneGemm predicted = lone_gemm(machine_, one.size, one.dtype, kernels_[i], one.settled);
      if (!one.after_gemm || !one.kernels_us) logarithms.push_back(std::log(predicted.time_us / one.time_us));
      if (one.kernels_us) logarithms.push_back(std::log(predicted.kernels_us / *one.kernels_us));
    }
    return logarithms;
  }

  GemmFit result(const std::vector<FittedParameter>& estimates) const {
    GemmFit fit{machine_, {}, 0, 0};
    for (std::size_t i = 0; i < estimates.size(); ++i)
      if (estimates[i].is_determined)
        fit.numbers.push_back({numbers[i].section, numbers[i].key, estimates[i].value, estimates[i].half_width,
                               estimates[i].is_at_bound});
    std::vector<double> errors;
    for (const GemmObservation& one : observations_)
      errors.push_back(std::abs(lone_gemm_us(machine_, one.size, one.dtype) / one.time_us - 1));
    std::sort(errors.begin(), errors.end());
    fit.median_error = errors[errors.size() / 2];
    fit.p90_error = errors[errors.size() * 9 / 10];
    return fit;
  }

  Machine machine_;
  std::vector<double*> fitted_;  ///< numbers of `machine_`
  const std::vector<GemmObservation>& observations_;
  std::vector<GemmKernel> kernels_;
};

}  // namespace

double lone_gemm_us(const Machine& machine, const MatrixSize& size, DataType dtype) {
  return lone_gemm(machine, size, dtype, choose_gemm_kernel(machine, size)).time_us;
}

GemmFit fit_gemms(const Machine& machine, const std::vector<GemmObservation>& observations) {
  if (observations.size() <= std::size(numbers))
    throw InputError("MEASUREMENTS", "expected more than " + std::to_string(std::size(numbers)) +
                                         " measured GEMMs, one for each number to fit, got " +
                                         std::to_string(observations.size()));
  return Fit(machine, observations).run();
}

}  // namespace weft::calibration::fitting
