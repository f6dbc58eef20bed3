#include "calibration/selftest_norms.hpp"

#include <string>
#include <utility>

namespace weft::calibration {
namespace {

Schedule all_reduce_norm(int gpus, std::int64_t rows, std::int64_t columns, int ctas) {
  constexpr BufferId partial = 0, residual = 1, normed = 2;
  Schedule schedule;
  schedule.name = "all-reduce and norm of " + std::to_string(rows) + " x " + std::to_string(columns) + " by " +
                  std::to_string(ctas) + " CTAs, gpus=" + std::to_string(gpus);
  schedule.family = "serial";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  const auto buffer = [&](const std::string& name, Memory memory) {
    return Buffer{.name = name, .rows = rows, .columns = columns, .memory = memory, .layout = {}};
  };
  schedule.buffers = {buffer("partial", Memory::symmetric), buffer("residual", Memory::local),
                      buffer("normed", Memory::symmetric)};
  const auto whole = [&](BufferId id) { return Slice{id, 0, RowRange{0, rows}, 0, columns}; };
  schedule.operations = {{"all-reduce and norm",
                          0,
                          {},
                          AllReduceNorm{.partial = whole(partial),
                                        .residual = whole(residual),
                                        .normed = whole(normed),
                                        .transport = Transport::peer_kernel,
                                        .ctas = ctas}}};
  schedule.meaning = Meaning{"all_reduce_norm", rows, columns, columns, partial, residual, normed};
  return schedule;
}

/// 5 x 8 tiles.
Layout layout_of(LayoutKind kind, std::int64_t tile_rows, std::int64_t tile_columns, int swizzle) {
  Layout layout{.kind = kind,
                .rows = 5 * tile_rows,
                .columns = 8 * tile_columns,
                .tile_rows = tile_rows,
                .tile_columns = tile_columns,
                .order = {.swizzle = swizzle}};
  if (kind != LayoutKind::tile_ordered) layout.group_tiles = {3, 21, 16};
  return layout;
}

Schedule reordering_norm(int gpus, MemoryKernel kernel, const Layout& layout, DataType stored) {
  constexpr BufferId tiles = 0, residual = 1, normed = 2, kept = 3;
  const std::string op(name_of(kernel));
  Schedule schedule;
  schedule.name = op + " of " + std::string(name_of(layout.kind)) + " tiles of " + std::to_string(layout.tile_rows) +
                  " x " + std::to_string(layout.tile_columns) + ", swizzle " + std::to_string(layout.order.swizzle) +
                  " to " + std::string(name_of(stored)) + ", gpus=" + std::to_string(gpus);
  schedule.family = "serial";
  schedule.gpus = gpus;
  schedule.streams = {{"compute", 0}};
  const auto rows_of = [&](const std::string& name, DataType dtype) {
    return Buffer{.name = name, .rows = layout.rows, .columns = layout.columns, .dtype = dtype, .layout = {}};
  };
  schedule.buffers = {{.name = "tiles",
                       .rows = layout.rows * layout.columns / layout.tile_columns,
                       .columns = layout.tile_columns,
                       .layout = layout},
                      rows_of("residual", DataType::bf16),
                      rows_of("normed", stored),
                      rows_of("kept", DataType::bf16)};
  const auto whole = [&](BufferId id) {
    const Buffer& buffer = schedule.buffers[static_cast<std::size_t>(id)];
    return Slice{id, 0, RowRange{0, buffer.rows}, 0, buffer.columns};
  };
  MemoryBound norm{.kernel = kernel, .reads = {whole(tiles)}, .writes = {whole(normed)}};
  if (kernel == MemoryKernel::add_rms_norm) {
    norm.reads.push_back(whole(residual));
    norm.writes.push_back(whole(kept));
  }
  schedule.operations = {{op, 0, {}, std::move(norm)}};
  schedule.meaning = Meaning{op, layout.rows, layout.columns, 1, tiles, residual, normed};
  return schedule;
}

}  // namespace

std::vector<Schedule> reordering_norm_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const LayoutKind kind : {LayoutKind::tile_ordered, LayoutKind::sub_tile_ordered, LayoutKind::per_destination})
    for (const auto& [tile_rows, tile_columns] : {std::pair{128, 256}, {128, 192}, {64, 128}})
      for (const int swizzle : {1, 2, 8})
        schedules.push_back(reordering_norm(gpus, MemoryKernel::add_rms_norm,
                                            layout_of(kind, tile_rows, tile_columns, swizzle), DataType::bf16));
  const Layout tiles = layout_of(LayoutKind::tile_ordered, 128, 2048, 8);  // of the longest rows
  for (const DataType stored : {DataType::bf16, DataType::fp8})
    schedules.push_back(reordering_norm(gpus, MemoryKernel::rms_norm, tiles, stored));
  return schedules;
}

std::vector<Schedule> norm_schedules(int gpus) {
  std::vector<Schedule> schedules;
  for (const std::int64_t columns : {16, 2064, 4096, 5120, 8192, 8200, 16384})
    for (const std::int64_t rows_of_rank : {1, 333})
      for (const int ctas : {1, 16}) schedules.push_back(all_reduce_norm(gpus, rows_of_rank * gpus, columns, ctas));
  return schedules;
}

}  // namespace weft::calibration
