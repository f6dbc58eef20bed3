#include "scenarios/sequence_groups.hpp"

#include <gmock/gmock.h>

namespace weft::scenarios {
namespace sequence_groups_test {

using testing::ElementsAre;

LayerWorkload step(std::int64_t tokens, std::int64_t sequences, std::int64_t decoding) {
  return {.tokens = tokens, .sequences = sequences, .prefix = 7, .decoding = decoding, .decoding_prefix = 5};
}

TEST(SequenceGroups, AreThoseThatDecodeAndTheOthers) {
  EXPECT_THAT(sequence_groups(step(12, 3, 0)),
              ElementsAre(SequenceGroup{.rows = {0, 12}, .sequences = 3, .prefix = 7}));
  EXPECT_THAT(sequence_groups(step(12, 2, 4)),
              ElementsAre(SequenceGroup{.rows = {0, 4}, .sequences = 4, .prefix = 5, .kind = "decode "},
                          SequenceGroup{.rows = {4, 8}, .sequences = 2, .prefix = 7}));
  EXPECT_EQ(cached_tokens(step(12, 2, 4)), 4 * 5 + 2 * 7);
}

TEST(SequenceGroups, ASplitCutsALoneSequenceAnywhereAndOthersNowhere) {
  EXPECT_TRUE(leaves_sequences_whole(step(12, 1, 0), 5));
  EXPECT_TRUE(leaves_sequences_whole(step(12, 1, 4), 7));
  EXPECT_TRUE(leaves_sequences_whole(step(12, 2, 4), 3));  // between two that decode
  EXPECT_TRUE(leaves_sequences_whole(step(12, 2, 4), 4));
  EXPECT_TRUE(leaves_sequences_whole(step(12, 2, 4), 8));
  EXPECT_FALSE(leaves_sequences_whole(step(12, 2, 4), 7));
}

/// The last row that does is found by trying all.
TEST(SequenceGroups, TheLastRowThatLeavesThemWholeIsTheNearest) {
  for (const LayerWorkload& layer : {step(24, 1, 0), step(24, 3, 0), step(25, 1, 5), step(25, 4, 5), step(30, 2, 6)})
    for (const std::int64_t unit : {1, 2, 3, 8})
      for (std::int64_t row = 0; row < layer.tokens; ++row) {
        std::int64_t nearest = row;
        while (nearest > 0 && (nearest % unit != 0 || !leaves_sequences_whole(layer, nearest))) --nearest;
        EXPECT_EQ(whole_sequences_up_to(layer, row, unit), nearest) << row << " by " << unit;
      }
}

}  // namespace sequence_groups_test
}  // namespace weft::scenarios
