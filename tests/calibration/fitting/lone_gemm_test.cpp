// The fit has a formula of its own for a lone GEMM, thousands of times as fast as a simulation: both say the same.
#include "calibration/fitting/lone_gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/cost/measured_gemms.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/own_kernel_of.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::fitting {
namespace lone_gemm_test {

double simulated_us(const Machine& machine, const MatrixSize& size, DataType dtype,
                    scenarios::GemmSource source = scenarios::GemmSource::library) {
  const scenarios::Case gemm{.id = "gemm",
                             .gpus = 1,
                             .workload = scenarios::GemmWorkload{size.m, size.n, size.k, dtype},
                             .schedule = {scenarios::Serial{source}},
                             .measured = {}};
  return tests::simulator().run(scenarios::families::build(gemm, machine), machine).time_us;
}

class LoneGemmOn : public testing::TestWithParam<std::string> {};

TEST_P(LoneGemmOn, TakesAsLongInTheFitAsInTheSimulator) {
  const Machine machine = read_machine(machine_path(GetParam()));
  for (const DataType dtype : {DataType::bf16, DataType::fp8}) {
    if (dtype == DataType::fp8 && machine.gpu.fp8_speedup <= 0) continue;
    for (const std::int64_t m : {16, 64, 200, 512, 1536, 4096, 10000, 16384})
      for (const std::int64_t n : {128, 1024, 3000, 8192})
        for (const std::int64_t k : {500, 2048, 8192}) {
          const MatrixSize size{m, n, k};
          EXPECT_NEAR(lone_gemm_us(machine, size, dtype) / simulated_us(machine, size, dtype), 1, 0.0125)
              << m << " x " << n << " x " << k << ", " << name_of(dtype);
        }
  }
}

TEST_P(LoneGemmOn, OfOurOwnKernelsTakesAsLongInTheFitAsInTheSimulator) {
  const Machine machine = read_machine(machine_path(GetParam()));
  for (const auto source : {scenarios::GemmSource::own_256_pairs, scenarios::GemmSource::own_128_pairs,
                            scenarios::GemmSource::own_192_grid})
    for (const std::int64_t m : {1024, 4096, 12288})
      for (const std::int64_t k : {256, 2048, 8192}) {
        const MatrixSize size{m, 8192, k};
        const GemmKernel& kernel = *scenarios::own_kernel_of(source);
        const double fitted_us = governed_gemm_us(machine, size, DataType::bf16, kernel, machine.condition.condition,
                                                  measured_factors(machine, size, kernel, DataType::bf16));
        EXPECT_NEAR(fitted_us / simulated_us(machine, size, DataType::bf16, source), 1, 0.0125)
            << m << " x 8192 x " << k << ", " << name_of(source);
      }
}

// Kernels that the profiles of the others choose are no persistent ones: the fit knows only those that it is fitted to.
INSTANTIATE_TEST_SUITE_P(Calibrated, LoneGemmOn,
                         testing::Values("h200x8-nvswitch", "h200x8-nvswitch-nvls", "h100x8-nvswitch"),
                         tests::name_of_profile);

}  // namespace lone_gemm_test
}  // namespace weft::calibration::fitting
