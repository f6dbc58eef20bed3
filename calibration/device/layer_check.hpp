// Is what decoder layers computed what another schedule of the same layers computes?
#pragma once

#include "calibration/device/sampled_result.hpp"

namespace weft::calibration::device {

/// Op "transformer_layer". Both schedules begin with the same tokens, and with the same weights where they have the
/// same names. The reference holds all tokens on every rank, in their order.
class LayerCheck : public SampledResult {
 public:
  LayerCheck(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources,
             RankView& meeting, const Reference& reference)
      : SampledResult(program, meaning, ranks, resources), ranks_(meeting), reference_(reference) {}
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  void add_reference() override;
  ErrorBound bound() const override;
  void fill_weights(const Program& of) const;
  void fill_tokens(void* rows, const std::vector<std::int64_t>& tokens) const;
  void fill_state(const Program& of, const Meaning& its) const;
  std::vector<std::int64_t> own_tokens(const Meaning& its, const Buffer& residual) const;
  std::int64_t token_of(std::int64_t row) const;
  std::vector<float> reference_row(std::int64_t token) const;
  const Meaning& its() const { return *reference_.program.schedule().meaning; }

  RankView& ranks_;
  const Reference& reference_;
};

}  // namespace weft::calibration::device
