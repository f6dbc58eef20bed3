// Distributed attention against plain attention over the whole sequence.
#pragma once

#include "calibration/device/attention_reference.hpp"
#include "calibration/device/sampled_result.hpp"

namespace weft::calibration::device {

class AttentionCheck : public SampledResult {
 public:
  /// `meaning` is that of distributed attention.
  using SampledResult::SampledResult;
  bool is_consistent() const override;
  void fill_inputs() const override;

 private:
  void add_reference() override;
  ErrorBound bound() const override;
  const AttentionShape& shape() const { return *meaning().attention; }
  ReferenceShard shard(int of) const { return {shape(), meaning().m, ranks(), of}; }
  const void* sampled_queries();
};

}  // namespace weft::calibration::device
