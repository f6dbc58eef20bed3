#include "models/cost/attention_model.hpp"

#include <gtest/gtest.h>

#include "models/schedule/amounts.hpp"

namespace weft {
namespace attention_model_test {

Machine machine() {
  Machine machine;
  machine.runtime = Runtime::cuda;
  machine.gpu.gpc_sms = {8};
  machine.gpu.tensor_flops_per_clock_per_sm = 1000;
  machine.gpu.max_clock_MHz = 1000;
  machine.other_kernels.attention_efficiency = 0.5;
  machine.other_kernels.attention_efficiency_64 = 0.25;
  machine.other_kernels.attention_tail = 1;
  machine.other_kernels.attention_overhead_us = 3;
  machine.other_kernels.attention_split_us = 2;
  return machine;
}

Attention heads(int count, int head_dim, std::int64_t prefix = 0) {
  return {.qkv = {}, .output = {}, .heads = count, .kv_heads = 1, .head_dim = head_dim, .prefix = prefix};
}

constexpr double block_flops = 4.0 * 128 * 128 * 128;

TEST(AttentionModel, ACausalBlockSeesAllKeysUpToItsOwnLast) {
  // 4 blocks of queries see 1, 2, 3 and 4 blocks of keys; 16 heads fill 8 SMs with two CTAs each, so nothing is split.
  const AttentionTiming timing = time_attention(machine(), heads(16, 128), 512);
  EXPECT_EQ(timing.ctas, 64);
  EXPECT_DOUBLE_EQ(timing.cta_us, 2.5 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(timing.tail_us, 1.5 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(timing.once_us, 3);
}

TEST(AttentionModel, APrefixIsSeenByEveryBlock) {
  const AttentionTiming timing = time_attention(machine(), heads(16, 128, 256), 256);
  EXPECT_DOUBLE_EQ(timing.cta_us, 3.5 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(timing.tail_us, 0.5 * block_flops / 0.5e6);
}

TEST(AttentionModel, FewBlocksSplitTheirKeys) {
  // 2 blocks where 16 CTAs have room: 8 splits, no more than the 5 blocks of keys that the longest sees. Ten CTAs on
  // eight SMs: of the second wave each SM has a quarter of one, and waits for a short one.
  const AttentionTiming timing = time_attention(machine(), heads(1, 128, 384), 256);
  EXPECT_EQ(timing.ctas, 2 * 8);
  EXPECT_DOUBLE_EQ(timing.cta_us, (1.25 * 4.5 + 0.75 * 4) / 2 * block_flops / 5 / 0.5e6);
  EXPECT_DOUBLE_EQ(timing.once_us, 5);
}

TEST(AttentionModel, PrefillsAreSplitByKernelsOfCudaAlone) {
  Machine other = machine();
  other.runtime = Runtime::rocm;
  const AttentionTiming timing = time_attention(other, heads(1, 128, 384), 256);
  EXPECT_EQ(timing.ctas, 2);
  EXPECT_DOUBLE_EQ(timing.once_us, 3);
}

TEST(AttentionModel, OfCachedKeysPrefillsAreSplitByOtherKernelsToo) {
  Machine other = machine();
  other.runtime = Runtime::rocm;
  Attention cached = heads(1, 128, 384);
  cached.cached.emplace();
  EXPECT_EQ(time_attention(other, cached, 256).ctas, time_attention(machine(), cached, 256).ctas);
}

// Eight heads with four new tokens each are half of the 64 rows of a block, which one token each has to compute too.
TEST(AttentionModel, FewQueriesOfCachedKeysShareBlocksWithOtherHeads) {
  Attention cached = heads(8, 128, 4096);
  cached.cached.emplace();
  const auto time_us = [&](std::int64_t tokens) {
    const AttentionTiming timing = time_attention(machine(), cached, tokens);
    return static_cast<double>(divided_up(timing.ctas, 8)) * timing.cta_us;
  };
  EXPECT_DOUBLE_EQ(time_us(8), time_us(1));
  for (const std::int64_t tokens : {16, 32, 64, 127}) EXPECT_LT(time_us(tokens), 1.3 * time_us(tokens + 1));
  EXPECT_LT(time_us(127), 1.1 * time_us(128));
  EXPECT_GT(time_us(127), 0.8 * time_us(128));
}

TEST(AttentionModel, OneBlockMoreThanSmsCostsAShortOne) {
  const auto time_us = [](std::int64_t tokens) {
    const AttentionTiming timing = time_attention(machine(), heads(2, 128), tokens);
    return static_cast<double>(divided_up(timing.ctas, 8)) * timing.cta_us;
  };
  const double before_us = time_us(8 * 128), after_us = time_us(8 * 128 + 1);
  EXPECT_GT(after_us, before_us);
  EXPECT_LT(after_us, 1.4 * before_us);
}

// 9 sequences with one head of keys where 16 CTAs have room, and 16 blocks of keys: 3 splits are 27 CTAs, which fill
// 84 % of two waves, 6 as much of four; 4 fill less, 5 and 7 leave a CTA no fewer blocks; 8 fill 90 % of five.
TEST(AttentionModel, OfDecodeKeysAreSplitUntilTheLastWaveIsNearlyFull) {
  Attention decode = heads(1, 128);
  decode.sequences = 9;
  decode.cached =
      Slice{.buffer = 0, .place = 0, .rows = RowRange{0, 9 * (16 * 128 - 1)}, .first_column = 0, .columns = 256};
  EXPECT_EQ(time_attention(machine(), decode, 9).ctas, 9 * 8);
}

TEST(AttentionModel, SmallHeadsAndSlowClocksTakeLonger) {
  const double usual = time_attention(machine(), heads(16, 128), 512).cta_us;
  EXPECT_DOUBLE_EQ(time_attention(machine(), heads(16, 64), 512).cta_us, usual);  // half the work at half the rate
  EXPECT_DOUBLE_EQ(time_attention(machine(), heads(16, 96), 512).cta_us, 0.75 / 0.75 * usual);
  EXPECT_DOUBLE_EQ(time_attention(machine(), heads(16, 256), 512).cta_us, 2 * usual);
  EXPECT_DOUBLE_EQ(time_attention(machine(), heads(16, 128), 512, 0.5).cta_us, 2 * usual);
}

Machine machine_of_own_attention() {
  Machine one = machine();
  const OwnAttentionTile tile{.efficiency = 0.5, .lone_efficiency = 0.25, .start_us = 2, .lone_start_us = 1};
  one.own_attention = {.heads_of_64 = tile,
                       .heads_of_128 = tile,
                       .once_us = 1.5,
                       .full_start_us = 0.8,
                       .merge_us = 3,
                       .merged_split_us = 0.5,
                       .merge_GBps = 1,
                       .decode = OwnDecodeTimes{.up_to_8 = {.start_us = 4, .item_us = 1, .merge_us = 2},
                                                .up_to_16 = {.start_us = 6, .item_us = 3, .merge_us = 5},
                                                .tile_64_us = 0.25,
                                                .tile_128_us = 0.5,
                                                .group_us = 7,
                                                .hbm_share = 1.25}};
  return one;
}

TEST(OwnAttention, SharesAllBlocksOutOverTheSms) {
  // 16 heads have blocks of 1 to 4 blocks of keys: 64 blocks of queries for 8 SMs, 8 waves.
  const AttentionTiming timing = time_own_attention(machine_of_own_attention(), heads(16, 128), 512);
  EXPECT_EQ(timing.ctas, 64);
  EXPECT_DOUBLE_EQ(timing.cta_us, 2 + 2.5 * block_flops / 0.5e6);
  EXPECT_EQ(timing.tail_us, 0);
  EXPECT_DOUBLE_EQ(timing.setup_us, 1.5 + 0.8);
  EXPECT_EQ(timing.start_us, 0);
  EXPECT_EQ(timing.once_us, 0);
}

TEST(OwnAttention, OfUnevenWavesEndsWithShortTiles) {
  // 3 heads have 12 blocks of queries, which are two waves of 8 SMs with the work of one and a half; half of the SMs
  // end one of the shortest later.
  const AttentionTiming timing = time_own_attention(machine_of_own_attention(), heads(3, 128), 512);
  EXPECT_EQ(timing.ctas, 16);
  EXPECT_DOUBLE_EQ(2 * timing.cta_us, 1.5 * (2 + 2.5 * block_flops / 0.5e6) + 0.5 * (2 + block_flops / 0.5e6));
}

TEST(OwnAttention, TakesAtLeastAsLongAsItsLongestBlock) {
  const AttentionTiming timing = time_own_attention(machine_of_own_attention(), heads(1, 128), 512);
  EXPECT_EQ(timing.ctas, 4);
  EXPECT_DOUBLE_EQ(timing.cta_us + timing.tail_us, 4 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(timing.setup_us, 1.5 + 0.8 / 2);  // half of the SMs start a CTA
  EXPECT_DOUBLE_EQ(timing.start_us, 2);
}

TEST(OwnAttention, HasAnEfficiencyOfItsOwnWithShortHeads) {
  Machine one = machine_of_own_attention();
  const auto cta_us = [&](int head_dim) { return time_own_attention(one, heads(16, head_dim), 512).cta_us; };
  const double of_64_us = cta_us(64), of_96_us = cta_us(96), of_128_us = cta_us(128);
  one.own_attention->heads_of_64.efficiency = 0.25;
  EXPECT_DOUBLE_EQ(cta_us(64) - 2, 2 * (of_64_us - 2));
  EXPECT_DOUBLE_EQ(cta_us(96) - 2, (of_96_us - 2) * 0.5 / 0.375);
  EXPECT_DOUBLE_EQ(cta_us(128), of_128_us);
}

/// Of so many sequences of `tokens` each, whose 4 heads share 8 blocks of cached keys.
Attention behind_cache(int sequences) {
  Attention attention = heads(4, 128);
  attention.sequences = sequences;
  attention.cached = Slice{.rows = RowRange{0, sequences * std::int64_t{1024}}};
  return attention;
}
/// By our kernel: 20 queries that see the same keys are too many for that of few.
AttentionTiming verification_of(int sequences) {
  return time_own_attention(machine_of_own_attention(), behind_cache(sequences), std::int64_t{5} * sequences);
}
constexpr double lone_block_us = block_flops / 2 / 0.25e6;

TEST(OwnAttention, OfCachedKeysHasATileForTheHeadsThatShareThem) {
  // 32 tiles of 9 blocks on 8 SMs, each by one warpgroup.
  const AttentionTiming timing = verification_of(32);
  EXPECT_EQ(timing.ctas, 32);
  EXPECT_DOUBLE_EQ(timing.cta_us, 1 + 9 * lone_block_us);
  // Of two sequences, three splits of each tile have 3 of its 9 blocks each; a fourth would not shorten them.
  const AttentionTiming split = verification_of(2);
  EXPECT_EQ(split.ctas, 6);
  EXPECT_DOUBLE_EQ(split.cta_us + split.tail_us, 3 * lone_block_us);
  const double merged_bytes = 3 * 10 * 4 * 128 * 2;  // of three splits: ten tokens, four heads of 128 in bf16
  EXPECT_DOUBLE_EQ(split.setup_us + split.start_us, 1.5 + 0.8 * 6 / 8 + 1);
  EXPECT_DOUBLE_EQ(split.once_us, 3 + 3 * 0.5 + merged_bytes / 1e3);
}

TEST(OwnAttention, FollowsTheClockButForWhatComesFromMemory) {
  Machine one = machine_of_own_attention();
  one.own_attention->merge_GBps = 1e9;
  const Attention split = behind_cache(2);
  const AttentionTiming fast = time_own_attention(one, split, 10), slow = time_own_attention(one, split, 10, 0.5);
  EXPECT_DOUBLE_EQ(slow.setup_us, 2 * fast.setup_us);
  EXPECT_DOUBLE_EQ(slow.start_us, 2 * fast.start_us);
  EXPECT_DOUBLE_EQ(slow.cta_us, 2 * fast.cta_us);
  EXPECT_NEAR(slow.once_us, 2 * fast.once_us, 1e-4);
}

TEST(OwnAttention, HasACtaForEachOfEqualTilesSoThatALastWaveReadsOnlyItsOwnKeys) {
  const AttentionTiming timing = verification_of(9);
  EXPECT_EQ(timing.ctas, 9);
  EXPECT_DOUBLE_EQ(timing.cta_us, 1 + 9 * lone_block_us);
  EXPECT_EQ(timing.tail_us, 0);
}

// 8 tiles of keys of each sequence.
AttentionTiming decode_of(int sequences, int tokens = 1, int head_dim = 128) {
  Attention decode = behind_cache(sequences);
  decode.head_dim = head_dim;
  return time_own_attention(machine_of_own_attention(), decode, std::int64_t{tokens} * sequences);
}

TEST(DecodeAttention, SharesAllTilesOutOverTheSms) {
  const AttentionTiming whole = decode_of(16);
  EXPECT_EQ(whole.ctas, 8);
  EXPECT_DOUBLE_EQ(whole.setup_us, 4);
  EXPECT_DOUBLE_EQ(whole.cta_us, 2 * 8 * 0.5 + 1) << "two items";
  EXPECT_EQ(whole.once_us, 0);
  const AttentionTiming pieces = decode_of(2);
  EXPECT_EQ(pieces.ctas, 8);
  EXPECT_DOUBLE_EQ(pieces.cta_us, 2 * 0.5) << "16 tiles";
  EXPECT_DOUBLE_EQ(pieces.once_us, 2);
}

TEST(DecodeAttention, TakesLongerWithMoreQueriesAndWithLongHeads) {
  const AttentionTiming more = decode_of(16, 3);
  EXPECT_DOUBLE_EQ(more.setup_us, 6);
  EXPECT_DOUBLE_EQ(more.cta_us, 2 * 8 * 0.5 + 3);
  EXPECT_DOUBLE_EQ(decode_of(2, 3).once_us, 5);
  EXPECT_DOUBLE_EQ(decode_of(8, 1, 64).cta_us, 8 * 0.25);
}

TEST(DecodeAttention, MergesManyPiecesInGroups) {
  Machine large = machine_of_own_attention();
  large.gpu.gpc_sms = {40};
  Attention one = behind_cache(1);
  one.cached->rows = RowRange{0, 128 * 100};
  EXPECT_DOUBLE_EQ(time_own_attention(large, one, 1).once_us, 2 + 7);
  large.gpu.gpc_sms = {32};
  EXPECT_DOUBLE_EQ(time_own_attention(large, one, 1).once_us, 2);
}

TEST(DecodeAttention, FollowsTheClock) {
  const Attention two = behind_cache(2);
  const AttentionTiming slow = time_own_attention(machine_of_own_attention(), two, 2, 0.5);
  EXPECT_DOUBLE_EQ(slow.setup_us, 8);
  EXPECT_DOUBLE_EQ(slow.cta_us, 2);
  EXPECT_DOUBLE_EQ(slow.once_us, 4);
}

Schedule schedule_of(const Attention& attention, std::int64_t tokens) {
  Schedule schedule;
  schedule.buffers = {{.name = "packed", .rows = tokens, .columns = 6 * 128, .layout = {}}};
  Attention one = attention;
  one.qkv.rows = one.output.rows = RowRange{0, tokens};
  schedule.operations = {{"attention", 0, {}, one}};
  return schedule;
}

TEST(DecodeAttention, ComputesAsManyQueriesAsTheTensorCoresTakeAtOnce) {
  const auto flops = [](std::int64_t tokens) {
    const Schedule schedule = schedule_of(behind_cache(2), 2 * tokens);
    return computed_flops(machine_of_own_attention(), schedule, std::get<Attention>(schedule.operations[0].work));
  };
  EXPECT_DOUBLE_EQ(flops(1), 4.0 * 8 * 128 * 128 * 16) << "4 queries in 8, 16 tiles";
  EXPECT_DOUBLE_EQ(flops(3), 4.0 * 16 * 128 * 128 * 16);
}

TEST(DecodeAttention, ReadsWholeBoxesOfCachedKeysAndValues) {
  const auto bytes = [](std::int64_t tokens) {
    Attention two = behind_cache(2);
    two.cached->rows = RowRange{0, 2 * 1000};
    const Schedule schedule = schedule_of(two, 2 * tokens);
    return decoded_bytes(machine_of_own_attention(), schedule, std::get<Attention>(schedule.operations[0].work));
  };
  EXPECT_DOUBLE_EQ(bytes(1), 2 * 63 * 16 * 2 * 128 * 2.0) << "of 1,000 keys of each of two sequences";
  EXPECT_EQ(bytes(5), 0) << "by the kernel of many queries";
}

TEST(DecodeAttention, ReadsKeysOnceFasterThanTheRateOfOthers) {
  const auto share = [](int sequences, std::int64_t tokens) {
    const Schedule schedule = schedule_of(behind_cache(sequences), sequences * tokens);
    return hbm_share(machine_of_own_attention(), schedule, std::get<Attention>(schedule.operations[0].work));
  };
  EXPECT_EQ(share(2, 1), 1.25);
  EXPECT_EQ(share(2, 5), 1.25) << "by the kernel of many queries, in one tile";
  EXPECT_EQ(share(1, 300), 1) << "by several tiles of queries";
}

TEST(DecodeAttention, IsOurKernelOfFewQueriesOnFewSmsToo) {
  Attention few = behind_cache(2);
  few.max_sms = 4;
  EXPECT_TRUE(decodes(machine_of_own_attention(), schedule_of(few, 2)));
  EXPECT_FALSE(decodes(machine_of_own_attention(), schedule_of(few, 10)));
  EXPECT_FALSE(decodes(machine(), schedule_of(few, 2)));
  const Schedule schedule = schedule_of(few, 2);
  const auto& one = std::get<Attention>(schedule.operations[0].work);
  EXPECT_TRUE(runs_own_attention(machine_of_own_attention(), schedule, one));
  EXPECT_EQ(time_own_attention(machine_of_own_attention(), one, 2).ctas, 4);
}

TEST(DecodeAttention, IsPricedAsThatOfManyQueriesWhereTheProfileDoesNotKnowIt) {
  Machine older = machine_of_own_attention();
  older.own_attention->decode.reset();
  EXPECT_EQ(time_own_attention(older, behind_cache(2), 2).ctas, verification_of(2).ctas);
  const Schedule schedule = schedule_of(behind_cache(2), 2);
  EXPECT_FALSE(decodes(older, schedule));
  EXPECT_EQ(hbm_share(older, schedule, std::get<Attention>(schedule.operations[0].work)), 1);
}

TEST(OwnAttention, RunsNeitherForOthersNorOnFewSms) {
  const Machine one = machine_of_own_attention();
  Schedule schedule;
  EXPECT_TRUE(runs_own_attention(one, schedule, heads(1, 128)));
  EXPECT_FALSE(runs_own_attention(machine(), schedule, heads(1, 128)));
  Attention other = heads(1, 128);
  other.max_sms = 4;
  EXPECT_FALSE(runs_own_attention(one, schedule, other));
  schedule.implementation = Implementation::pytorch;
  EXPECT_FALSE(runs_own_attention(one, schedule, heads(1, 128)));
}

TEST(StayingTiles, OfOurOwnKernelTakeAStartAndTheirKeys) {
  // 4 blocks of queries of 3 heads see 2.5 blocks of keys on average; behind a prefix of two blocks 4.5.
  const Machine one = machine_of_own_attention();
  const StayingTiles tiles = staying_tiles(one, Schedule(), heads(3, 128), 512);
  EXPECT_EQ(tiles.count, 12);
  EXPECT_DOUBLE_EQ(tiles.mean_us, 2 + 2.5 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(staying_tiles(one, Schedule(), heads(3, 128, 256), 512).mean_us, 2 + 4.5 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(staying_tiles(one, Schedule(), heads(3, 128), 512, 0.5).mean_us,
                   2 * (2 + 2.5 * block_flops / 0.5e6));
}

TEST(StayingTiles, EndWithTheLongestOrWhereAllCtasHaveHadTheirShare) {
  const StayingTiles unequal{.count = 6, .mean_us = 3, .shortest_us = 1, .longest_us = 5};
  EXPECT_DOUBLE_EQ(unequal.on_ctas_us(6), 5);
  EXPECT_DOUBLE_EQ(unequal.on_ctas_us(4), 5);  // 4.5 for each, and half a short tile
  EXPECT_DOUBLE_EQ(unequal.on_ctas_us(2), 9);
  EXPECT_DOUBLE_EQ(StayingTiles({6, 3, 3, 3}).on_ctas_us(4), 6);  // two waves
}

TEST(StayingTiles, OfOurOwnKernelKnowTheirShortestAndLongest) {
  const StayingTiles tiles = staying_tiles(machine_of_own_attention(), Schedule(), heads(3, 128), 512);
  EXPECT_DOUBLE_EQ(tiles.shortest_us, 2 + 1 * block_flops / 0.5e6);
  EXPECT_DOUBLE_EQ(tiles.longest_us, 2 + 4 * block_flops / 0.5e6);
}

TEST(StayingTiles, OfOthersTakeTheirShareOfTheFlops) {
  Machine one = machine_of_own_attention();
  one.other_kernels.persistent_attention_efficiency = 0.25;
  Schedule schedule;
  schedule.implementation = Implementation::pytorch;
  const StayingTiles tiles = staying_tiles(one, schedule, heads(3, 128), 512);
  EXPECT_EQ(tiles.count, 12);
  EXPECT_DOUBLE_EQ(tiles.mean_us, 2 * block_flops / 0.25e6);
  one.own_attention.reset();
  EXPECT_DOUBLE_EQ(staying_tiles(one, Schedule(), heads(3, 128), 512).mean_us, tiles.mean_us);
}

TEST(StayingTiles, OverPartsOfTheMaskAreThoseOfTheKernel) {
  // 256 queries of rank 1 see 256 keys of one part and causally as many of another: tiles of 3 and 4 blocks of keys.
  PartialAttention attention{.heads = 2, .kv_heads = 1, .head_dim = 128};
  attention.queries.rows = RowRange{0, 256};
  attention.parts = {{}, {{0, 256, 0, 256}, {0, 256, 256, 256, AttentionMask::causal}}};
  const StayingTiles tiles = staying_tiles(machine_of_own_attention(), Schedule(), attention, 1);
  EXPECT_EQ(tiles.count, 4);
  EXPECT_DOUBLE_EQ(tiles.mean_us, 2 + 3.5 * block_flops / 0.5e6);
  EXPECT_EQ(staying_tiles(machine_of_own_attention(), Schedule(), attention, 0).count, 1) << "no query sees a key";
  Machine others = machine();
  others.other_kernels.persistent_attention_efficiency = 0.25;
  EXPECT_EQ(staying_tiles(others, Schedule(), attention, 1).count, 8);
}

TEST(AttentionModel, CountsBothProductsOfACausalSequence) {
  EXPECT_DOUBLE_EQ(flops_of(heads(2, 64, 100), 200), 4.0 * 200 * 200 * 2 * 64);
}

}  // namespace attention_model_test
}  // namespace weft
