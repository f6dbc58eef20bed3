#include "scenarios/study/reference.hpp"

#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/check/validation.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::study {
namespace reference_test {

LayerWorkload layer(bool sequence_parallel = false, std::int64_t experts = 0) {
  LayerWorkload workload{.tokens = 256, .hidden = 128, .heads = 8, .kv_heads = 4, .head_dim = 64, .intermediate = 256};
  workload.sequence_parallel = sequence_parallel;
  workload.experts = experts;
  workload.experts_per_token = experts == 0 ? 0 : 2;
  return workload;
}

const std::string& name_of_buffer(const Schedule& schedule, BufferId id) {
  return schedule.buffers[static_cast<std::size_t>(id)].name;
}

TEST(Reference, OfALayerIsTheSerialOneWithAllReduces) {
  const Case split = make_case(layer(), 2, TokenSplit{64}), scattered = make_case(layer(true), 2, AsyncTp{});
  for (const Case& request : {split, scattered}) {
    const auto reference = reference_of(request, round_machine());
    ASSERT_TRUE(reference);
    EXPECT_EQ(*reference, build_case(layer(), 2));
    EXPECT_NO_THROW(validate(*reference));
    EXPECT_TRUE(is_runnable(*reference));
    EXPECT_EQ(name_of_buffer(*reference, reference->meaning->result), "activated");
  }
}

TEST(Reference, HasNoneItself) {
  EXPECT_FALSE(reference_of(make_case(layer(), 2), round_machine()));
  EXPECT_TRUE(reference_of(make_case(layer(true), 2), round_machine())) << "ranks own rows";
}

TEST(Reference, OfAPairIsAPlainOne) {
  const PairWorkload pair{PairOp::gemm_all_reduce, 256, 128, 64};
  EXPECT_FALSE(reference_of(make_case(pair, 2, Decomposition{2}), round_machine()));
}

TEST(Reference, LayersSayWhatTheyBeginWith) {
  const Schedule scattered = build_case(layer(true), 2, AsyncTp{});
  ASSERT_TRUE(scattered.meaning);
  EXPECT_EQ(name_of_buffer(scattered, scattered.meaning->a), "residual");
  EXPECT_EQ(name_of_buffer(scattered, scattered.meaning->b), "normed");
  EXPECT_EQ(name_of_buffer(scattered, scattered.meaning->layer->normed_rows->buffer), "normed rows");
  const Schedule split = build_case(layer(), 2, TokenSplit{64});
  EXPECT_EQ(name_of_buffer(split, split.meaning->layer->partial->buffer), "mlp partial");
  EXPECT_FALSE(split.meaning->layer->normed_rows);
}

TEST(Reference, LayersInChunksSayHowTheyOrderRows) {
  const Schedule chunks = build_case(layer(true), 2, Decomposition{2});
  EXPECT_EQ(chunks.meaning->chunks, 2);
  EXPECT_EQ(chunks.meaning->layer->chunks, 2);
}

/// Which experts a token goes to depends on its place among the rows.
TEST(Reference, ExpertsOfSplitTokensAreOthers) {
  EXPECT_TRUE(build_case(layer(false, 4), 2).meaning);
  EXPECT_FALSE(build_case(layer(false, 4), 2, TokenSplit{64}).meaning);
}

}  // namespace reference_test
}  // namespace weft::scenarios::study
