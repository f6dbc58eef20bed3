// Causal prefill attention of our own for Hopper (flash_tiles.cuh says how).
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/arena.hpp"

namespace weft::calibration::device {

/// Packed rows [q of every head | k of every kv head | v of every kv head], bf16. Queries are rows [prefix, prefix +
/// tokens); each sees the keys of all rows up to its own. `output` is [tokens, heads x head_dim].
struct AttentionOperands {
  const void* rows = nullptr;
  std::int64_t row_stride = 0;  ///< elements, as below: multiples of 8
  void* output = nullptr;
  std::int64_t output_stride = 0;
  std::int64_t prefix = 0, tokens = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;  ///< of 64 or 128
};

/// Ready to be enqueued on a Hopper GPU.
class OwnAttention {
 public:
  /// `max_sms`: CTAs that stay and take tile after tile; 0: one CTA for each tile.
  OwnAttention(const AttentionOperands& operands, int max_sms, Arena& arena);
  void enqueue(cudaStream_t stream) const;

 private:
  AttentionOperands operands_;
  CUtensorMap rows_, output_;
  std::uint32_t* taken_ = nullptr;
  int ctas_ = 0;
};

}  // namespace weft::calibration::device
