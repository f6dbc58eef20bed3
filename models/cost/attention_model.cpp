#include "models/cost/attention_model.hpp"

#include <algorithm>

#include "models/base/division.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/query_tiles.hpp"

namespace weft {
namespace {

constexpr std::int64_t ctas_per_sm = 2;           // that the library counts on when it splits keys
constexpr double enough_ctas_to_not_split = 0.8;  // of them
constexpr std::int64_t most_splits = 128;         // of decode
constexpr double nearly_as_full = 0.85;

bool is_enough(std::int64_t ctas, std::int64_t room) {
  return static_cast<double>(ctas) >= enough_ctas_to_not_split * static_cast<double>(room);
}

/// Of a prefill; those that were measured are split no further (attention-2026-11-21).
std::int64_t splits_that_fit(std::int64_t unsplit_ctas, std::int64_t room, std::int64_t key_blocks) {
  return std::clamp<std::int64_t>(room / unsplit_ctas, 1, key_blocks);
}

/// Of decode: FlashAttention 2's num_splits_heuristic (flash_api.cpp). The fewest splits whose waves of CTAs are nearly
/// as full as they can be; those that leave a CTA as many blocks of keys as fewer do are passed over.
std::int64_t splits_that_fill(std::int64_t unsplit_ctas, std::int64_t room, std::int64_t key_blocks) {
  const std::int64_t most = std::min({most_splits, room, key_blocks});
  const auto fullness = [&](std::int64_t splits) {
    if (splits > 1 && divided_up(key_blocks, splits) == divided_up(key_blocks, splits - 1)) return 0.0;
    const std::int64_t ctas = unsplit_ctas * splits;
    return static_cast<double>(ctas) / static_cast<double>(divided_up(ctas, room) * room);
  };
  double fullest = 0;
  for (std::int64_t splits = 1; splits <= most; ++splits) fullest = std::max(fullest, fullness(splits));
  std::int64_t splits = 1;
  while (fullness(splits) < nearly_as_full * fullest) ++splits;
  return splits;
}

double efficiency_of(const OtherKernels& kernels, int head_dim) {
  return by_head_dim(head_dim, kernels.attention_efficiency_64, kernels.attention_efficiency);
}

/// Rows of queries that a CTA takes, and of how many heads: those that share keys lie in one block where each has one
/// query and the rest is cached.
struct QueryBlocks {
  double rows = attention_block;
  std::int64_t of_head = 0, heads = 0;
};
bool is_decode(const Attention& attention, std::int64_t queries) { return queries <= 1 && attention.cached; }
QueryBlocks blocks_of(const Attention& attention, std::int64_t queries) {
  if (!is_decode(attention, queries)) return {.of_head = attention_blocks(queries), .heads = attention.heads};
  const std::int64_t rows = attention.heads / attention.kv_heads;
  return {.rows = decode_block, .of_head = (rows + decode_block - 1) / decode_block, .heads = attention.kv_heads};
}

/// Of keys that the longest block sees, and all blocks of a head together.
struct KeyBlocks {
  std::int64_t most = 0, all = 0;
};
KeyBlocks key_blocks_of(const Attention& attention, std::int64_t tokens, std::int64_t query_blocks) {
  const std::int64_t earlier = earlier_tokens(attention), most_keys = earlier + tokens / attention.sequences;
  KeyBlocks blocks{.most = attention_blocks(most_keys)};
  for (std::int64_t block = 1; block <= query_blocks; ++block)
    blocks.all += attention_blocks(std::min(most_keys, earlier + block * attention_block));
  return blocks;
}

bool has_own_attention(const Machine& machine, const Schedule& schedule) {
  return schedule.implementation == Implementation::weft && machine.other_kernels.own_attention_efficiency > 0;
}

/// A block of queries over a block of keys, by our own kernel.
double own_block_us(const Machine& machine, int head_dim, double clock_share) {
  const OtherKernels& kernels = machine.other_kernels;
  const double efficiency =
      by_head_dim(head_dim, kernels.own_attention_efficiency_64, kernels.own_attention_efficiency);
  const double flops_per_us = machine.gpu.flops_per_us_of_sm() * clock_share * efficiency;
  return 4.0 * attention_block * attention_block * head_dim / flops_per_us;
}

/// `tiles` tiles of queries of one head see `key_tiles` blocks of keys together.
StayingTiles own_staying_tiles(const Machine& machine, const OneOf<Attention, PartialAttention> auto& attention,
                               std::int64_t tiles, std::int64_t key_tiles, double clock_share) {
  const double mean_keys = static_cast<double>(key_tiles) / static_cast<double>(std::max<std::int64_t>(tiles, 1));
  return {std::max<std::int64_t>(tiles * attention.heads, 1),
          machine.other_kernels.own_attention_start_us +
              mean_keys * own_block_us(machine, attention.head_dim, clock_share)};
}

StayingTiles equal_shares(const Machine& machine, std::int64_t tiles, Flops flops, double clock_share) {
  const std::int64_t count = std::max<std::int64_t>(tiles, 1);
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * machine.other_kernels.persistent_attention_efficiency;
  return {count, flops / static_cast<double>(count) / flops_per_us};
}

}  // namespace

AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share) {
  const OtherKernels& kernels = machine.other_kernels;
  const QueryBlocks queries = blocks_of(attention, tokens / attention.sequences);
  const std::int64_t query_blocks = queries.of_head;
  const KeyBlocks keys = key_blocks_of(attention, tokens, query_blocks);
  const double mean_blocks = static_cast<double>(keys.all) / static_cast<double>(query_blocks);
  const auto most_blocks = static_cast<double>(keys.most);

  const std::int64_t unsplit = query_blocks * queries.heads * attention.sequences,
                     room = ctas_per_sm * machine.gpu.sms();
  const auto split = is_decode(attention, tokens / attention.sequences) ? splits_that_fill : splits_that_fit;
  const std::int64_t splits = is_enough(unsplit, room) ? 1 : split(unsplit, room, keys.most);

  const double block_flops = 4.0 * queries.rows * attention_block * attention.head_dim;
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * efficiency_of(kernels, attention.head_dim);
  const double block_us = block_flops / flops_per_us / static_cast<double>(splits);
  return {.ctas = unsplit * splits,
          .cta_us = mean_blocks * block_us,
          .tail_us = kernels.attention_tail * (most_blocks - mean_blocks) * block_us,
          .once_us = kernels.attention_overhead_us + (splits > 1 ? kernels.attention_split_us : 0)};
}

