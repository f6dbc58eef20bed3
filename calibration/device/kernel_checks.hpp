// Results of one kernel alone, of those that surround the experts of a layer and of their GEMMs.
#pragma once

#include "calibration/device/sampled_result.hpp"

namespace weft::calibration::device {

/// Op "grouped_gemm": the groups are those of the grouped GEMM that writes the result.
class GroupedGemmCheck : public SampledResult {
 public:
  GroupedGemmCheck(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources);
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  void add_reference() override;
  ErrorBound bound() const override;
  /// What is written beyond a group's end lies in the next group's first rows.
  std::vector<std::int64_t> rows_at_edges() const override;
  void add_group(std::int64_t group, std::int64_t first_row, std::int64_t rows);

  std::vector<std::int64_t> group_rows_;
  std::uint16_t *rows_scratch_ = nullptr, *weights_scratch_ = nullptr;
};

/// Ops "gather", "top_k" and "weighted_sum", computed again by the host.
class MemoryKernelCheck : public SampledResult {
 public:
  MemoryKernelCheck(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources,
                    MemoryKernel kernel)
      : SampledResult(program, meaning, ranks, resources), kernel_(kernel) {}
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  /// A row of the result; magnitudes are the sums of absolute values.
  struct Row {
    std::vector<float> sum, magnitude;
  };
  void add_reference() override;
  ErrorBound bound() const override;
  std::vector<float> input_row(BufferId id, std::int64_t row);
  Row row_again(std::int64_t row);
  Row largest(std::int64_t row);
  Row weighted_sum(std::int64_t row);

  MemoryKernel kernel_;
};

}  // namespace weft::calibration::device
