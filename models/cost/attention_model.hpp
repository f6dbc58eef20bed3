// Cost models of attention, prefills and decode steps, by FlashAttention's kernels and ours: how many CTAs, how long
// each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "models/base/division.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/attention_tiles.hpp"

namespace weft {

/// Queries of one CTA, and keys that it takes at a time.
inline constexpr std::int64_t attention_block = 128;
/// Rows of a CTA in decode (FlashAttention 2, run_mha_fwd_splitkv_dispatch in flash_fwd_launch_template.h): the query
/// heads that share keys and values, each with a sequence's new tokens where these are few (FlashAttention 3's
/// pack_gqa, and FlashInfer's blocks of 16, 64 or 128 such rows).
inline constexpr std::int64_t decode_block = 64;
/// Blocks that so many queries or keys are cut into.
constexpr std::int64_t attention_blocks(std::int64_t tokens) { return divided_up(tokens, attention_block); }

/// What attention with heads of 64 and with heads of 128 columns has, for any: linear between, the nearest one's
/// beyond; that of 128 where the other is not known (0).
constexpr double by_head_dim(int head_dim, double of_64, double of_128) {
  if (of_64 == 0 || head_dim >= 128) return of_128;
  return head_dim <= 64 ? of_64 : of_64 + (head_dim - 64) / 64.0 * (of_128 - of_64);
}

/// Equal CTAs stand for unequal ones: a block of queries sees the prefix and all keys up to its own last one. Where
/// there are more unequal blocks than SMs, `ctas` fills whole waves and `cta_us` is a wave's share of all work.
struct AttentionTiming {
  std::int64_t ctas = 0;  ///< blocks of queries x heads x sequences x splits, or those of whole waves
  double setup_us = 0;    ///< before the CTAs start
  double start_us = 0;    ///< before a CTA has its first keys
  double cta_us = 0;      ///< of the mean block, or a share of all, with an SM of its own
  double tail_us = 0;     ///< the last CTA ends so much after a mean one would
  double once_us = 0;     ///< once a kernel, with the kernel that merges splits
};

/// `tokens` queries of all sequences together, of each of `heads` heads, each after the earlier keys of its sequence,
/// at `clock_share` of the maximum clock.
///   cta = 4 x 128 x head_dim x mean keys / splits / (tensor rate of an SM x efficiency)
/// In decode, and but for PyTorch's wherever less than 128 queries see cached keys, a CTA has 64 rows in place of 128,
/// of all heads that share keys. How long the keys and values take to come from memory, which decides then, is the
/// simulator's part: a kernel is as slow as its bytes.
/// Keys are split over several CTAs where the query blocks alone would leave more than a fifth of two CTAs an SM idle,
/// those of prefills without cached keys by kernels of CUDA alone; in decode so that the last wave of them is nearly
/// full.
AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share = 1, Implementation implementation = Implementation::weft);

/// Of our own kernel, which has an SM for each tile of queries, or for each split of its keys (attention_tiles.hpp),
/// and takes those with most keys first: a CTA for each where all are equal; else equal CTAs, as many waves of them as
/// tiles need, that do all work between them and take as long as StayingTiles::on_ctas_us() says.
///   tile   = start + keys / 128 x (4 x rows x 128 x head_dim) / (tensor rate of an SM x efficiency)
///   kernel = once + share of the SMs that have a tile x full_start + merge + merged in turn x merged_split
///            + bytes of the splits' results / merge_bandwidth
/// rows: 128, or 64 where one warpgroup of each CTA has no query, with lone_start and lone_efficiency. The start of a
/// single wave comes before its keys, so that memory waits for it; later waves start while others read.
/// Of few queries by our kernel of those, as many CTAs as shares (decode_shares()):
///   CTA    = its tiles of keys x decode.tile + further items x item, kernel = start + CTA + merge + group
AttentionTiming time_own_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                                   double clock_share = 1);

/// By the kernel that the schedule has, ours or another; not of another that stays on few SMs (staying_tiles()).
AttentionTiming time_scheduled_attention(const Machine& machine, const Schedule& schedule, const Attention& attention,
                                         double clock_share);

/// Whether our own kernel has so many splits of some attention's keys that threads merge them together.
bool merges_many_splits(const Machine& machine, const Schedule& schedule);

/// Whether our kernel of few queries runs some attention.
bool decodes(const Machine& machine, const Schedule& schedule);

/// How CTAs of our kernel of few queries share the keys; nothing where another kernel runs it, or the profile does not
/// know it.
std::optional<EvenShares> decode_shares(const Machine& machine, const Schedule& schedule, const Attention& attention);

/// Of cached keys and values that this kernel reads, whole boxes of them; 0 where another one runs.
double decoded_bytes(const Machine& machine, const Schedule& schedule, const Attention& attention);

/// Of the HBM rate that the kernel reaches.
double hbm_share(const Machine& machine, const Schedule& schedule, const Attention& attention);

/// Whether a kernel of ours runs it whose CTAs do not take tiles of queries one after the other, and the profile says
/// how fast.
bool runs_own_attention(const Machine& machine, const Schedule& schedule, const Attention& attention);

/// Tiles of queries that CTAs take one after the other, the longest first, each CTA with an SM of its own.
struct StayingTiles {
  std::int64_t count = 1;
  double mean_us = 0, shortest_us = 0, longest_us = 0;
  double start_us = 0;  ///< of each of these, before and after its keys
  double once_us = 0;   ///< once a kernel

  bool are_equal() const { return shortest_us == longest_us; }
  /// Until the last of `ctas` CTAs has no tile left: each has its share of the work, and where they have unequal
  /// numbers of tiles some end a short one later.
  ///   max(longest, count x mean / ctas + (count / ctas rounded up - count / ctas) x shortest)
  double on_ctas_us(std::int64_t ctas) const { return std::max(longest_us, shared_us(ctas)); }
  /// The same where no tile is longer than a CTA's share.
  double shared_us(std::int64_t ctas) const {
    const double of_cta = static_cast<double>(count) / static_cast<double>(ctas);
    return of_cta * mean_us + (static_cast<double>(divided_up(count, ctas)) - of_cta) * shortest_us;
  }
};

/// Of attention whose CTAs stay on their SMs (`max_sms`, and over parts of the mask), of `tokens` or of one rank, at
/// `clock_share` of the maximum clock. By our own kernel a tile takes as long as in time_own_attention(); of
/// others, and where the profile does not know ours, its share of the flops at persistent_attention_efficiency.
StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const Attention& attention,
                           std::int64_t tokens, double clock_share = 1);
StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const PartialAttention& attention,
                           int rank, double clock_share = 1);
/// What the tensor cores do for it, on the rank that has most: our own kernel computes whole tiles, of which the mask
/// hides some and few tokens fill little, but for those of a warpgroup that never has a query; of others what the mask
/// lets through.
Flops computed_flops(const Machine& machine, const Schedule& schedule, const Attention& attention);
Flops computed_flops(const Machine& machine, const Schedule& schedule, const PartialAttention& attention);
/// On all SMs of a GPU at the maximum clock, of the rank that has most to do.
double longest_staying_us(const Machine& machine, const Schedule& schedule, const PartialAttention& attention);

}  // namespace weft
