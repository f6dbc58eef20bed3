#include "calibration/fitting/measured_gemm_weights.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "calibration/fitting/lone_gemm.hpp"
#include "calibration/fitting/small_network.hpp"
#include "models/base/statistics.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/measured_gemms.hpp"
#include "models/cost/network_output.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr std::size_t fewest_gemms = 1000, one_aside_of = 10;
constexpr double usual_distance_of_time = 0.02, usual_distance_of_power = 0.03;

LoneGemm predicted(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  return lone_gemm(machine, one.size, one.dtype, kernel, std::min(1.0, one.reading->clock_share));
}

std::vector<float> told_of(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  const TileOfWave tile = tiles_of(machine, one.size, kernel, one.dtype, {});
  const auto numbers = [](const auto& features) { return std::vector<float>(features.begin(), features.end()); };
  const bool has_more = one.dtype == DataType::bf16 && is_untabled(one.size, kernel, one.dtype);
  if (has_more) return numbers(untabled_features(machine, one.size, kernel, tile));
  return numbers(gemm_features(machine, one.size, kernel, one.dtype, tile));
}

/// `machine` predicts by the formula alone what is to be explained.
Amount time_of(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  const LoneGemm gemm = predicted(machine, one, kernel);
  return {told_of(machine, one, kernel), static_cast<float>(std::log(one.time_us / gemm.time_us)),
          static_cast<float>(gemm.of_tiles)};
}

Amount power_of(const Machine& machine, const GemmObservation& one, const GemmKernel& kernel) {
  const LoneGemm gemm = predicted(machine, one, kernel);
  const double idle_uJ = machine.power.idle_W * one.time_us, dynamic_uJ = gemm.dynamic_W * gemm.time_us;
  return {told_of(machine, one, kernel),
          static_cast<float>(std::log(one.reading->power_W * one.time_us / (idle_uJ + dynamic_uJ))),
          static_cast<float>(gemm.switching_W * gemm.time_us / (idle_uJ + dynamic_uJ))};
}

void take_medians_off(std::vector<Amount>& amounts, const std::vector<GemmObservation>& observations) {
  std::map<std::string, std::vector<double>> of_run;
  for (std::size_t i = 0; i < amounts.size(); ++i) of_run[observations[i].run].push_back(amounts[i].found);
  for (std::size_t i = 0; i < amounts.size(); ++i)
    amounts[i].found -= static_cast<float>(quantile(of_run.at(observations[i].run), 0.5));
}

/// What a network with these numbers leaves of what was found, on average; one without numbers leaves all.
template <const NetworkSize& network>
double mean_left(const NetworkWeights& weights, const std::vector<Amount>& amounts) {
  double sum = 0;
  for (const Amount& one : amounts) {
    std::array<double, network.front()> features;
    std::ranges::copy(one.features, features.begin());
    sum += std::abs(std::expm1(one.share * network_output<network>(weights, features) - one.found));
  }
  return sum / static_cast<double>(amounts.size());
}

template <const NetworkSize& network>
MeasuredGemmWeights learn(std::vector<Amount> amounts, double usual_distance, const NetworkWeights& before) {
  std::vector<Amount> learned, aside;
  for (std::size_t i = 0; i < amounts.size(); ++i)
    (i % one_aside_of == 0 ? aside : learned).push_back(std::move(amounts[i]));
  if (learned.size() < (before.empty() ? fewest_gemms : fewest_further_gemms)) return {.weights = before};
  const NetworkWeights weights = learn_amounts(network, std::move(learned), usual_distance, before);
  return {weights, mean_left<network>(weights, aside), mean_left<network>({}, aside), aside.size()};
}

std::vector<Amount> amounts_of(const Machine& machine, const std::vector<GemmObservation>& observations,
                               Amount (*amount_of)(const Machine&, const GemmObservation&, const GemmKernel&)) {
  std::vector<Amount> amounts(observations.size());
  tbb::parallel_for(std::size_t{0}, amounts.size(), [&](std::size_t i) {
    const GemmObservation& one = observations[i];
    amounts[i] =
        amount_of(machine, one, one.own_kernel ? *one.own_kernel : choose_gemm_kernel(machine, one.size, one.dtype));
  });
  return amounts;
}

/// Whatever library's kernel a shape gets, its type and its rows say whether a table has it.
bool is_untabled(const GemmObservation& one) {
  return weft::is_untabled(one.size, one.own_kernel.value_or(GemmKernel{}), one.dtype);
}

std::vector<GemmObservation> those_of(const std::vector<GemmObservation>& observations, DataType dtype, bool untabled) {
  std::vector<GemmObservation> found;
  std::ranges::copy_if(observations, std::back_inserter(found), [&](const GemmObservation& one) {
    return one.dtype == dtype && one.reading && is_untabled(one) == untabled;
  });
  return found;
}

template <const NetworkSize& network>
MeasuredGemmWeights learn_times(const Machine& machine, NetworkWeights MeasuredGemmNetworks::*weights,
                                const std::vector<GemmObservation>& observations) {
  Machine formula = machine;
  (formula.gemm_networks.*weights).clear();
  return learn<network>(amounts_of(formula, observations, time_of), usual_distance_of_time,
                        machine.gemm_networks.*weights);
}

}  // namespace

MeasuredGemmWeights fit_time_weights(const Machine& machine, const std::vector<GemmObservation>& observations) {
  return learn_times<time_network>(machine, &MeasuredGemmNetworks::time, those_of(observations, DataType::bf16, false));
}

MeasuredGemmWeights fit_untabled_weights(const Machine& machine, const std::vector<GemmObservation>& observations) {
  return learn_times<untabled_network>(machine, &MeasuredGemmNetworks::untabled,
                                       those_of(observations, DataType::bf16, true));
}

MeasuredGemmWeights fit_fp8_weights(const Machine& machine, const std::vector<GemmObservation>& observations) {
  return learn_times<fp8_network>(machine, &MeasuredGemmNetworks::fp8, those_of(observations, DataType::fp8, true));
}

MeasuredGemmWeights fit_energy_weights(const Machine& machine, const std::vector<GemmObservation>& observations) {
  Machine formula = machine;
  formula.gemm_networks.energy.clear();
  std::vector<GemmObservation> under_load = those_of(observations, DataType::bf16, false);
  std::erase_if(under_load, [](const GemmObservation& one) { return one.reading->power_W <= 0; });
  std::vector<Amount> amounts = amounts_of(formula, under_load, power_of);
  take_medians_off(amounts, under_load);
  return learn<energy_network>(std::move(amounts), usual_distance_of_power, machine.gemm_networks.energy);
}

}  // namespace weft::calibration::fitting
