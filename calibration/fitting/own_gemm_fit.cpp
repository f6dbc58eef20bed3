#include "calibration/fitting/own_gemm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "calibration/fitting/lone_gemm.hpp"
#include "models/base/statistics.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/machine/machine_numbers.hpp"

namespace weft::calibration::fitting {
namespace {

/// Of times; what no observed kernel depends on stays as it is.
constexpr Number own_times[] = {{"gemm", "own_efficiency", 0.5, 2},
                                {"gemm", "own_narrow_efficiency", 0.5, 2},
                                {"gemm", "own_persistent_start", 0, 20},
                                {"gemm", "own_cluster_start", 0, 20},
                                {"gemm", "own_slice", 0, 20},
                                {"gemm", "own_grid_tile", 0, 20}};

/// By the formulas alone.
LoneGemm predicted(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  return lone_gemm(machine, one.size, one.dtype, kernel, one.reading->clock_share, {});
}

/// Above idle and as the measured time has it: the energy of an iteration is what is predicted, not its power.
double predicted_W(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  const LoneGemm gemm = predicted(machine, one, kernel);
  return gemm.dynamic_W * gemm.time_us / one.time_us;
}

/// What the library's GEMMs draw above idle over what is predicted.
std::optional<double> excess_of_library(const Machine& machine, const std::vector<GemmObservation>& library) {
  std::vector<double> ratios;
  for (const GemmObservation& one : library) {
    if (!one.reading || one.reading->power_W <= 0 || one.time_us < long_us) continue;
    ratios.push_back((one.reading->power_W - machine.power.idle_W) /
                     predicted_W(machine, one, choose_gemm_kernel(machine, one.size)));
  }
  if (ratios.size() < enough_to_tell) return std::nullopt;
  return quantile(ratios, 0.5);
}

/// `key` of the machine's GEMMs, in which energy is linear, as `gemms` tell it that draw `excess` times as much for all
/// that they do.
std::optional<FittedNumber> energy(Machine machine, const std::string& key, const std::vector<GemmObservation>& gemms,
                                   double excess) {
  std::vector<double> ratios;
  for (const GemmObservation& one : gemms) {
    if (!one.reading || one.reading->power_W <= 0 || one.time_us < long_us) continue;
    const GemmKernel kernel = one.own_kernel ? *one.own_kernel : choose_gemm_kernel(machine, one.size, one.dtype);
    const auto with = [&](double energy) {
      number_of(machine, "gemm", key) = energy;
      return predicted_W(machine, one, kernel);
    };
    const double from_hbm_W = 2 * with(1) - with(2), of_kernel_W = with(2) - with(1);
    ratios.push_back(((one.reading->power_W - machine.power.idle_W) / excess - from_hbm_W) / of_kernel_W);
  }
  if (ratios.size() < enough_to_tell) return std::nullopt;
  const double spread = 1.96 * (quantile(ratios, 0.84) - quantile(ratios, 0.16)) / 2;
  return FittedNumber{"gemm", key, quantile(ratios, 0.5), spread / std::sqrt(static_cast<double>(ratios.size())),
                      false};
}

}  // namespace

std::vector<FittedNumber> fit_own_gemms(const Machine& given, const std::vector<GemmObservation>& own,
                                        const std::vector<GemmObservation>& library) {
  if (own.size() < enough_to_tell) return {};
  Machine machine = given;
  std::vector<FittedNumber> found = fit_numbers(machine, own_times, [&] {
    std::vector<double> logarithms;
    for (const GemmObservation& one : own)
      logarithms.push_back(std::log(predicted(machine, one, *one.own_kernel).time_us / one.time_us));
    return logarithms;
  });
  const std::optional<double> excess = excess_of_library(machine, library);
  const auto drawn = excess ? energy(machine, "own_energy", own, *excess) : std::nullopt;
  if (drawn) found.push_back(*drawn);
  return found;
}

std::optional<FittedNumber> fit_fp8_energy(const Machine& machine, const std::vector<GemmObservation>& gemms) {
  std::vector<GemmObservation> of_fp8;
  std::ranges::copy_if(gemms, std::back_inserter(of_fp8),
                       [](const GemmObservation& one) { return one.dtype == DataType::fp8 && !one.own_kernel; });
  return energy(machine, "fp8_energy", of_fp8, 1);
}

}  // namespace weft::calibration::fitting
