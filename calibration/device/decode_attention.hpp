// Attention of few queries for Hopper, as of one new token behind many cached keys: as fast as these come from memory.
// Keys are the rows of its products, since the queries are too few to fill those of the tensor cores: a warp takes 16
// keys with 8 queries, in less power. CTAs stay, and share the tiles of keys evenly (attention_tiles.hpp); the last one
// of an item merges its pieces.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/arena.hpp"
#include "calibration/device/attention.hpp"

namespace weft::calibration::device {

/// Ready to be enqueued on a Hopper GPU. Of `operands` the tiles and how often keys are read are not asked.
class OwnDecodeAttention {
 public:
  OwnDecodeAttention(const AttentionOperands& operands, const EvenShares& shares, Arena& arena);
  void enqueue(cudaStream_t stream) const;

  /// What the kernel is told of sizes, and where it reads and writes what the memory accelerator does not move.
  struct Shape {
    EvenShares shares;
    int prefix, tokens, cached;
    int heads, kv_heads;
    float scale;                   ///< of a product of query and key, in powers of 2
    const __nv_bfloat16* queries;  ///< the first sequence's first
    std::int64_t query_stride;
    __nv_bfloat16* output;
    std::int64_t output_stride;
    __nv_bfloat16* pieces;   ///< results that are to be merged,
    float* log_sums;         ///< and the logarithms of their sums
    std::uint32_t* arrived;  ///< of each item: pieces of each group of them, and groups; 0 between launches
    int groups_of_item;      ///< that `arrived` has room for
  };
  /// The rows and the cache: boxes of a tile of keys, and of those that a warp takes.
  struct Maps {
    CUtensorMap rows, cached, few_cached;
  };

 private:
  Shape shape_;
  Maps maps_;
  int head_dim_, rows_of_item_;
};

}  // namespace weft::calibration::device
