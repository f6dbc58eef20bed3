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

}  // namespace

AttentionTiming time_attention(const Machine& machine, const Attention& attention, std::int64_t tokens,
                               double clock_share) {
  const OtherKernels& kernels = machine.other_kernels;
  const std::int64_t query_blocks = attention_blocks(tokens), most_keys = attention.prefix + tokens;
  std::int64_t key_blocks = 0;
  for (std::int64_t block = 1; block <= query_blocks; ++block)
    key_blocks += attention_blocks(std::min(most_keys, attention.prefix + block * attention_block));
  const double mean_blocks = static_cast<double>(key_blocks) / static_cast<double>(query_blocks);
  const auto most_blocks = static_cast<double>(attention_blocks(most_keys));

  const std::int64_t unsplit = query_blocks * attention.heads, room = ctas_per_sm * machine.gpu.sms();
  const bool is_split = static_cast<double>(unsplit) < enough_ctas_to_not_split * static_cast<double>(room);
  const std::int64_t splits =
      is_split ? std::clamp<std::int64_t>(room / unsplit, 1, static_cast<std::int64_t>(most_blocks)) : 1;

  const double block_flops = 4.0 * attention_block * attention_block * attention.head_dim;
  const double flops_per_us =
      machine.gpu.flops_per_us_of_sm() * clock_share * efficiency_of(kernels, attention.head_dim);
  const double block_us = block_flops / flops_per_us / static_cast<double>(splits);
  return {.ctas = unsplit * splits,
          .cta_us = mean_blocks * block_us,
          .tail_us = kernels.attention_tail * (most_blocks - mean_blocks) * block_us,
          .once_us = kernels.attention_overhead_us + (splits > 1 ? kernels.attention_split_us : 0)};
}

}  // namespace weft
