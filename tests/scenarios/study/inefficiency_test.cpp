#include "scenarios/study/inefficiency.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/families.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::scenarios::study {
namespace inefficiency_test {

using namespace scenarios;

InefficiencyAccount& account_of_h200s() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  static InefficiencyAccount account(machine, sim::simulate);
  return account;
}

Case case_of(const PairWorkload& pair, int gpus, const Ficco& point) {
  return {.id = "a", .gpus = gpus, .workload = pair, .schedule = {point}, .measured = {}};
}

Inefficiency of(const PairWorkload& pair, int gpus, const Ficco& point) {
  return account_of_h200s().of(case_of(pair, gpus, point));
}

constexpr Ficco fused_rows{FiccoCompute::uniform, FiccoGemm::fused, FiccoChunks::rows, FiccoTransport::copy_engine};
constexpr Ficco unfused_rows{FiccoCompute::hetero, FiccoGemm::unfused, FiccoChunks::rows, FiccoTransport::copy_engine};

TEST(Inefficiency, SmallerPartsCostMore) {
  const PairWorkload pair{PairOp::all_gather_gemm, 8192, 4096, 4096};
  for (const Ficco& point : families::ficco_points(pair.op)) {
    const Inefficiency losses = of(pair, 4, point);
    EXPECT_GT(losses.gemm_dil, 0.99) << describe({point});
    EXPECT_GT(losses.transfer_dil, 0.99) << describe({point});
  }
  EXPECT_GT(of(pair, 4, unfused_rows).gemm_dil, of(pair, 4, fused_rows).gemm_dil);
}

TEST(Inefficiency, CuttingLargeOperandsCostsLittle) {
  const PairWorkload small{PairOp::all_gather_gemm, 2048, 2048, 2048},
      large{PairOp::all_gather_gemm, 32768, 8192, 8192};
  EXPECT_LT(of(large, 4, fused_rows).gemm_dil, of(small, 4, fused_rows).gemm_dil);
  EXPECT_LT(of(large, 4, fused_rows).transfer_dil, of(small, 4, fused_rows).transfer_dil);
}

// NCCL's channels hold SMs that the GEMM then lacks, where they start before it, as in graphs with memsets; copy
// engines hold none.
TEST(Inefficiency, CopyEnginesContendLessThanNccl) {
  const PairWorkload pair{PairOp::all_gather_gemm, 16384, 8192, 8192};
  Ficco nccl = fused_rows;
  nccl.transport = FiccoTransport::collective;
  const auto gemm_cil = [&](const Ficco& point) {
    Case one = case_of(pair, 4, point);
    one.schedule.implementation = Implementation::pytorch;
    return account_of_h200s().of(one).gemm_cil;
  };
  EXPECT_LT(gemm_cil(fused_rows), gemm_cil(nccl));
}

// Copies draw power too, which the GEMMs beside them then lack; links do not slow down with the clock.
TEST(Inefficiency, WhatCopiesDrawSlowsGemmsAtThePowerLimit) {
  const Case rows = case_of({PairOp::all_gather_gemm, 32768, 8192, 8192}, 4, fused_rows);
  const Contention limited = account_of_h200s().without_waits(rows);
  EXPECT_GT(limited.gemm, account_of_h200s().of(rows).gemm_cil + 0.01);
  EXPECT_NEAR(limited.transfer, 1, 0.02);
}

}  // namespace inefficiency_test
}  // namespace weft::scenarios::study
