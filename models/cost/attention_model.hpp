// Cost model of FlashAttention 2 (causal prefill): how many CTAs, how long each.
#pragma once

#include "models/machine/machine.hpp"

namespace weft {

/// Queries of one CTA, and keys that it takes at a time.
inline constexpr std::int64_t attention_block = 128;
/// Blocks that so many queries or keys are cut into.
constexpr std::int64_t attention_blocks(std::int64_t tokens) {
  return (tokens + attention_block - 1) / attention_block;
}

/// Equal CTAs stand for unequal ones: a block of queries sees the prefix and all keys up to its own last one.
struct AttentionTiming {
  std::int64_t ctas = 0;  ///< blocks of queries x heads x splits
  double cta_us = 0;      ///< of the mean block, with an SM of its own
  double tail_us = 0;     ///< the last CTA ends so much after a mean one would
  double once_us = 0;     ///< once a kernel, with the kernel that merges splits
};

/// `tokens` queries of each of `heads` heads after `prefix` earlier keys, at `clock_share` of the maximum clock.
///   cta = 4 x 128 x head_dim x mean keys / splits / (tensor rate of an SM x efficiency)
/// Keys are split over several CTAs where the query blocks alone would leave more than a fifth of two CTAs an SM idle.
AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share = 1);

}  // namespace weft
