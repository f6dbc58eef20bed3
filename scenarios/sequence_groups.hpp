// Whose rows a decoder layer works on: attention and a cut of the rows depend on it, GEMMs do not.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/schedule/buffers.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Rows of sequences that are alike: as many rows of each, one sequence after the other, behind `prefix` cached tokens
/// of each.
struct SequenceGroup {
  RowRange rows;
  std::int64_t sequences = 1, prefix = 0;
  std::string_view kind = "";  ///< "decode " of those that decode beside others
  std::int64_t rows_of_each() const { return rows.count / sequences; }
  std::int64_t cached_tokens() const { return sequences * prefix; }
  bool operator==(const SequenceGroup&) const = default;
};

/// The rows of the layer: those that decode, if there are any, and then the others. Servers put them in this order
/// (vLLM 0.11, vllm/v1/attention/backends/utils.py, reorder_batch_to_split_decodes_and_prefills).
std::vector<SequenceGroup> sequence_groups(const LayerWorkload& layer);

/// Their cached tokens, those of each sequence counted.
std::int64_t cached_tokens(const LayerWorkload& layer);

/// May a token split begin its second part at this row? A sequence is cut where it has the rows of its group alone, as
/// a chunk of a prefill has; others stay whole.
bool leaves_sequences_whole(const LayerWorkload& layer, std::int64_t first);

/// The last row up to `row` that does, and that is a multiple of `unit`: at least 0.
std::int64_t whole_sequences_up_to(const LayerWorkload& layer, std::int64_t row, std::int64_t unit);

}  // namespace weft::scenarios