AttentionTiming time_own_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                                   double clock_share) {
  const OtherKernels& kernels = machine.other_kernels;
  const std::int64_t query_blocks = attention_blocks(tokens / attention.sequences);
  const KeyBlocks keys = key_blocks_of(attention, tokens, query_blocks);
  const double block_us = own_block_us(machine, attention.head_dim, clock_share);
  const std::int64_t heads = std::int64_t{attention.heads} * attention.sequences;
  const std::int64_t sms = std::min<std::int64_t>(machine.gpu.sms(), query_blocks * heads);
  const std::int64_t waves = (query_blocks * heads + sms - 1) / sms;
  const double all_us =
      static_cast<double>(heads) *
      (static_cast<double>(query_blocks) * kernels.own_attention_start_us + static_cast<double>(keys.all) * block_us);
  const double of_sm_us = all_us / static_cast<double>(sms);
  const double longest_us = kernels.own_attention_start_us + static_cast<double>(keys.most) * block_us;
  return {.ctas = sms * waves,
          .cta_us = of_sm_us / static_cast<double>(waves),
          .tail_us = std::max(0.0, longest_us - of_sm_us),
          .once_us = kernels.attention_overhead_us};
}

bool runs_own_attention(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  return has_own_attention(machine, schedule) && attention.max_sms == 0 && !attention.cached;
}

StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const Attention& attention,
                           std::int64_t tokens, double clock_share) {
  const std::int64_t of_head = attention_blocks(tokens / attention.sequences);
  if (!has_own_attention(machine, schedule) || attention.cached)
    return equal_shares(machine, of_head * attention.sequences * attention.heads, flops_of(attention, tokens),
                        clock_share);
  return own_staying_tiles(machine, attention, of_head * attention.sequences,
                           key_blocks_of(attention, tokens, of_head).all * attention.sequences, clock_share);
}

StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const PartialAttention& attention,
                           int rank, double clock_share) {
  const std::vector<AttentionPart>& parts = attention.parts[static_cast<std::size_t>(rank)];
  if (!has_own_attention(machine, schedule)) {
    std::int64_t tiles = 0;
    for (const AttentionPart& part : parts) tiles += attention_blocks(part.queries) * attention.heads;
    return equal_shares(machine, tiles, flops_of(attention, rank), clock_share);
  }
  const QueryTileSums sums =
      sum_of_query_tiles(parts, row_count(attention.queries.rows, schedule.gpus), attention_block, attention_block);
  return own_staying_tiles(machine, attention, sums.tiles, sums.key_tiles, clock_share);
}

double longest_staying_us(const Machine& machine, const Schedule& schedule, const PartialAttention& attention) {
  double longest_us = 0;
  for (int rank = 0; rank < static_cast<int>(attention.parts.size()); ++rank)
    longest_us = std::max(longest_us, staying_tiles(machine, schedule, attention, rank).on_all_sms_us(machine));
  return longest_us;
}

}  // namespace weft
