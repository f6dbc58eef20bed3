#include "calibration/fitting/unaligned_gemm_fit.hpp"

#include <gtest/gtest.h>

#include <map>

#include "calibration/fitting/lone_gemm.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::fitting {
namespace unaligned_gemm_fit_test {

Machine machine(double even, double odd) {
  Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  machine.gemm.even_rows_efficiency = even, machine.gemm.odd_rows_efficiency = odd;
  return machine;
}

std::vector<GemmObservation> observed(const Machine& machine, std::int64_t less_of_k) {
  std::vector<GemmObservation> observations;
  for (const std::int64_t m : {1024, 3000, 8192})
    for (const std::int64_t n : {2048, 8192})
      for (const std::int64_t k : {2048, 6144}) {
        const MatrixSize size{m, n, k - less_of_k};
        const GemmKernel kernel = choose_gemm_kernel(machine, size);
        observations.push_back({.size = size,
                                .time_us = lone_gemm(machine, size, DataType::bf16, kernel, 0.9, {}).time_us,
                                .reading = ClockReading{0.9, 0}});
      }
  return observations;
}

TEST(UnalignedGemmFit, FindsWhatEvenAndOddRowsReach) {
  const Machine truth = machine(0.3, 0.12);
  std::vector<GemmObservation> both = observed(truth, 2), odd = observed(truth, 1);
  both.insert(both.end(), odd.begin(), odd.end());
  std::map<std::string, double> found;
  for (const FittedNumber& one : fit_unaligned_gemms(machine(0, 0), both)) found[one.key] = one.value;
  EXPECT_NEAR(found["even_rows_efficiency"], 0.3, 0.005);
  EXPECT_NEAR(found["odd_rows_efficiency"], 0.12, 0.003);
}

TEST(UnalignedGemmFit, AlignedOnesTellNothing) {
  EXPECT_TRUE(fit_unaligned_gemms(machine(0, 0), observed(machine(0.3, 0.1), 0)).empty());
}

TEST(UnalignedGemmFit, OddRowsAloneAreNotTakenForEvenOnes) {
  EXPECT_TRUE(fit_unaligned_gemms(machine(0, 0), observed(machine(0.3, 0.1), 1)).empty());
}

}  // namespace unaligned_gemm_fit_test
}  // namespace weft::calibration::fitting
