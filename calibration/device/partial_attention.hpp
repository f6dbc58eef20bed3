// Attention over some of the keys for Hopper, with the logarithms of its sums, so that results over other keys can be
// merged with it (flash_tiles.cuh says how). CTAs stay, and take one head's tile of queries after the other from a
// counter, so that one that comes late does less.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "calibration/device/arena.hpp"
#include "calibration/device/head_sets.hpp"
#include "calibration/device/kernels.hpp"
#include "models/check/hardware_support.hpp"
#include "models/schedule/query_tiles.hpp"

namespace weft::calibration::device {

/// bf16 but for `log_sum_exp`, fp32 with a column for each head. Addresses and strides are multiples of 16 bytes.
struct PartialAttentionOperands {
  Matrix queries, keys_values;  ///< keys_values: [k of every kv head | v of every kv head]
  Matrix output, log_sum_exp;
  int heads = 0, kv_heads = 0, head_dim = 0;  ///< of 64 or 128
  std::vector<AttentionPart> parts;           ///< at most max_attention_parts
};

/// Ready to be enqueued on a Hopper GPU.
class OwnPartialAttention {
 public:
  /// `max_sms`: as many CTAs; 0: one for each SM.
  OwnPartialAttention(const PartialAttentionOperands& operands, int max_sms, Arena& arena);
  void enqueue(cudaStream_t stream) const;

  /// Of a part, as the kernel knows it.
  struct Keys {
    int first_query = 0, keys = 0;
    bool is_causal = false;
  };
  /// What the kernel is told. Each part's keys have a map of their own, behind whose end nothing is read.
  struct Work {
    CUtensorMap queries, output, keys_values[max_attention_parts];
    Keys parts[max_attention_parts];
    const QueryTile* tiles = nullptr;  ///< on the device
    int count = 0;                     ///< of tiles, times heads
    int heads = 0, kv_heads = 0;
    HeadSets sets;
    float scale = 0;  ///< of a product of query and key, in powers of 2
    void* rows = nullptr;
    std::int64_t row_stride = 0;
    float* log_sum_exp = nullptr;
    std::int64_t log_sum_exp_stride = 0;
    std::uint32_t* taken = nullptr;  ///< items of tile and head; 0 between launches
  };

 private:
  Work work_;
  int head_dim_, ctas_;
};

}  // namespace weft::calibration::device
