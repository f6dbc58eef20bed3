#include <gmock/gmock.h>

#include "models/check/hardware_support.hpp"
#include "scenarios/families/build.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace lone_kernels_test {

using testing::ElementsAre;

TEST(LoneKernels, AttentionReadsPackedRows) {
  const Schedule schedule = build_case(AttentionKernelWorkload{256, 8, 2, 64}, 1);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: attention"));
  const auto& attention = std::get<Attention>(schedule.operations[0].work);
  EXPECT_EQ(attention.qkv.columns, (8 + 2 * 2) * 64);
  EXPECT_EQ(attention.output.columns, 8 * 64);
  EXPECT_FALSE(attention.cached);
  EXPECT_TRUE(is_runnable(schedule));
}

TEST(LoneKernels, AttentionHasTheCachedKeysOfItsSequences) {
  const Schedule schedule = build_case(
      AttentionKernelWorkload{.tokens = 4, .heads = 8, .kv_heads = 2, .head_dim = 64, .sequences = 4, .prefix = 100},
      1);
  const auto& attention = std::get<Attention>(schedule.operations[0].work);
  EXPECT_EQ(attention.sequences, 4);
  EXPECT_EQ(attention.cached->columns, 2 * 2 * 64);
  EXPECT_EQ(row_count(attention.cached->rows, 1), 400);
}

TEST(LoneKernels, NormsAddInPlace) {
  const Schedule schedule = build_case(RowKernelWorkload{RowKernel::add_rms_norm, 300, 512}, 2);
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: add_rms_norm"));
  const auto& norm = std::get<MemoryBound>(schedule.operations[0].work);
  EXPECT_EQ(norm.reads[1], norm.writes[1]);
  EXPECT_NE(norm.reads[0], norm.writes[0]);
}

TEST(LoneKernels, NormsReadTilesInEachLayout) {
  for (const LayoutKind kind : {LayoutKind::tile_ordered, LayoutKind::sub_tile_ordered, LayoutKind::per_destination}) {
    const Schedule schedule = build_case(RowKernelWorkload{RowKernel::add_rms_norm, 4096, 8192, kind}, 2);
    const auto& norm = std::get<MemoryBound>(schedule.operations[0].work);
    const Buffer& tiles = schedule.buffers[static_cast<std::size_t>(norm.reads[0].buffer)];
    EXPECT_EQ(tiles.layout.kind, kind);
    EXPECT_EQ(tiles.layout.group_tiles.size(), kind == LayoutKind::tile_ordered ? 0u : 8u);
    EXPECT_TRUE(is_runnable(schedule)) << name_of(kind);
  }
  EXPECT_EQ(build_error(RowKernelWorkload{RowKernel::add_rms_norm, 4096, 8200, LayoutKind::tile_ordered}, 2),
            "workload.n: expected a multiple of a tile's 256, got 8200");
}

TEST(LoneKernels, ActivationsReadBothHalvesAndRotaryEmbeddingTurnsInPlace) {
  const Schedule swiglu = build_case(RowKernelWorkload{RowKernel::swiglu, 300, 512}, 1);
  EXPECT_EQ(std::get<MemoryBound>(swiglu.operations[0].work).reads[0].columns, 1024);
  const Schedule rotary = build_case(RowKernelWorkload{RowKernel::rotary, 300, 512}, 1);
  const auto& turned = std::get<MemoryBound>(rotary.operations[0].work);
  EXPECT_EQ(turned.reads, turned.writes);
}

TEST(LoneKernels, SeveralInARowAreOneAfterTheOtherEachAttentionWithKeysOfItsOwn) {
  RowKernelWorkload rows{RowKernel::swiglu, 300, 512};
  rows.repeats = 3;
  const Schedule activations = build_case(rows, 1);
  EXPECT_THAT(program_of(activations), ElementsAre("s0: swiglu 0", "s0: swiglu 1", "s0: swiglu 2"));
  EXPECT_EQ(activations.repeats_per_iteration, 3);
  EXPECT_EQ(activations.operations[0].work, activations.operations[2].work);
  EXPECT_TRUE(is_runnable(activations));
  const AttentionKernelWorkload decode{
      .tokens = 4, .heads = 8, .kv_heads = 2, .head_dim = 128, .sequences = 4, .prefix = 100, .repeats = 2};
  const Schedule attentions = build_case(decode, 1);
  const auto cached = [&](std::size_t i) { return std::get<Attention>(attentions.operations[i].work).cached->buffer; };
  EXPECT_NE(cached(0), cached(1));
  EXPECT_TRUE(is_runnable(attentions));
  rows.repeats = 65;
  EXPECT_EQ(build_error(rows, 1), "workload.repeats: expected an integer from 1 to 64, got 65");
}

}  // namespace lone_kernels_test
}  // namespace weft::scenarios::families
