// Which rows of its shard each rank of distributed attention needs of each other one.
#pragma once

#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// Every rank has as many pairs of query and key with each other rank as that one with it. Causal: rank r holds chunks
/// r and 2 W - 1 - r of 2 W, first the earlier one, so its queries see
///   of an earlier rank s < r   its first chunk, which both of the own chunks follow
///   of a later rank s > r      both of its chunks, which the own second chunk follows
class AttentionShards {
 public:
  AttentionShards(const AttentionWorkload& attention, int gpus)
      : mask_(attention.mask), rows_(attention.tokens / gpus) {}

  /// Of each rank.
  std::int64_t rows() const { return rows_; }
  /// Rows of rank `source` whose keys the queries of rank `rank` see.
  RowRange needed_keys(int source, int rank) const {
    return mask_ == AttentionMask::causal && source < rank ? RowRange{0, rows_ / 2} : RowRange{0, rows_};
  }
  /// Rows of rank `rank` whose queries see keys of rank `source`.
  RowRange needed_queries(int rank, int source) const {
    return mask_ == AttentionMask::causal && source > rank ? RowRange{rows_ / 2, rows_ / 2} : RowRange{0, rows_};
  }
  /// Of one rank's queries and its own keys.
  std::vector<AttentionPart> own_parts() const;

 private:
  AttentionMask mask_;
  std::int64_t rows_;
};

/// Largest number of stages: each has a row of every pair of ranks.
int most_stages(const AttentionWorkload& attention, int gpus);

}  // namespace weft::scenarios::families
