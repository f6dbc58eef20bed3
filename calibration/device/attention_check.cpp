#include "calibration/device/attention_check.hpp"

#include <algorithm>

namespace weft::calibration::device {
namespace {

/// Results that are stored in bf16 on the way to the last one, and that one.
bool stores_results(const Work& work) {
  return match(
      work, [](const OneOf<Attention, PartialAttention> auto&) { return true; },
      [](const GroupedExchange& exchange) { return exchange.kind == GroupedKind::reduce; },
      [](const MemoryBound& kernel) { return kernel.kernel == MemoryKernel::log_sum_exp_merge; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, Copy, Signal, Wait, Barrier, Delay> auto&) {
        return false;
      });
}

}  // namespace

bool AttentionCheck::is_consistent() const {
  const std::int64_t rows_of_rank = meaning().m / ranks(), head_dim = shape().head_dim;
  const auto has_size = [&](BufferId id, std::int64_t heads) {
    return buffer(id).rows == rows_of_rank && buffer(id).columns == heads * head_dim;
  };
  return (head_dim == 64 || head_dim == 128) && has_size(meaning().a, shape().heads) &&
         has_size(meaning().b, std::int64_t{2} * shape().kv_heads) && has_size(meaning().result, shape().heads);
}

void AttentionCheck::fill_inputs() const {
  fill(meaning().a);
  fill(meaning().b);
}

const void* AttentionCheck::sampled_queries() {
  auto* queries = allocate<std::uint16_t>(slots() * columns());
  for (std::int64_t slot = 0; slot < slots(); ++slot)
    make_again(queries + slot * columns(), meaning().a, rank(), sampled()[static_cast<std::size_t>(slot)] * columns(),
               columns());
  return queries;
}

void AttentionCheck::add_reference() {
  const Buffer& keys_values = buffer(meaning().b);
  const std::int64_t elements = keys_values.rows * keys_values.columns;
  auto* of_rank = allocate<std::uint16_t>(elements);
  const AttentionSums added{zeros(slots() * columns()), zeros(slots() * columns()), zeros(slots() * shape().heads)};
  const void* queries = sampled_queries();
  const std::int64_t* rows = upload(sampled());
  for (int source = 0; source < ranks(); ++source) {
    make_again(of_rank, meaning().b, source, 0, elements);
    add_attended(added, queries, rows, slots(), shard(rank()), of_rank, shard(source), stream());
  }
  divide_by_weights(added, sums(), slots(), shape(), stream());
}

/// Values of N(0, 1), so that what n of them add up to by their weights is within 6 roots of the sum of squares, the
/// magnitude here. Each result that is stored on the way is at most that large, and rounds by up to 2^-8 of it. The
/// tensor cores see weights in bf16: errors of up to 2^-8 of each, of any sign, which add up to less than 4 roots of
/// the sum of squares.
ErrorBound AttentionCheck::bound() const {
  const auto stored =
      static_cast<double>(std::ranges::count_if(schedule().operations, stores_results, &Operation::work));
  return {static_cast<float>((6 * stored + 4) * 0x1p-8), 0};
}

}  // namespace weft::calibration::device
