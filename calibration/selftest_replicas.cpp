#include "calibration/selftest_replicas.hpp"

#include "calibration/selftest_kernel_name.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/layout.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t m = 2048, n = 1920, k = 1024;
constexpr int halves = 2;
constexpr StreamId compute = 0, sums = 1;
constexpr BufferId a = 0, b = 1, c = 2, result = 3, first_stored = 4;

Slice half_of(BufferId buffer, int half) { return {buffer, 0, RowRange{half * m / halves, m / halves}, 0, n}; }
Slice all_of(BufferId buffer, int place = 0) { return {buffer, place, RowRange{0, m}, 0, n}; }

Gemm replicated_gemm(int gpus, const GemmKernel& kernel) {
  Gemm gemm;
  gemm.a = {a, 0, RowRange{0, m}, 0, k};
  gemm.b = {b, 0, RowRange{0, n}, 0, k};
  gemm.c = all_of(c);
  gemm.kernel = kernel;
  const TileGrid grid = tile_grid(kernel, {m, n, k});
  gemm.order.swizzle = static_cast<int>(grid.rows / halves);
  gemm.tile_groups.assign(halves, grid.tiles() / halves);
  for (int peer = 1; peer < gpus; ++peer) gemm.replicas.push_back(all_of(first_stored + peer - 1, peer));
  for (int half = 0; half < halves; ++half)
    for (int place = 0; place < gpus; ++place)
      gemm.signals.push_back({.tile_group = half, .counter = half, .place = place});
  return gemm;
}

}  // namespace

Schedule stored_on_peers(int gpus, const GemmKernel& kernel) {
  Schedule schedule;
  schedule.name = "tiles stored on peers gpus=" + std::to_string(gpus) + ", " + own_kernel_name(kernel);
  schedule.family = "hybrid";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}, {"sums", -5}};
  schedule.buffers = {{.name = "a", .rows = m, .columns = k},
                      {.name = "b", .rows = n, .columns = k},
                      {.name = "c", .rows = m, .columns = n},
                      {.name = "result", .rows = m, .columns = n}};
  for (int peer = 1; peer < gpus; ++peer)
    schedule.buffers.push_back(
        {.name = "stored by rank - " + std::to_string(peer), .rows = m, .columns = n, .memory = Memory::symmetric});
  for (int half = 0; half < halves; ++half) schedule.counters.push_back({"half " + std::to_string(half), false});
  schedule.meaning = Meaning{"gemm+all_reduce", m, n, k, a, b, result, 1};
  schedule.operations = {{"enter", compute, {}, Barrier{}}, {"gemm", compute, {}, replicated_gemm(gpus, kernel)}};
  for (int half = 0; half < halves; ++half) {
    MemoryBound sum{MemoryKernel::add, {half_of(c, half)}, {half_of(result, half)}};
    for (int peer = 1; peer < gpus; ++peer) sum.reads.push_back(half_of(first_stored + peer - 1, half));
    schedule.operations.push_back({"stored " + std::to_string(half), sums, {}, Wait{.counter = half, .value = gpus}});
    schedule.operations.push_back({"sum " + std::to_string(half), sums, {}, sum});
  }
  return schedule;
}

}  // namespace weft::calibration
