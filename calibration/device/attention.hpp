// Causal attention of our own for Hopper, of whole sequences and behind cached keys (flash_tiles.cuh says how).
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "calibration/device/arena.hpp"
#include "calibration/device/head_sets.hpp"
#include "calibration/device/kernels.hpp"
#include "models/schedule/attention_tiles.hpp"

namespace weft::calibration::device {

/// Packed rows [q of every head | k of every kv head | v of every kv head], bf16, of one sequence after the other.
/// Queries are rows [prefix, prefix + tokens) of the first, and `tokens` of each further one; a query sees the `cached`
/// keys of its sequence and the rows before it up to its own. `output` is [sequences x tokens, heads x head_dim].
struct AttentionOperands {
  const void* rows = nullptr;
  std::int64_t row_stride = 0;  ///< elements, as below: multiples of 8
  Matrix output;
  Matrix cached;  ///< [k of every kv head | v of every kv head], as many rows for each sequence; empty: none
  std::int64_t prefix = 0, tokens = 0;
  int sequences = 1;
  int heads = 0, kv_heads = 0, head_dim = 0;  ///< of 64 or 128
  AttentionTiles tiles = {};
  bool keys_are_read_once = false;  ///< those that are cached
};

/// Ready to be enqueued on a Hopper GPU.
class OwnAttention {
 public:
  /// `max_sms`: CTAs that stay and take tile after tile; 0: one CTA for each tile, or for each split of its keys.
  OwnAttention(const AttentionOperands& operands, int max_sms, Arena& arena);
  void enqueue(cudaStream_t stream) const;

  /// What the kernel is told of sizes.
  struct Shape {
    int prefix, tokens, cached, sequences;
    int heads, kv_heads, heads_of_tile, tokens_of_warpgroup;
    int tiles_of_sequence, count, splits;  ///< count: of all items, a split of a tile's keys each
    HeadSets sets;                         ///< of the groups of heads of all sequences
    float scale;                           ///< of a product of query and key, in powers of 2
    float* log_sum_exp;                    ///< of splits: [splits, sequences x tokens, heads]
    std::uint32_t* taken;  ///< items that CTAs which stay have taken; null: each CTA has the one of its number
  };

 private:
  void merge_splits(cudaStream_t stream) const;

  AttentionOperands operands_;
  Matrix results_, log_sum_exp_;  ///< of splits, one below the other
  Shape shape_;
  CUtensorMap queries_, rows_, cached_, output_;
  int ctas_ = 0;
};

}  // namespace weft::calibration::device
