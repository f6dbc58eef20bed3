#include "models/cost/measured_gemms.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/models/cost/library_answers.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace measured_gemms_test {

constexpr MatrixSize size{1000, 4096, 2048};

Machine machine() { return read_machine(tests::source_folder() + "/tests/sim/test_machine.json"); }

/// Numbers of a network that says `logarithm` of whatever it is told.
NetworkWeights always(const NetworkSize& network, double logarithm) {
  NetworkWeights weights(weight_count(network), 0);
  weights[weights.size() - network[network.size() - 2] - 1] =
      static_cast<float>(logarithm);  // the last bias, before the last weights
  return weights;
}

TileOfWave formula_of(const Machine& machine, const GemmKernel& kernel) {
  return tiles_of(machine, size, kernel, DataType::bf16, {});
}

TEST(GemmFeatures, AreWholeAndFinite) {
  const Machine one = machine();
  const GemmKernel kernel = tests::library_kernel(128, 256);
  const GemmFeatures features = gemm_features(one, size, kernel, DataType::bf16, formula_of(one, kernel));
  for (const double feature : features) EXPECT_TRUE(std::isfinite(feature));
  EXPECT_NEAR(features[0], std::log2(1000), 1e-9);
  EXPECT_EQ(features[1], 3);      // 1,000 is a multiple of 8
  EXPECT_EQ(features.back(), 1);  // both groups of warps work on such a tile
}

TEST(MeasuredFactors, AreNoneWithoutWeights) {
  const Machine one = machine();
  const GemmFactors factors = measured_factors(one, size, tests::library_kernel(128, 256), DataType::bf16);
  EXPECT_EQ(factors.time, 1);
  EXPECT_EQ(factors.energy, 1);
}

TEST(MeasuredFactors, ApplyToTilesStartAndEnd) {
  Machine one = machine();
  const GemmKernel kernel = tests::library_kernel(128, 256);
  const TileTiming before = time_tile(one, size, kernel, DataType::bf16, 0.8);
  one.gemm_networks.time = always(time_network, std::log(1.25));
  one.gemm_networks.energy = always(energy_network, std::log(0.9));
  const TileTiming after = time_tile(one, size, kernel, DataType::bf16, 0.8);
  const double factor = std::pow(1.25, 0.65);  // as much of it as holds between others
  EXPECT_NEAR(after.tile_us, factor * before.tile_us, 1e-6);
  EXPECT_NEAR(after.once_us, factor * before.once_us, 1e-6);
  EXPECT_EQ(after.l2_bytes, before.l2_bytes);
  EXPECT_NEAR(tiles_of(one, size, kernel, DataType::bf16).energy_factor(), std::pow(0.9, 0.65), 1e-6);
}

TEST(UntabledFeatures, TellOurKernelsApart) {
  const Machine one = machine();
  constexpr MatrixSize of_few_tiles{256, 512, 8192};  // which stream_k kernels cut along k
  const auto features_of = [&](const GemmKernel& kernel) {
    return untabled_features(one, of_few_tiles, kernel, tiles_of(one, of_few_tiles, kernel, DataType::bf16, {}));
  };
  for (const GemmKernel& kernel : own_kernels) {
    EXPECT_EQ(features_of(kernel)[gemm_feature_count], 1);
    for (const GemmKernel& other : own_kernels) EXPECT_EQ(features_of(kernel) == features_of(other), kernel == other);
  }
}

TEST(MeasuredFactors, HaveNetworksForTheTablesKernelsAndForOthersButNoneForFp8) {
  Machine one = machine();
  const GemmKernel own = own_kernels.front(), library = tests::library_kernel(128, 256);
  const MatrixSize unaligned{size.m, size.n + 2, size.k};
  const double own_us = time_tile(one, size, own, DataType::bf16).tile_us;
  const double unaligned_us = time_tile(one, unaligned, library, DataType::bf16).tile_us;
  const double fp8_us = time_tile(one, size, tests::library_kernel(128, 128), DataType::fp8).tile_us;
  one.gemm_networks.time = always(time_network, std::log(1.1));
  one.gemm_networks.untabled = always(untabled_network, std::log(1.25));
  EXPECT_NEAR(time_tile(one, size, own, DataType::bf16).tile_us, 1.25 * own_us, 1e-6);
  EXPECT_NEAR(time_tile(one, unaligned, library, DataType::bf16).tile_us, 1.25 * unaligned_us, 1e-6);
  EXPECT_NEAR(measured_factors(one, size, library, DataType::bf16).time, std::pow(1.1, 0.65), 1e-6);
  EXPECT_EQ(time_tile(one, size, tests::library_kernel(128, 128), DataType::fp8).tile_us, fp8_us);
  one.gemm_networks.fp8 = always(fp8_network, std::log(1.5));
  EXPECT_NEAR(time_tile(one, size, tests::library_kernel(128, 128), DataType::fp8).tile_us, 1.5 * fp8_us, 1e-6);
  EXPECT_NEAR(time_tile(one, size, own, DataType::bf16).tile_us, 1.25 * own_us, 1e-6);
}

TEST(MeasuredFactors, AreNeverFarFromTheFormula) {
  Machine one = machine();
  const GemmKernel kernel = tests::library_kernel(128, 256);
  one.gemm_networks.time = always(time_network, 5);
  one.gemm_networks.energy = always(energy_network, -5);
  const GemmFactors factors = measured_factors(one, size, kernel, DataType::bf16);
  EXPECT_NEAR(factors.time, 1.5, 1e-6);
  EXPECT_NEAR(factors.energy, 1 / 1.5, 1e-9);
  one.gemm_networks.untabled = always(untabled_network, -5);
  EXPECT_NEAR(measured_factors(one, size, own_kernels.front(), DataType::bf16).time, 1.0 / 3, 1e-9);
}

TEST(KnownGemms, AreWhatIsSaidOfEach) {
  Machine one = machine();
  one.gemm_networks.time = always(time_network, 0.1);
  KnownGemms gemms(one);
  const GemmKernel kernel = tests::library_kernel(128, 256);
  for (int time = 0; time < 2; ++time) {
    const KnownGemm known = gemms.of(size, kernel, DataType::bf16);
    EXPECT_NEAR(known.factors.time, std::exp(0.65 * 0.1), 1e-6);
    EXPECT_EQ(known.formula_us, estimated_gemm_us(one, size, kernel));
    EXPECT_EQ(gemms.of(size, kernel, DataType::fp8).factors.time, 1);
    EXPECT_EQ(gemms.of(size, own_kernels.front(), DataType::bf16).formula_us,
              estimated_gemm_us(one, size, own_kernels.front()));
  }
}

TEST(EstimatedGemm, AsksTheFormulaAlone) {
  Machine one = machine();
  const GemmKernel kernel = tests::library_kernel(128, 256);
  const double before_us = estimated_gemm_us(one, size, kernel);
  one.gemm_networks.time = always(time_network, std::log(1.25));
  EXPECT_EQ(estimated_gemm_us(one, size, kernel), before_us);
}

}  // namespace measured_gemms_test
}  // namespace weft
