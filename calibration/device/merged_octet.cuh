// Results of partial attention, merged by the logarithms of their sums: each counts with exp(its logarithm).
#pragma once

#include "calibration/device/octet.cuh"

namespace weft::calibration::device {

/// Eight columns of a head, weighed with exp(logarithm - the highest so far).
class MergedOctet {
 public:
  /// An empty result, over no key, counts nothing, whatever it holds.
  __device__ void add(const Octet& octet, float log_sum_exp) {
    if (log_sum_exp == -INFINITY) return;
    const float highest = fmaxf(highest_, log_sum_exp);
    const float older = __expf(highest_ - highest), weight = __expf(log_sum_exp - highest);
    OctetSum added;
    added.add(octet);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum_.value[i] = sum_.value[i] * older + added.value[i] * weight;
    total_ = total_ * older + weight;
    highest_ = highest;
  }
  /// What another thread has merged.
  __device__ void add(const MergedOctet& other) {
    if (other.highest_ == -INFINITY) return;
    const float highest = fmaxf(highest_, other.highest_);
    const float older = __expf(highest_ - highest), weight = __expf(other.highest_ - highest);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum_.value[i] = sum_.value[i] * older + other.sum_.value[i] * weight;
    total_ = total_ * older + other.total_ * weight;
    highest_ = highest;
  }
  __device__ Octet result() const { return sum_.scaled(total_ == 0 ? 0 : 1 / total_); }
  __device__ float log_sum_exp() const { return highest_ + __logf(total_); }

 private:
  OctetSum sum_;
  float highest_ = -INFINITY, total_ = 0;
};

}  // namespace weft::calibration::device
