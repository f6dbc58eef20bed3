#include "models/cost/attention_model.hpp"

#include <algorithm>

#include "models/base/division.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/attention_tiles.hpp"
#include "models/schedule/query_tiles.hpp"

namespace weft {
namespace {

constexpr std::int64_t ctas_an_sm_has = 2;  // that the library counts on when it splits keys
constexpr std::int64_t most_splits = 128;   // of decode

constexpr double nearly_as_full = 0.85, enough_to_not_split = 0.8;

/// Whether so many CTAs fill the room for them well enough that keys are not split.
bool fill_enough(std::int64_t ctas, std::int64_t room) {
  return static_cast<double>(ctas) >= enough_to_not_split * static_cast<double>(room);
}

/// FlashAttention 2's num_splits_heuristic (flash_api.cpp): the fewest splits, at most `most`, whose waves of CTAs are
/// nearly as full as they can be; those that leave a CTA as many blocks of keys as fewer do are passed over.
std::int64_t splits_that_fill(std::int64_t unsplit_ctas, std::int64_t room, std::int64_t key_blocks,
                              std::int64_t most) {
  most = std::min({most, room, key_blocks});
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

/// Of a prefill; those that were measured are split no further (attention-2026-11-21). Without cached keys other
/// kernels than those of CUDA do not split: AITER's take on an MI300X as long for few blocks as that says
/// (ROCm/aiter@0403bcdf, op_tests/cpp/mha/README.md, 32 heads and 1,024 or 2,048 tokens).
std::int64_t splits_that_fit(bool splits_keys, std::int64_t unsplit_ctas, std::int64_t room, std::int64_t key_blocks) {
  return splits_keys ? std::clamp<std::int64_t>(room / unsplit_ctas, 1, key_blocks) : 1;
}

double efficiency_of(const OtherKernels& kernels, int head_dim) {
  return by_head_dim(head_dim, kernels.attention_efficiency_64, kernels.attention_efficiency);
}

/// Rows of queries that a CTA takes, and of how many heads: those that share keys lie in one block where they have few
/// queries for cached keys, as decoding steps with drafted tokens do. PyTorch's FlashAttention 2 does so for one query
/// alone (recorded on an H200, calibration/peers/few_queries_h200.jsonl).
struct QueryBlocks {
  double rows = attention_block;
  std::int64_t of_head = 0, heads = 0;
};
bool share_blocks(const Attention& attention, std::int64_t queries, Implementation implementation) {
  return queries <= 1 || (attention.cached && queries < attention_block && implementation != Implementation::pytorch);
}
QueryBlocks blocks_of(const Attention& attention, std::int64_t queries, bool are_shared) {
  if (!are_shared) return {.of_head = attention_blocks(queries), .heads = attention.heads};
  const std::int64_t rows = attention.heads / attention.kv_heads * queries;
  return {.rows = decode_block, .of_head = divided_up(rows, decode_block), .heads = attention.kv_heads};
}

/// Of keys that the longest block sees, the shortest one, and all blocks of a head together.
struct KeyBlocks {
  std::int64_t most = 0, fewest = 0, all = 0;
};
KeyBlocks key_blocks_of(const Attention& attention, std::int64_t tokens, std::int64_t query_blocks) {
  const std::int64_t earlier = earlier_tokens(attention), most_keys = earlier + tokens / attention.sequences;
  KeyBlocks blocks{.most = attention_blocks(most_keys),
                   .fewest = attention_blocks(std::min(most_keys, earlier + attention_block))};
  for (std::int64_t block = 1; block <= query_blocks; ++block)
    blocks.all += attention_blocks(std::min(most_keys, earlier + block * attention_block));
  return blocks;
}

bool has_own_attention(const Machine& machine, const Schedule& schedule) {
  return schedule.implementation == Implementation::weft && machine.own_attention.has_value();
}

/// Tiles of queries, and how many blocks of keys they see: together, and the one with fewest and with most.
struct SeenKeys {
  std::int64_t tiles = 0, key_blocks = 0, fewest = 0, most = 0;
  int working_warpgroups = 2;  ///< that see them
  std::int64_t splits = 1;     ///< that each tile's keys are in

  std::int64_t rows() const { return std::int64_t{own_rows_of_warpgroup} * working_warpgroups; }
};

/// All but what comes from memory follows the clock.
StayingTiles own_tiles(const Machine& machine, int head_dim, const SeenKeys& seen, double clock_share) {
  const OwnAttentionTimes& times = machine.own_attention.value();
  const bool is_lone = seen.working_warpgroups == 1;
  const auto of_tile = [&](double OwnAttentionTile::*number) {
    return by_head_dim(head_dim, times.heads_of_64.*number, times.heads_of_128.*number);
  };
  const double start_us =
      of_tile(is_lone ? &OwnAttentionTile::lone_start_us : &OwnAttentionTile::start_us) / clock_share;
  const double efficiency = of_tile(is_lone ? &OwnAttentionTile::lone_efficiency : &OwnAttentionTile::efficiency);
  const double block_flops = 4.0 * static_cast<double>(seen.rows()) * own_tile_keys * head_dim;
  const double block_us = block_flops / (machine.gpu.flops_per_us_of_sm() * clock_share * efficiency);
  const std::int64_t count = std::max<std::int64_t>(seen.tiles, 1), sms = machine.gpu.sms();
  return {.count = count,
          .mean_us = start_us + static_cast<double>(seen.key_blocks) / static_cast<double>(count) * block_us,
          .shortest_us = start_us + static_cast<double>(seen.fewest) * block_us,
          .longest_us = start_us + static_cast<double>(seen.most) * block_us,
          .start_us = start_us,
          .once_us = (times.once_us +
                      times.full_start_us * static_cast<double>(std::min(count, sms)) / static_cast<double>(sms)) /
                     clock_share};
}

double merge_us(const OwnAttentionTimes& times, const Attention& attention, std::int64_t tokens, std::int64_t splits,
                double clock_share) {
  if (splits == 1) return 0;
  const std::int64_t elements = splits * tokens * attention.heads * attention.head_dim;
  return (times.merge_us + static_cast<double>(merged_in_turn(splits)) * times.merged_split_us) / clock_share +
         static_cast<double>(elements * bytes_of(DataType::bf16)) / bytes_per_us(times.merge_GBps);
}

/// As our kernel cuts queries and keys.
SeenKeys seen_keys(const Machine& machine, const Attention& attention, std::int64_t tokens) {
  const AttentionTiles tiles = attention_tiles(attention, tokens, machine.gpu.sms());
  const std::int64_t of_each = tokens / attention.sequences, splits = tiles.splits;
  SeenKeys seen{.tiles = tiles.count * splits};
  std::int64_t of_group = 0;
  for (std::int64_t tile = 1; tile <= tiles.of_sequence; ++tile) {
    const std::int64_t last = std::min(of_each, tile * tiles.tokens_of_tile());
    const std::int64_t blocks = key_tiles(attention, last);
    seen.fewest = tile == 1 ? blocks / splits : std::min(seen.fewest, blocks / splits);
    seen.most = std::max(seen.most, divided_up(blocks, splits));
    of_group += blocks;
  }
  seen.key_blocks = of_group * tiles.groups_of_heads * attention.sequences;
  seen.working_warpgroups = tiles.working_warpgroups;
  seen.splits = splits;
  return seen;
}
SeenKeys seen_keys(const Schedule& schedule, const PartialAttention& attention, int rank) {
  const QueryTileSums sums =
      sum_of_query_tiles(attention.parts[static_cast<std::size_t>(rank)],
                         row_count(attention.queries.rows, schedule.gpus), own_tile_queries, own_tile_keys);
  const std::int64_t heads = attention.heads;
  return {.tiles = sums.tiles * heads, .key_blocks = sums.key_tiles * heads, .fewest = sums.fewest, .most = sums.most};
}

bool any_attention(const Schedule& schedule, const auto& is_one) {
  return std::ranges::any_of(schedule.operations, [&](const Operation& operation) {
    return match(
        operation.work, [&](const Attention& attention) { return is_one(attention); },
        [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound,
                       PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return false; });
  });
}

Flops flops_of_blocks(const SeenKeys& seen, int head_dim) {
  const double of_block = 4.0 * static_cast<double>(seen.rows()) * own_tile_keys * head_dim;
  return of_block * static_cast<double>(seen.key_blocks);
}

/// As the profile knows of: without its times few queries are priced as by the kernel of many.
std::optional<EvenShares> known_shares(const Machine& machine, const Attention& attention, std::int64_t tokens) {
  if (!machine.own_attention.value().decode) return std::nullopt;
  return even_shares(attention, tokens, machine.gpu.sms());
}

AttentionTiming time_shares(const OwnDecodeTimes& times, const Attention& attention, std::int64_t tokens,
                            const EvenShares& shares, double clock_share) {
  const bool are_few = queries_of_item(attention, tokens) <= queries_of_mma;
  const OwnDecodeQueries& queries = are_few ? times.up_to_8 : times.up_to_16;
  const double tile_us = by_head_dim(attention.head_dim, times.tile_64_us, times.tile_128_us);
  const double cta_us = static_cast<double>(shares.most_tiles()) * tile_us +
                        static_cast<double>(shares.most_items() - 1) * queries.item_us;
  const bool has_groups = shares.most_pieces() > pieces_of_group;
  const double merge_us = (shares.has_pieces() ? queries.merge_us : 0) + (has_groups ? times.group_us : 0);
  return {.ctas = shares.ctas,
          .setup_us = queries.start_us / clock_share,
          .cta_us = cta_us / clock_share,
          .once_us = merge_us / clock_share};
}

StayingTiles equal_shares(const Machine& machine, std::int64_t tiles, Flops flops, double clock_share) {
  const std::int64_t count = std::max<std::int64_t>(tiles, 1);
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * machine.other_kernels.persistent_attention_efficiency;
  const double tile_us = flops / static_cast<double>(count) / flops_per_us;
  return {count, tile_us, tile_us, tile_us, 0, machine.other_kernels.overhead_us};
}

}  // namespace

AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share, Implementation implementation) {
  const OtherKernels& kernels = machine.other_kernels;
  const std::int64_t of_sequence = tokens / attention.sequences;
  const bool are_few = share_blocks(attention, of_sequence, implementation);
  const QueryBlocks queries = blocks_of(attention, of_sequence, are_few);
  const std::int64_t query_blocks = queries.of_head;
  const KeyBlocks keys = key_blocks_of(attention, tokens, query_blocks);
  const double mean_blocks = static_cast<double>(keys.all) / static_cast<double>(query_blocks);
  const auto most_blocks = static_cast<double>(keys.most);

  const std::int64_t unsplit = query_blocks * queries.heads * attention.sequences,
                     room = ctas_an_sm_has * machine.gpu.sms();
  const bool splits_keys = machine.runtime == Runtime::cuda || attention.cached;
  const std::int64_t splits = fill_enough(unsplit, room) ? 1
                              : are_few                  ? splits_that_fill(unsplit, room, keys.most, most_splits)
                                                         : splits_that_fit(splits_keys, unsplit, room, keys.most);

  const double block_flops = 4.0 * queries.rows * attention_block * attention.head_dim;
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * efficiency_of(kernels, attention.head_dim);
  const double block_us = block_flops / flops_per_us / static_cast<double>(splits);
  // What a wave leaves over are short blocks, which fill SMs whose own was short.
  const double shortest_us = static_cast<double>(keys.fewest) * block_us, mean_us = mean_blocks * block_us;
  const StayingTiles tiles{unsplit * splits, mean_us, shortest_us, most_blocks * block_us};
  const std::int64_t sms = std::min<std::int64_t>(machine.gpu.sms(), tiles.count), waves = divided_up(tiles.count, sms);
  return {.ctas = tiles.are_equal() ? tiles.count : sms * waves,
          .cta_us = tiles.are_equal() ? mean_us : tiles.shared_us(sms) / static_cast<double>(waves),
          .tail_us = kernels.attention_tail * (most_blocks - mean_blocks) * block_us,
          .once_us = kernels.attention_overhead_us + (splits > 1 ? kernels.attention_split_us : 0)};
}

AttentionTiming time_own_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                                   double clock_share) {
  const OwnAttentionTimes& times = machine.own_attention.value();
  if (const auto shares = known_shares(machine, attention, tokens))
    return time_shares(*times.decode, attention, tokens, *shares, clock_share);
  const SeenKeys seen = seen_keys(machine, attention, tokens);
  const StayingTiles tiles = own_tiles(machine, attention.head_dim, seen, clock_share);
  const std::int64_t sms = std::min<std::int64_t>(machine.gpu.sms(), tiles.count);
  const std::int64_t waves = divided_up(tiles.count, sms);
  const double before_keys_us = waves == 1 ? tiles.start_us : 0;
  return {.ctas = tiles.are_equal() ? tiles.count : sms * waves,
          .setup_us = tiles.once_us,
          .start_us = before_keys_us,
          .cta_us = tiles.shared_us(sms) / static_cast<double>(waves) - before_keys_us,
          .tail_us = tiles.on_ctas_us(sms) - tiles.shared_us(sms),
          .once_us = merge_us(times, attention, tokens, seen.splits, clock_share)};
}

