#include "scenarios/sequence_groups.hpp"

#include <ranges>

namespace weft::scenarios {
namespace {

/// Rows that a token split keeps together.
std::int64_t unit_of(const SequenceGroup& group) { return group.sequences > 1 ? group.rows_of_each() : 1; }

}  // namespace

std::vector<SequenceGroup> sequence_groups(const LayerWorkload& layer) {
  std::vector<SequenceGroup> groups;
  if (layer.decoding > 0)
    groups.push_back(
        {.rows = {0, layer.decoding}, .sequences = layer.decoding, .prefix = layer.decoding_prefix, .kind = "decode "});
  groups.push_back(
      {.rows = {layer.decoding, layer.tokens - layer.decoding}, .sequences = layer.sequences, .prefix = layer.prefix});
  return groups;
}

std::int64_t cached_tokens(const LayerWorkload& layer) {
  std::int64_t tokens = 0;
  for (const SequenceGroup& group : sequence_groups(layer)) tokens += group.cached_tokens();
  return tokens;
}

bool leaves_sequences_whole(const LayerWorkload& layer, std::int64_t first) {
  return whole_sequences_up_to(layer, first, 1) == first;
}

std::int64_t whole_sequences_up_to(const LayerWorkload& layer, std::int64_t row, std::int64_t unit) {
  for (const SequenceGroup& group : std::views::reverse(sequence_groups(layer))) {
    const std::int64_t begin = group.rows.first, step = unit_of(group);
    if (row > begin) row -= (row - begin) % step;
    while (row > begin && row % unit != 0) row -= step;
    if (row >= begin && row % unit == 0) return row;
  }
  return 0;
}

}  // namespace weft::scenarios
