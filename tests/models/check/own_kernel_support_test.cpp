// What the kernels that weft brings itself can run, and on which machines.
#include <gtest/gtest.h>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace {

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

TEST(OwnKernels, NormsKeepARowInRegisters) {
  Schedule schedule = schedule_of(MemoryBound{MemoryKernel::rms_norm, {whole(0)}, {whole(1)}});
  EXPECT_EQ(refusal(schedule), "");
  for (Buffer& buffer : schedule.buffers) buffer.columns = max_norm_columns + 8;
  auto& work = std::get<MemoryBound>(schedule.operations[0].work);
  work.reads[0].columns = work.writes[0].columns = max_norm_columns + 8;
  EXPECT_NE(refusal(schedule).find("longer than 16384 columns"), std::string::npos);
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

}  // namespace
}  // namespace weft