AttentionTiming time_scheduled_attention(const Machine& machine, const Schedule& schedule, const Attention& attention,
                                         double clock_share) {
  const std::int64_t tokens = row_count(attention.output.rows, schedule.gpus);
  return runs_own_attention(machine, schedule, attention)
             ? time_own_attention(machine, attention, tokens, clock_share)
             : time_attention(machine, attention, tokens, clock_share, schedule.implementation);
}

std::optional<EvenShares> decode_shares(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  if (!has_own_attention(machine, schedule)) return std::nullopt;
  return known_shares(machine, attention, row_count(attention.qkv.rows, schedule.gpus));
}

double decoded_bytes(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  const auto shares = decode_shares(machine, schedule, attention);
  if (!shares) return 0;
  const std::int64_t keys = divided_up(cached_keys(attention), keys_of_box) * keys_of_box;
  return static_cast<double>(shares->items * keys * 2 * attention.head_dim * bytes_of(DataType::bf16));
}

double hbm_share(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  if (!attention.cached || !has_own_attention(machine, schedule) || !machine.own_attention->decode) return 1;
  const std::int64_t tokens = row_count(attention.qkv.rows, schedule.gpus);
  return reads_keys_once(attention, tokens) ? machine.own_attention->decode->hbm_share : 1;
}

