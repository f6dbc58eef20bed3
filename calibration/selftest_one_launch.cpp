#include "calibration/selftest_one_launch.hpp"

#include "calibration/selftest_kernel_name.hpp"
#include "models/base/names.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

constexpr BufferId b = 0, input = 1, result = 2, fetched = 3;
constexpr const char* stores = "gemm+all_to_all";
constexpr const char* gathers = "all_gather+gemm";

/// From or for rank + `step`: rows of that rank's shard, on rank + `place`.
Slice shard(BufferId buffer, const MatrixSize& size, std::int64_t columns, int step, int place) {
  return {buffer, place, ShardRows{.rank_offset = step, .of_rows = size.m}, 0, columns};
}

RowBlock block_of(const std::string& op, const MatrixSize& size, int gpus, int step) {
  if (op == stores) return {shard(input, size, size.k, step, 0), shard(result, size, size.n, 0, step)};
  const Slice c = shard(result, size, size.n, step, 0);
  const auto send = [&](int place) {
    return op == gathers ? Slice{input, place, RowRange{0, size.m / gpus}, 0, size.k}
                         : shard(input, size, size.k, 0, place);
  };
  if (step == 0) return {send(0), c};
  return {.a = shard(fetched, size, size.k, step, 0), .c = c, .a_from = send(step)};
}

/// `size` is that of a block.
Schedule exchange(const std::string& op, int gpus, const MatrixSize& of_block, const GemmKernel& kernel) {
  const MatrixSize size{of_block.m * gpus, of_block.n, of_block.k};
  Schedule schedule;
  schedule.name = op + " in one launch of " + std::to_string(of_block.m) + " rows a GPU, gpus=" + std::to_string(gpus) +
                  ", " + own_kernel_name(kernel);
  schedule.family = "hybrid";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  const Memory of_result = op == stores ? Memory::symmetric : Memory::local;
  const Memory of_input = op == stores ? Memory::local : Memory::symmetric;
  schedule.buffers = {
      {.name = "b", .rows = size.n, .columns = size.k},
      {.name = "input", .rows = op == gathers ? of_block.m : size.m, .columns = size.k, .memory = of_input},
      {.name = "result", .rows = size.m, .columns = size.n, .memory = of_result}};
  if (op != stores) schedule.buffers.push_back({.name = "fetched", .rows = size.m, .columns = size.k});
  Gemm gemm;
  gemm.b = {b, 0, RowRange{0, size.n}, 0, size.k};
  gemm.kernel = kernel;
  gemm.order.swizzle = 2;
  gemm.meets = PeerMeeting::begin_and_end;
  for (int i = 0; i < gpus; ++i) {
    gemm.earlier.push_back(block_of(op, size, gpus, op == stores ? (i + 1) % gpus : i));
    gemm.tile_groups.push_back(tile_grid(kernel, of_block).tiles());
  }
  const RowBlock last = gemm.earlier.back();
  gemm.earlier.pop_back();
  gemm.a = last.a, gemm.c = last.c, gemm.a_from = last.a_from;
  schedule.meaning = Meaning{op, size.m, size.n, size.k, input, b, result, 1};
  schedule.operations = {{"gemm", 0, {}, gemm}};
  return schedule;
}

}  // namespace

std::vector<Schedule> one_launch_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const GemmKernel& kernel : own_kernels)
    for (const char* op : {stores, gathers, "all_to_all+gemm"})
      for (const MatrixSize& of_block : {MatrixSize{768, 1928, 1032}, MatrixSize{256, 136, 4104}})
        if (kernel.scheduler != TileScheduler::grid) schedules.push_back(exchange(op, gpus, of_block, kernel));
  return schedules;
}

}  // namespace weft::calibration
