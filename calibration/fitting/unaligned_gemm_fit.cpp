#include "calibration/fitting/unaligned_gemm_fit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "calibration/fitting/lone_gemm.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr Number of_even_rows{"gemm", "even_rows_efficiency", 0.01, 1};
constexpr Number of_odd_rows{"gemm", "odd_rows_efficiency", 0.01, 1};
constexpr double first_guess = 0.2;

void add(std::vector<FittedNumber>& found, Machine& machine, const Number& number,
         const std::vector<GemmObservation>& observations) {
  if (observations.size() < enough_to_tell) return;
  double& efficiency = number_of(machine, number.section, number.key);
  if (efficiency == 0) efficiency = first_guess;
  std::ranges::copy(fit_numbers(machine, std::span(&number, 1),
                                [&] {
                                  std::vector<double> logarithms;
                                  for (const GemmObservation& one : observations) {
                                    const GemmKernel kernel = choose_gemm_kernel(machine, one.size, one.dtype);
                                    const LoneGemm gemm =
                                        lone_gemm(machine, one.size, one.dtype, kernel, one.reading->clock_share, {});
                                    logarithms.push_back(std::log(gemm.time_us / one.time_us));
                                  }
                                  return logarithms;
                                }),
                    std::back_inserter(found));
}

}  // namespace

std::vector<FittedNumber> fit_unaligned_gemms(const Machine& given, const std::vector<GemmObservation>& observations) {
  std::vector<GemmObservation> even, odd;
  for (const GemmObservation& one : observations) {
    const bool tells = !one.own_kernel && one.reading && !has_rows_of_16_bytes(one.size.n, one.size.k, one.dtype);
    if (tells) (has_even_rows(one.size.n, one.size.k) ? even : odd).push_back(one);
  }
  Machine machine = given;
  std::vector<FittedNumber> found;
  add(found, machine, of_even_rows, even);
  if (machine.gemm.even_rows_efficiency > 0) add(found, machine, of_odd_rows, odd);
  return found;
}

}  // namespace weft::calibration::fitting
