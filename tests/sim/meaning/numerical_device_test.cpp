// Tile by tile, by stores to a peer, with memory-bound kernels: programs that no builder makes yet.
#include "sim/meaning/numerical_device.hpp"

#include <gmock/gmock.h>

#include "models/check/validation.hpp"
#include "tests/models/error_of.hpp"
#include "tests/sim/failure_of.hpp"

namespace weft::sim::meaning {
namespace numerical_device_test {

/// Schedules of one GEMM and what surrounds it: c[8, 6] = a[8, 3] x b[6, 3]^T on two GPUs.
class SmallProgram {
 public:
  SmallProgram() {
    schedule.gpus = 2;
    schedule.streams = {{"s0", 0}, {"s1", 0}};
    buffer("a", 8, 3);
    buffer("b", 6, 3);
    buffer("c", 8, 6);
    schedule.meaning =
        Meaning{.op = "gemm", .m = 8, .n = 6, .k = 3, .a = 0, .b = 1, .result = 2, .chunks = 1, .also = {}};
  }
  BufferId buffer(const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory = Memory::local) {
    schedule.buffers.push_back(
        {.name = name, .rows = rows, .columns = columns, .dtype = DataType::bf16, .memory = memory, .layout = {}});
    return static_cast<BufferId>(schedule.buffers.size()) - 1;
  }
  Slice rows(BufferId id, std::int64_t first, std::int64_t count, int place = 0) const {
    return {.buffer = id,
            .place = place,
            .rows = RowRange{first, count},
            .first_column = 0,
            .columns = schedule.buffers[static_cast<std::size_t>(id)].columns};
  }
  Slice whole(BufferId id, int place = 0) const {
    return rows(id, 0, schedule.buffers[static_cast<std::size_t>(id)].rows, place);
  }
  OperationId add(StreamId stream, Work work, std::vector<After> after = {}) {
    const std::string name = "operation " + std::to_string(schedule.operations.size());
    schedule.operations.push_back({name, stream, std::move(after), std::move(work)});
    return static_cast<OperationId>(schedule.operations.size()) - 1;
  }
  Gemm gemm(BufferId a = 0, BufferId b = 1, BufferId c = 2) const {
    Gemm gemm;
    gemm.a = whole(a);
    gemm.b = whole(b);
    gemm.c = whole(c);
    return gemm;
  }
  std::string failure() const {
    validate(schedule);
    return failure_of(schedule);
  }
  Schedule schedule;
};

// 3 x 2 tiles of 3 x 4, those of the last row and column cut off.
Gemm tiled(Gemm gemm) {
  gemm.kernel = GemmKernel{};
  gemm.kernel->tile_m = 3;
  gemm.kernel->tile_n = 4;
  gemm.order.swizzle = 2;
  gemm.tile_groups = {2, 3, 1};
  return gemm;
}

TEST(SmallPrograms, TilesAtTheEdgesAreCutOff) {
  SmallProgram program;
  program.add(0, tiled(program.gemm()));
  EXPECT_EQ(program.failure(), "");
}

// Rows 0 … 3 of a arrive, then the rest; in bands of two tile rows the first two tiles need rows 0 … 5.
Schedule tiles_that_wait(std::int64_t rows_of_first_copy) {
  SmallProgram program;
  const BufferId staged = program.buffer("staged", 8, 3);
  program.schedule.counters = {{"arrived", false}};
  Gemm gemm = tiled(program.gemm(staged));
  gemm.waits = {{0, 0, 1}, {1, 0, 2}, {2, 0, 2}};
  program.add(0, gemm);
  const std::int64_t first = rows_of_first_copy;
  program.add(1, Copy{program.rows(0, 0, first), program.rows(staged, 0, first)});
  program.add(1, Signal{});
  program.add(1, Copy{program.rows(0, first, 8 - first), program.rows(staged, first, 8 - first)});
  program.add(1, Signal{});
  validate(program.schedule);
  return program.schedule;
}

TEST(SmallPrograms, TilesThatWaitForTheirRowsAreRight) { EXPECT_EQ(failure_of(tiles_that_wait(6)), ""); }
TEST(SmallPrograms, TilesThatStartBeforeTheirRowsAreThereAreWrong) { EXPECT_NE(failure_of(tiles_that_wait(4)), ""); }

TEST(SmallPrograms, SplitAlongKAndSummedIsAProduct) {
  SmallProgram program;
  const BufferId partials = program.buffer("partials", 16, 6);
  for (const auto& [first, columns, row] : {std::tuple{0, 2, 0}, {2, 1, 8}}) {
    Gemm gemm = program.gemm();
    gemm.a.first_column = gemm.b.first_column = first;
    gemm.a.columns = gemm.b.columns = columns;
    gemm.c = program.rows(partials, row, 8);
    program.add(0, gemm);
  }
  program.add(0, MemoryBound{MemoryKernel::partial_sum, {program.whole(partials)}, {program.whole(2)}});
  EXPECT_EQ(program.failure(), "");
}

TEST(SmallPrograms, GatheredRowsAddedToAFilledBufferStayWhatTheyWere) {
  SmallProgram program;
  const BufferId zero = program.buffer("zero", 8, 3), swapped = program.buffer("swapped", 8, 3);
  const BufferId again = program.buffer("again", 8, 3), sum = program.buffer("sum", 8, 3);
  const std::vector<Slice> halves{program.rows(swapped, 4, 4), program.rows(swapped, 0, 4)};
  program.add(0, MemoryBound{MemoryKernel::fill, {}, {program.whole(zero)}});
  program.add(0, MemoryBound{MemoryKernel::scatter, {program.whole(0)}, halves});
  program.add(0, MemoryBound{MemoryKernel::gather, halves, {program.whole(again)}});
  program.add(0, MemoryBound{MemoryKernel::add, {program.whole(zero), program.whole(again)}, {program.whole(sum)}});
  program.add(0, program.gemm(sum));
  EXPECT_EQ(program.failure(), "");
}

/// gemm+all_to_all by stores: each rank computes its block for itself and the one for its peer, straight into the
/// peer's inbox.
Schedule stores_to_the_peer(bool with_barrier) {
  SmallProgram program;
  const BufferId inbox = program.buffer("inbox", 8, 6, Memory::symmetric);
  program.add(0, Barrier{});
  for (const int peer : {1, 0}) {
    Gemm gemm = program.gemm();
    gemm.a.rows = ShardRows{.rank_offset = peer, .chunk = 0, .chunks = 1, .first = 0, .of_rows = 8};
    gemm.c = program.whole(inbox, peer);
    gemm.c.rows = ShardRows{.rank_offset = 0, .chunk = 0, .chunks = 1, .first = 0, .of_rows = 8};
    program.add(0, gemm);
  }
  if (with_barrier) program.add(0, Barrier{});
  program.add(0, Copy{program.whole(inbox), program.whole(2)});
  program.schedule.meaning->op = "gemm+all_to_all";
  validate(program.schedule);
  return program.schedule;
}

TEST(SmallPrograms, StoresToAPeerArriveBeforeTheBarrier) { EXPECT_EQ(failure_of(stores_to_the_peer(true)), ""); }
TEST(SmallPrograms, StoresToAPeerWithoutABarrierAreReadTooSoon) {
  EXPECT_NE(failure_of(stores_to_the_peer(false)), "");
}

// A buffer that is filled while the copy out of it may still be running.
TEST(SmallPrograms, OverwritingAnInputInUseMakesTheResultUndefined) {
  SmallProgram program;
  const BufferId staged = program.buffer("staged", 8, 3), used = program.buffer("used", 8, 3);
  program.add(0, Copy{program.whole(0), program.whole(staged)});
  const OperationId use = program.add(0, Copy{program.whole(staged), program.whole(used)});
  program.add(1, MemoryBound{MemoryKernel::fill, {}, {program.whole(staged)}}, {{use, Point::first_cta_started, 0}});
  program.add(0, program.gemm(used));
  EXPECT_THAT(program.failure(), testing::HasSubstr("undefined"));
}

TEST(SmallPrograms, ThatWriteMoreThanAKernelHasResultsAreRefused) {
  SmallProgram program;
  program.add(0, program.gemm());
  program.add(0, MemoryBound{MemoryKernel::rms_norm, {program.whole(0)}, {program.whole(0), program.whole(1)}});
  EXPECT_EQ(error_of([&] { check_meaning(program.schedule, 0); }),
            "operations[1].memory_bound: expected an operation that means something in integers, got 2 slices for one "
            "result");
}

}  // namespace numerical_device_test
}  // namespace weft::sim::meaning
