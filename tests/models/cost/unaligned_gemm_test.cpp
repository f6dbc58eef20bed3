// GEMMs whose rows the tensor memory accelerator cannot load.
#include <gtest/gtest.h>

#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace unaligned_gemm_test {

class UnalignedGemm : public testing::Test {
 protected:
  UnalignedGemm() : machine(read_machine(tests::source_folder() + "/tests/sim/test_machine.json")) {
    machine.gemm.even_rows_efficiency = 0.2, machine.gemm.odd_rows_efficiency = 0.1;
  }
  double time_us(const MatrixSize& size) const {
    return estimated_gemm_us(machine, size, choose_gemm_kernel(machine, size));
  }
  Machine machine;
};

TEST(RowsOf16Bytes, AreThoseOfAAndBAndOfC) {
  EXPECT_TRUE(has_rows_of_16_bytes(1024, 8, DataType::bf16));
  EXPECT_FALSE(has_rows_of_16_bytes(1024, 1028, DataType::bf16));
  EXPECT_FALSE(has_rows_of_16_bytes(1021, 1024, DataType::bf16));
  EXPECT_TRUE(has_rows_of_16_bytes(1024, 1028, DataType::fp8));
}

TEST_F(UnalignedGemm, ALargeOneTakesWhatItsRowsLeaveOfTheTensorCores) {
  const double aligned_us = time_us({8192, 8192, 8192}), even_us = time_us({8192, 8192, 8190});
  const double odd_us = time_us({8192, 8191, 8192});
  const double flops = 2.0 * 8192 * 8192 * 8192;
  const double at_peak_us = flops / (machine.gpu.flops_per_us_of_sm(DataType::bf16) * machine.gpu.sms());
  EXPECT_GT(even_us, at_peak_us / 0.2);
  EXPECT_LT(even_us, 1.15 * at_peak_us / 0.2);
  EXPECT_NEAR(odd_us, 2 * even_us, 0.1 * odd_us);
  EXPECT_GT(even_us, 3 * aligned_us);
}

TEST_F(UnalignedGemm, RowsOfMDoNotMatter) { EXPECT_LT(time_us({8191, 8192, 8192}), 1.1 * time_us({8192, 8192, 8192})); }

TEST_F(UnalignedGemm, GetsAKernelWithoutClustersAndSlicesWhereTilesAreFew) {
  EXPECT_EQ(choose_gemm_kernel(machine, {8192, 8192, 8190}).split_k, 1);
  machine.gemm.split_k_overhead_us = 1;
  const GemmKernel kernel = choose_gemm_kernel(machine, {64, 128, 65534});
  EXPECT_GT(kernel.split_k, 4);
  EXPECT_EQ(kernel.cluster_m * kernel.cluster_n, 1);
}

TEST_F(UnalignedGemm, OddRowsAreTakenForEvenOnesWhereNobodySaysMore) {
  machine.gemm.odd_rows_efficiency = 0;
  EXPECT_EQ(time_us({4096, 4095, 4096}), time_us({4096, 4094, 4096}));
}

TEST_F(UnalignedGemm, IsAsAnyOtherWhereAProfileSaysNothing) {
  machine.gemm.even_rows_efficiency = machine.gemm.odd_rows_efficiency = 0;
  EXPECT_LT(time_us({8192, 8192, 8190}), 1.2 * time_us({8192, 8192, 8192}));
}

}  // namespace unaligned_gemm_test
}  // namespace weft
