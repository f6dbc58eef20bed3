// What operations do to integers: the meaning of each kind, without any time.
#pragma once

#include <functional>
#include <vector>

#include "models/schedule/footprint.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/meaning/integer_matrix.hpp"

namespace weft::sim::meaning {

/// `result` makes what is written of what was read, both in the order and the shapes of the rectangles.
struct Effect {
  std::vector<Rectangle> reads, writes;
  std::function<std::vector<IntegerMatrix>(const std::vector<IntegerMatrix>& inputs)> result;
};

/// Attention in integers: a query's result is the sum of attention_weight() times value over the keys that it sees, and
/// the number of those keys stands for its log_sum_exp. So partial results merge exactly, and a key that is seen twice
/// or not at all shows.
struct AttentionResult {
  IntegerMatrix output, keys;
  AttentionResult(std::int64_t rows, int heads, int head_dim)
      : output(rows, std::int64_t{heads} * head_dim, 0), keys(rows, heads, 0) {}
  /// Query row `row` sees one more row of keys and values.
  void add(const std::int64_t* query, std::int64_t row, const std::int64_t* key_value, int kv_heads);
};

/// Throws InputError for the first memory-bound kernel that writes more slices than it has results.
void require_integer_meaning(const Schedule& schedule);

/// Of an operation on rank `rank`: one effect, but for a tile group of a GEMM one for each of its tiles, and for a
/// grouped GEMM one for each group. Signals, waits
/// and the like have none. Not for collectives, whose results need all ranks.
std::vector<Effect> effects(const Schedule& schedule, const Operation& operation, int rank, int tile_group = 0);

/// What rank `rank` gets from a collective over the ranks' inputs. Shapes as Collective says.
IntegerMatrix collective_result(CollectiveKind kind, const std::vector<IntegerMatrix>& inputs, int rank);

/// a[m, k] x b[n, k]^T.
IntegerMatrix product(const IntegerMatrix& a, const IntegerMatrix& b);

}  // namespace weft::sim::meaning