bool runs_own_attention(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  return has_own_attention(machine, schedule) &&
         (attention.max_sms == 0 || decode_shares(machine, schedule, attention).has_value());
}

bool merges_many_splits(const Machine& machine, const Schedule& schedule) {
  return has_own_attention(machine, schedule) && any_attention(schedule, [&](const Attention& attention) {
           const std::int64_t tokens = row_count(attention.qkv.rows, schedule.gpus);
           return !decode_shares(machine, schedule, attention) &&
                  attention_tiles(attention, tokens, machine.gpu.sms()).splits > most_of_one_thread;
         });
}

bool decodes(const Machine& machine, const Schedule& schedule) {
  return any_attention(
      schedule, [&](const Attention& attention) { return decode_shares(machine, schedule, attention).has_value(); });
}

StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const Attention& attention,
                           std::int64_t tokens, double clock_share) {
  if (has_own_attention(machine, schedule))
    return own_tiles(machine, attention.head_dim, seen_keys(machine, attention, tokens), clock_share);
  const std::int64_t of_head = attention_blocks(tokens / attention.sequences);
  return equal_shares(machine, of_head * attention.sequences * attention.heads, flops_of(attention, tokens),
                      clock_share);
}

StayingTiles staying_tiles(const Machine& machine, const Schedule& schedule, const PartialAttention& attention,
                           int rank, double clock_share) {
  if (has_own_attention(machine, schedule)) {
    StayingTiles own = own_tiles(machine, attention.head_dim, seen_keys(schedule, attention, rank), clock_share);
    own.once_us += machine.own_attention->partial_start_us / clock_share;
    return own;
  }
  std::int64_t tiles = 0;
  for (const AttentionPart& part : attention.parts[static_cast<std::size_t>(rank)])
    tiles += attention_blocks(part.queries) * attention.heads;
  return equal_shares(machine, tiles, flops_of(attention, rank), clock_share);
}

