// Results of one kernel alone, of those between the GEMMs of a layer, stored in bf16 or fp8.
#pragma once

#include "calibration/device/sampled_result.hpp"

namespace weft::calibration::device {

/// Ops "quantize", "rms_norm", "add_rms_norm" (of a + b) and "swiglu", computed again by the host.
class LayerKernelCheck : public SampledResult {
 public:
  LayerKernelCheck(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources,
                   MemoryKernel kernel)
      : SampledResult(program, meaning, ranks, resources), kernel_(kernel) {}
  static bool knows(MemoryKernel kernel);
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  void add_reference() override;
  ErrorBound bound() const override;
  Spread spread() const override;
  std::vector<float> row_again(std::int64_t row);
  std::vector<float> input_row(BufferId id, std::int64_t row);
  bool is_fp8() const { return buffer(meaning().result).dtype == DataType::fp8; }

  MemoryKernel kernel_;
};

/// Op "all_reduce_norm": the norm of the sum of all ranks' a and of the b of the rank that norms the row.
class AllReduceNormCheck : public SampledResult {
 public:
  using SampledResult::SampledResult;
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  void add_reference() override;
  ErrorBound bound() const override;
};

}  // namespace weft::calibration::device
