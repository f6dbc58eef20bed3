// What the kernels that weft brings itself can run, and on which machines.
#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace own_kernel_support_test {

constexpr std::int64_t rows = 4 * own_tile_m, columns = 512;

Slice whole(BufferId buffer) { return {buffer, 0, RowRange{0, rows}, 0, columns}; }

/// One operation on four matrices.
Schedule schedule_of(Work work, Memory memory = Memory::symmetric) {
  Schedule schedule;
  schedule.gpus = 2;
  for (const char* name : {"a", "b", "c", "d"})
    schedule.buffers.push_back({.name = name, .rows = rows, .columns = columns, .memory = memory, .layout = {}});
  schedule.streams = {{"s0", 0}};
  schedule.operations = {{"only", 0, {}, std::move(work)}};
  return schedule;
}

Gemm gemm_by(const GemmKernel& kernel) {
  Gemm gemm;
  gemm.a = whole(0), gemm.b = whole(1), gemm.c = whole(2);
  gemm.kernel = kernel, gemm.order = own_order;
  return gemm;
}

std::string refusal(const Schedule& schedule) {
  const auto error = why_not_runnable(schedule);
  return error ? error->what() : "";
}

TEST(OwnKernels, AllRunAndNoOthers) {
  for (const GemmKernel& kernel : own_kernels) EXPECT_EQ(refusal(schedule_of(gemm_by(kernel))), "");
  GemmKernel other = own_kernels.front();
  other.stages += 1;
  EXPECT_NE(refusal(schedule_of(gemm_by(other))).find("a GEMM kernel that weft does not have"), std::string::npos);
}

TEST(OwnKernels, OfClustersNeedAnEvenNumberOfTileRows) {
  const GemmKernel pairs = own_kernel(256, 2, TileScheduler::static_persistent);
  Gemm gemm = gemm_by(pairs);
  gemm.a.rows = gemm.c.rows = RowRange{0, 3 * own_tile_m};
  EXPECT_NE(refusal(schedule_of(gemm)).find("in 3 rows of tiles"), std::string::npos);
  gemm = gemm_by(pairs);
  gemm.order.swizzle = 1;
  EXPECT_NE(refusal(schedule_of(gemm)).find("1 at a time"), std::string::npos);
}

TEST(OwnKernels, LimitSmsWhereTheirCtasStay) {
  Gemm gemm = gemm_by(own_kernel(128, 1, TileScheduler::grid));
  gemm.max_sms = 64;
  EXPECT_NE(refusal(schedule_of(gemm)).find("a limit of SMs for a grid"), std::string::npos);
  gemm.kernel->scheduler = TileScheduler::static_persistent;
  EXPECT_EQ(refusal(schedule_of(gemm)), "");
}

// A grid's CTAs that have no SM yet would have their share of the rows to fetch.
TEST(OwnKernels, FetchWholeOctetsOfRowsWhereTheirCtasStay) {
  Gemm gemm = gemm_by(own_kernel(128, 1, TileScheduler::static_persistent));
  gemm.meets = PeerMeeting::begin_and_end;
  gemm.a_from = whole(3);
  gemm.a_from->place = 1;
  EXPECT_EQ(refusal(schedule_of(gemm)), "");
  gemm.kernel->scheduler = TileScheduler::grid;
  EXPECT_NE(refusal(schedule_of(gemm)).find("rows fetched by a grid of tiles"), std::string::npos);
  gemm.kernel->scheduler = TileScheduler::static_persistent;
  for (Slice* slice : {&gemm.a, &gemm.b, &*gemm.a_from}) slice->columns = 500;
  EXPECT_NE(refusal(schedule_of(gemm)).find("rows that are no multiples of 16 bytes"), std::string::npos);
}

TEST(OwnKernels, MoveSixteenBytesAtATime) {
  Gemm gemm = gemm_by(own_kernels.front());
  gemm.a.first_column = gemm.b.first_column = 4;
  gemm.a.columns = gemm.b.columns = 8;
  EXPECT_NE(refusal(schedule_of(gemm)).find("rows of \"a\" that are not aligned to 16 bytes"), std::string::npos);
}

Collective by_peer_kernel(CollectiveKind kind, std::int64_t input_rows, std::int64_t output_rows) {
  Collective work{.kind = kind, .input = whole(0), .output = whole(1), .transport = Transport::peer_kernel};
  work.input.rows = RowRange{0, input_rows}, work.output.rows = RowRange{0, output_rows};
  return work;
}

