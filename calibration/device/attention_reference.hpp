// Plain attention, a key at a time in fp32, that the result of distributed attention is compared with.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/kernels.hpp"

namespace weft::calibration::device {

/// Rows of one rank's shard of a sequence (sequence_order.hpp), as AttentionShape divides it.
struct ReferenceShard {
  AttentionShape shape;
  std::int64_t tokens = 0;  ///< of the whole sequence
  int gpus = 1, rank = 0;
};

/// What has been added up for each of `slots` sampled queries, over the keys seen so far: [slots x heads x head_dim]
/// the values and their squares, by weight and squared weight, [slots x heads] the weights. With queries and keys of
/// N(0, 1) the exponents are a few units, so that no maximum has to be taken off.
struct AttentionSums {
  float *values = nullptr, *squares = nullptr, *weights = nullptr;
};
/// `queries`: bf16 [slots x heads x head_dim], rows `rows` of `own`'s shard (on the device). `keys_values`: bf16, the
/// whole shard of `source`.
void add_attended(const AttentionSums& sums, const void* queries, const std::int64_t* rows, std::int64_t slots,
                  const ReferenceShard& own, const void* keys_values, const ReferenceShard& source,
                  cudaStream_t stream);

/// sum = values / weights; magnitude = the root of the sum of squares / weights: what errors of single weights and
/// values add up to.
void divide_by_weights(const AttentionSums& sums, const ReferenceSums& results, std::int64_t slots,
                       const AttentionShape& shape, cudaStream_t stream);

}  // namespace weft::calibration::device