Flops computed_flops(const Machine& machine, const Schedule& schedule, const Attention& attention) {
  const std::int64_t tokens = row_count(attention.output.rows, schedule.gpus);
  if (!has_own_attention(machine, schedule)) return flops_of(attention, tokens);
  if (const auto shares = decode_shares(machine, schedule, attention)) {
    const std::int64_t rows = divided_up(queries_of_item(attention, tokens), queries_of_mma) * queries_of_mma;
    return 4.0 * static_cast<double>(rows * own_tile_keys * attention.head_dim * shares->tiles());
  }
  return flops_of_blocks(seen_keys(machine, attention, tokens), attention.head_dim);
}

Flops computed_flops(const Machine& machine, const Schedule& schedule, const PartialAttention& attention) {
  if (!has_own_attention(machine, schedule)) return most_flops_of(attention);
  Flops most = 0;
  for (int rank = 0; rank < static_cast<int>(attention.parts.size()); ++rank)
    most = std::max(most, flops_of_blocks(seen_keys(schedule, attention, rank), attention.head_dim));
  return most;
}

double longest_staying_us(const Machine& machine, const Schedule& schedule, const PartialAttention& attention) {
  const int ctas = attention.max_sms > 0 ? attention.max_sms : machine.gpu.sms();
  double longest_us = 0;
  for (int rank = 0; rank < static_cast<int>(attention.parts.size()); ++rank) {
    const StayingTiles tiles = staying_tiles(machine, schedule, attention, rank);
    longest_us = std::max(longest_us, tiles.on_ctas_us(ctas) + tiles.once_us);
  }
  return longest_us;
}

}  // namespace weft