TEST(PeerKernels, ReadWhatPeersMap) {
  const Collective all_reduce = by_peer_kernel(CollectiveKind::all_reduce, rows, rows);
  EXPECT_EQ(refusal(schedule_of(all_reduce)), "");
  EXPECT_NE(refusal(schedule_of(all_reduce, Memory::local)).find("on local memory"), std::string::npos);
  EXPECT_EQ(refusal(schedule_of(by_peer_kernel(CollectiveKind::all_gather, rows / 2, rows))), "");
}

TEST(PeerKernels, ShareOutWholeWords) {
  Collective odd = by_peer_kernel(CollectiveKind::all_reduce, 1, 1);
  Schedule schedule = schedule_of(odd);
  for (Buffer& buffer : schedule.buffers) buffer.columns = 8;
  auto& work = std::get<Collective>(schedule.operations[0].work);
  work.input.columns = work.output.columns = 8;
  EXPECT_NE(refusal(schedule).find("shares that are no multiples of 16 bytes"), std::string::npos);
}

TEST(OwnKernels, AttentionHasHeadsOf64And128) {
  Attention attention{.qkv = whole(0), .output = whole(1), .heads = 2, .kv_heads = 1, .head_dim = 128};
  EXPECT_EQ(refusal(schedule_of(attention)), "");
  attention.head_dim = 96;
  EXPECT_NE(refusal(schedule_of(attention)).find("heads of 96"), std::string::npos);
}

/// Of 4 heads of 128 columns over the keys and values of 2: results in "c", their logarithms in "d".
Schedule partial_attention(std::size_t parts) {
  PartialAttention work{.queries = whole(0),
                        .keys_values = whole(1),
                        .output = whole(2),
                        .log_sum_exp = whole(3),
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = 128};
  work.log_sum_exp.columns = work.heads;
  work.parts.assign(2, {});
  for (std::size_t i = 0; i < parts; ++i)
    work.parts[1].push_back({.first_query = static_cast<std::int64_t>(i), .queries = 1, .first_key = 0, .keys = 8});
  Schedule schedule = schedule_of(work);
  schedule.buffers[3].columns = work.heads, schedule.buffers[3].dtype = DataType::fp32;
  return schedule;
}

TEST(OwnKernels, PartialAttentionKnowsSomePartsOfTheMask) {
  EXPECT_EQ(refusal(partial_attention(max_attention_parts)), "");
  EXPECT_NE(refusal(partial_attention(max_attention_parts + 1)).find("17 parts of attention"), std::string::npos);
  Schedule in_bf16 = partial_attention(1);
  in_bf16.buffers[3].dtype = DataType::bf16;
  EXPECT_NE(refusal(in_bf16).find("log_sum_exp in bf16"), std::string::npos);
}

TEST(OwnKernels, MergeHeadsThatAWarpHolds) {
  const auto merge_of = [](std::int64_t heads) {
    Schedule schedule = schedule_of(Delay{});
    schedule.buffers[3].columns = heads, schedule.buffers[3].dtype = DataType::fp32;
    Slice sums = whole(3);
    sums.columns = heads;
    schedule.operations[0].work =
        MemoryBound{MemoryKernel::log_sum_exp_merge, {whole(0), sums, whole(1), sums}, {whole(2), sums}};
    return schedule;
  };
  EXPECT_EQ(refusal(merge_of(4)), "");
  EXPECT_NE(refusal(merge_of(1)).find("a merge of 1 heads in 512 columns"), std::string::npos);
  Schedule many = merge_of(4);
  auto& reads = std::get<MemoryBound>(many.operations[0].work).reads;
  while (reads.size() <= 2 * max_merged) reads.insert(reads.end(), reads.begin(), reads.begin() + 2);
  EXPECT_NE(refusal(many).find("reads of log_sum_exp_merge"), std::string::npos);
}

