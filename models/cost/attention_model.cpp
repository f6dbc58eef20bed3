#include "models/cost/attention_model.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr std::int64_t ctas_per_sm = 2;           // that the library counts on when it splits keys
constexpr double enough_ctas_to_not_split = 0.8;  // of them

/// Linear between heads of 64 and of 128, and the nearest one's beyond.
double efficiency_of(const OtherKernels& kernels, int head_dim) {
  const double share = std::clamp((head_dim - 64) / 64.0, 0.0, 1.0);
  return kernels.attention_efficiency_64 + share * (kernels.attention_efficiency - kernels.attention_efficiency_64);
}

/// Rows of queries that a CTA takes, and of how many heads: those that share keys lie in one block where each has one
/// query and the rest is cached.
struct QueryBlocks {
  double rows = attention_block;
  std::int64_t of_head = 0, heads = 0;
};
QueryBlocks blocks_of(const Attention& attention, std::int64_t queries) {
  if (queries > 1 || !attention.cached) return {.of_head = attention_blocks(queries), .heads = attention.heads};
  const std::int64_t rows = attention.heads / attention.kv_heads;
  return {.rows = decode_block, .of_head = (rows + decode_block - 1) / decode_block, .heads = attention.kv_heads};
}

}  // namespace

AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share) {
  const OtherKernels& kernels = machine.other_kernels;
  const QueryBlocks queries = blocks_of(attention, tokens / attention.sequences);
  const std::int64_t earlier = earlier_tokens(attention), query_blocks = queries.of_head;
  const std::int64_t most_keys = earlier + tokens / attention.sequences;
  std::int64_t key_blocks = 0;
  for (std::int64_t block = 1; block <= query_blocks; ++block)
    key_blocks += attention_blocks(std::min(most_keys, earlier + block * attention_block));
  const double mean_blocks = static_cast<double>(key_blocks) / static_cast<double>(query_blocks);
  const auto most_blocks = static_cast<double>(attention_blocks(most_keys));

  const std::int64_t unsplit = query_blocks * queries.heads * attention.sequences,
                     room = ctas_per_sm * machine.gpu.sms();
  const bool is_split = static_cast<double>(unsplit) < enough_ctas_to_not_split * static_cast<double>(room);
  const std::int64_t splits =
      is_split ? std::clamp<std::int64_t>(room / unsplit, 1, static_cast<std::int64_t>(most_blocks)) : 1;

  const double block_flops = 4.0 * queries.rows * attention_block * attention.head_dim;
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * efficiency_of(kernels, attention.head_dim);
  const double block_us = block_flops / flops_per_us / static_cast<double>(splits);
  return {.ctas = unsplit * splits,
          .cta_us = mean_blocks * block_us,
          .tail_us = kernels.attention_tail * (most_blocks - mean_blocks) * block_us,
          .once_us = kernels.attention_overhead_us + (splits > 1 ? kernels.attention_split_us : 0)};
}

}  // namespace weft
