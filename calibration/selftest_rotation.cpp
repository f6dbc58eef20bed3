#include "calibration/selftest_rotation.hpp"

#include "calibration/selftest_kernel_name.hpp"
#include "models/base/names.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration {
namespace {

constexpr std::int64_t rows = 768, n = 1928, k = 1032;  // of a block; no multiples of a tile's columns and depth
constexpr int groups = 3;
constexpr BufferId a = 0, b = 1, result = 2, first_sums = 3;
enum class Meeting { in_barriers, in_gemm };

Schedule sums_going_round(CollectiveKind kind, int gpus, const GemmKernel& kernel, Meeting meeting) {
  const bool everywhere = kind == CollectiveKind::all_reduce, in_gemm = meeting == Meeting::in_gemm;
  const std::int64_t m = rows * gpus;
  Schedule schedule;
  schedule.name = std::string(name_of(kind)) + " of sums going round gpus=" + std::to_string(gpus) + ", " +
                  own_kernel_name(kernel) + (in_gemm ? ", in one launch" : "");
  schedule.family = "hybrid";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  schedule.buffers = {{.name = "a", .rows = m, .columns = k},
                      {.name = "b", .rows = n, .columns = k},
                      {.name = "result",
                       .rows = everywhere ? m : rows,
                       .columns = n,
                       .memory = everywhere ? Memory::symmetric : Memory::local}};
  const auto shard = [&](BufferId buffer, std::int64_t columns, int offset, int place = 0) {
    return Slice{buffer, place, ShardRows{.rank_offset = offset, .of_rows = m}, 0, columns};
  };
  const auto sums = [&](int step, int place) { return Slice{first_sums + step, place, RowRange{0, rows}, 0, n}; };
  Gemm gemm;
  gemm.b = {b, 0, RowRange{0, n}, 0, k};
  gemm.kernel = kernel;
  gemm.order.swizzle = 2;
  const std::int64_t tiles = tile_grid(kernel, {rows, n, k}).tiles(), tiles_of_group = tiles / groups / 2 * 2;
  for (int step = 0; step < gpus; ++step) {
    const bool is_last = step + 1 == gpus;
    RowBlock block{shard(a, k, gpus - 1 - step), is_last ? Slice{result, 0, RowRange{0, rows}, 0, n} : sums(step, 1)};
    if (is_last && everywhere) {
      block.c = shard(result, n, 0);
      for (int peer = 1; peer < gpus; ++peer) block.replicas.push_back(shard(result, n, 0, peer));
    }
    if (step > 0) block.addend = sums(step - 1, 0);
    for (int i = 0; i < groups; ++i) {
      const auto group = static_cast<int>(gemm.tile_groups.size());
      gemm.tile_groups.push_back(i + 1 < groups ? tiles_of_group : tiles - (groups - 1) * tiles_of_group);
      if (step > 0) gemm.waits.push_back({.tile_group = group, .counter = group - groups, .for_addend = true});
      if (is_last) continue;
      gemm.signals.push_back({.tile_group = group, .counter = group, .place = 1});
      schedule.counters.push_back({"group " + std::to_string(group), false});
    }
    if (!is_last)
      schedule.buffers.push_back(
          {.name = "sums " + std::to_string(step), .rows = rows, .columns = n, .memory = Memory::symmetric});
    if (is_last)
      gemm.a = block.a, gemm.c = block.c, gemm.addend = block.addend, gemm.replicas = block.replicas;
    else
      gemm.earlier.push_back(std::move(block));
  }
  schedule.meaning = Meaning{everywhere ? "gemm+all_reduce" : "gemm+reduce_scatter", m, n, k, a, b, result, 1};
  if (in_gemm) {
    gemm.meets = everywhere ? PeerMeeting::begin_and_end : PeerMeeting::begin;
    schedule.operations = {{"gemm", 0, {}, gemm}};
  } else {
    schedule.operations = {{"enter", 0, {}, Barrier{}}, {"gemm", 0, {}, gemm}, {"leave", 0, {}, Barrier{}}};
  }
  return schedule;
}

}  // namespace

std::vector<Schedule> rotation_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const GemmKernel& kernel : own_kernels)
    for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce})
      for (const Meeting meeting : {Meeting::in_barriers, Meeting::in_gemm})
        if (kernel.scheduler != TileScheduler::grid) schedules.push_back(sums_going_round(kind, gpus, kernel, meeting));
  return schedules;
}

}  // namespace weft::calibration