TEST(PeerKernels, ExchangeRowsThatPeersMap) {
  GroupedExchange cast{.input = whole(0), .output = whole(1), .transport = Transport::peer_kernel};
  cast.rows.assign(2, std::vector<RowRange>(2, RowRange{0, rows / 2}));
  EXPECT_EQ(refusal(schedule_of(cast)), "");
  EXPECT_NE(refusal(schedule_of(cast, Memory::local)).find("a grouped exchange on local memory"), std::string::npos);
  Schedule followed = schedule_of(cast);
  followed.operations.push_back({"beside", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_EQ(refusal(followed), "") << "one kernel";
}

TEST(PeerKernels, LeaveExchangesOfLocalMemoryToTheLibrary) {
  GroupedExchange sent{.input = whole(0), .output = whole(1)};
  sent.rows.assign(2, std::vector<RowRange>(2, RowRange{0, rows / 2}));
  EXPECT_EQ(refusal(schedule_of(sent, Memory::local)), "");
  Schedule followed = schedule_of(sent);
  followed.operations.push_back({"beside", 0, {{0, Point::all_ctas_started, 0}}, Delay{1}});
  EXPECT_EQ(refusal(followed), "") << "of several kernels the first";
  for (auto& of_rank : std::get<GroupedExchange>(followed.operations[0].work).rows) of_rank[1] = {};
  std::get<GroupedExchange>(followed.operations[0].work).rows[1] = {{}, {}};
  EXPECT_NE(refusal(followed).find("no kernel on every rank"), std::string::npos) << "rank 1 has no rows";
  sent.kind = GroupedKind::reduce;
  EXPECT_NE(refusal(schedule_of(sent)).find("a grouped exchange by nccl that adds"), std::string::npos);
}

TEST(OwnKernels, NormsKeepARowInRegisters) {
  Schedule schedule = schedule_of(MemoryBound{MemoryKernel::rms_norm, {whole(0)}, {whole(1)}});
  EXPECT_EQ(refusal(schedule), "");
  for (Buffer& buffer : schedule.buffers) buffer.columns = max_norm_columns + 8;
  auto& work = std::get<MemoryBound>(schedule.operations[0].work);
  work.reads[0].columns = work.writes[0].columns = max_norm_columns + 8;
  EXPECT_NE(refusal(schedule).find("longer than 16384 columns"), std::string::npos);
  work.kernel = MemoryKernel::rotary;  // as swiglu it keeps no row
  EXPECT_EQ(refusal(schedule), "");
}

/// A norm of two rows of three tiles, with the sums in rows.
Schedule norm_of_tiles(LayoutKind kind) {
  Schedule schedule = schedule_of(MemoryBound{MemoryKernel::add_rms_norm, {}, {}});
  const Layout layout{.kind = kind, .rows = 256, .columns = 384, .tile_rows = 128, .tile_columns = 128};
  schedule.buffers = {{.name = "tiles", .rows = 768, .columns = 128, .layout = layout}};
  for (const char* name : {"residual", "normed"})
    schedule.buffers.push_back({.name = name, .rows = 256, .columns = 384, .layout = {}});
  if (kind != LayoutKind::tile_ordered) schedule.buffers[0].layout.group_tiles = {2, 4};
  auto& work = std::get<MemoryBound>(schedule.operations[0].work);
  const Slice residual{1, 0, RowRange{0, 256}, 0, 384};
  work.reads = {Slice{0, 0, RowRange{0, 768}, 0, 128}, residual};
  work.writes = {Slice{2, 0, RowRange{0, 256}, 0, 384}, residual};
  return schedule;
}

TEST(OwnKernels, NormsPutTilesInOrder) {
  for (const LayoutKind kind : {LayoutKind::tile_ordered, LayoutKind::sub_tile_ordered, LayoutKind::per_destination})
    EXPECT_EQ(refusal(norm_of_tiles(kind)), "") << name_of(kind);
  Schedule many = norm_of_tiles(LayoutKind::sub_tile_ordered);
  many.buffers[0].layout.group_tiles.assign(max_norm_groups + 1, 1);
  EXPECT_NE(refusal(many).find("a norm of 65 groups of tiles"), std::string::npos);
  Schedule residual = norm_of_tiles(LayoutKind::tile_ordered);
  std::swap(std::get<MemoryBound>(residual.operations[0].work).reads[0],
            std::get<MemoryBound>(residual.operations[0].work).reads[1]);
  EXPECT_NE(refusal(residual).find("got layout tile_ordered"), std::string::npos);
  Schedule activation = norm_of_tiles(LayoutKind::tile_ordered);
  std::get<MemoryBound>(activation.operations[0].work).kernel = MemoryKernel::add;
  EXPECT_NE(refusal(activation).find("got layout tile_ordered"), std::string::npos);
}

TEST(OwnKernels, RunOnHopperOnly) {
  const Schedule schedule = schedule_of(gemm_by(own_kernels.front()));
  const auto runs_on = [&](const char* name) {
    return is_runnable(schedule, read_machine(tests::source_folder() + "/calibration/machines/" + name + ".json"));
  };
  EXPECT_TRUE(runs_on("h200x8-nvswitch"));
  EXPECT_TRUE(runs_on("h100x8-nvswitch"));
  EXPECT_FALSE(runs_on("a800x8-nvlink-pairs"));
  EXPECT_FALSE(runs_on("mi300x8-mesh"));
}

}  // namespace own_kernel_support_test
}  // namespace weft
