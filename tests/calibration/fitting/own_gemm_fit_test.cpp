#include "calibration/fitting/own_gemm_fit.hpp"

#include <gtest/gtest.h>

#include <map>

#include "calibration/fitting/lone_gemm.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::fitting {
namespace own_gemm_fit_test {

constexpr double clock_share = 0.8;

/// As a GPU would be read that draws `excess` times what its type does.
ClockReading reading_of(const Machine& machine, const LoneGemm& gemm, double excess) {
  return {clock_share, machine.power.idle_W + excess * gemm.dynamic_W};
}

std::vector<GemmObservation> own_gemms(const Machine& machine, double excess = 1) {
  std::vector<GemmObservation> observations;
  for (const std::int64_t m : {2048, 5000, 8192})
    for (const std::int64_t k : {2048, 6144})
      for (const GemmKernel& kernel : {own_kernels[0], own_kernels[2], own_kernels[4], own_kernels[9],
                                       own_kernel(192, 1, TileScheduler::stream_k)}) {
        const MatrixSize size{m, 8192, k};
        const LoneGemm gemm = lone_gemm(machine, size, DataType::bf16, kernel, clock_share, {});
        observations.push_back({.size = size,
                                .time_us = gemm.time_us,
                                .reading = reading_of(machine, gemm, excess),
                                .own_kernel = kernel});
      }
  return observations;
}

std::vector<GemmObservation> library_gemms(const Machine& machine, double excess = 1) {
  std::vector<GemmObservation> observations;
  for (std::int64_t m = 1024; m <= 12 * 1024; m += 1024) {
    const MatrixSize size{m, 8192, 4096};
    const LoneGemm gemm = lone_gemm(machine, size, DataType::bf16, choose_gemm_kernel(machine, size), clock_share, {});
    observations.push_back({.size = size, .time_us = gemm.time_us, .reading = reading_of(machine, gemm, excess)});
  }
  return observations;
}

std::map<std::string, double> by_key(const std::vector<FittedNumber>& numbers) {
  std::map<std::string, double> values;
  for (const FittedNumber& number : numbers) values[number.key] = number.value;
  return values;
}

class OwnGemmFit : public testing::Test {
 protected:
  OwnGemmFit() : given(read_machine(machine_path("h200x8-nvswitch"))), observed(given) {
    observed.gemm.own_efficiency = 0.9;
    observed.gemm.own_persistent_start_us = 4;
    observed.gemm.own_grid_tile_us = 1.5;
    observed.gemm.own_narrow_efficiency = 0.8;
    observed.gemm.own_cluster_start_us = 2;
    observed.gemm.own_slice_us = 5;
    observed.gemm.own_energy = 1.2;
  }
  const Machine given;
  Machine observed;
};

TEST_F(OwnGemmFit, RecoversTheKernelsThatWereObserved) {
  auto found = by_key(fit_own_gemms(given, own_gemms(observed), library_gemms(observed)));
  EXPECT_NEAR(found["own_efficiency"], 0.9, 1e-3);
  EXPECT_NEAR(found["own_persistent_start"], 4, 0.02);
  EXPECT_NEAR(found["own_grid_tile"], 1.5, 0.02);
  EXPECT_NEAR(found["own_narrow_efficiency"], 0.8, 1e-3);
  EXPECT_NEAR(found["own_cluster_start"], 2, 0.02);
  EXPECT_NEAR(found["own_slice"], 5, 0.02);
  EXPECT_NEAR(found["own_energy"], 1.2, 1e-3);
}

TEST_F(OwnGemmFit, AGpuThatDrawsMoreThanItsTypeDoesSoWithEitherKernels) {
  auto found = by_key(fit_own_gemms(given, own_gemms(observed, 1.1), library_gemms(observed, 1.1)));
  EXPECT_NEAR(found["own_energy"], 1.2, 1e-3);
}

TEST_F(OwnGemmFit, WithoutTheLibraryBesideThemTellsNoEnergy) {
  EXPECT_FALSE(by_key(fit_own_gemms(given, own_gemms(observed), {})).contains("own_energy"));
}

TEST_F(OwnGemmFit, KernelsOfOneKindTellNothingOfTheOther) {
  std::vector<GemmObservation> persistent = own_gemms(observed);
  std::erase_if(persistent, [](const auto& one) { return one.own_kernel->scheduler == TileScheduler::grid; });
  EXPECT_FALSE(by_key(fit_own_gemms(given, persistent, {})).contains("own_grid_tile"));
}

TEST_F(OwnGemmFit, AFewTellNothing) {
  std::vector<GemmObservation> few = own_gemms(observed);
  few.resize(9);
  EXPECT_TRUE(fit_own_gemms(given, few, library_gemms(observed)).empty());
}

TEST_F(OwnGemmFit, OfFp8FindsWhatTheyDraw) {
  observed.gemm.fp8_energy = 1.3;
  std::vector<GemmObservation> gemms;
  for (std::int64_t m = 1024; m <= 12 * 1024; m += 1024) {
    const MatrixSize size{m, 8192, 4096};
    const GemmKernel kernel = choose_gemm_kernel(observed, size, DataType::fp8);
    const LoneGemm gemm = lone_gemm(observed, size, DataType::fp8, kernel, clock_share, {});
    gemms.push_back(
        {.size = size, .dtype = DataType::fp8, .time_us = gemm.time_us, .reading = reading_of(observed, gemm, 1)});
  }
  ASSERT_TRUE(fit_fp8_energy(given, gemms));
  EXPECT_NEAR(fit_fp8_energy(given, gemms)->value, 1.3, 1e-6);
  EXPECT_FALSE(fit_fp8_energy(given, library_gemms(observed)));
}

}  // namespace own_gemm_fit_test
}  // namespace weft::calibration::fitting
