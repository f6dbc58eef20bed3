#include "models/schedule/grouped_tiles.hpp"

#include <algorithm>

#include "models/base/division.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace {

constexpr std::int64_t hardly_more = 16;  // up to one part in so many

/// That each CTA passes over, if `sms` of them share the tiles.
std::int64_t columns_of_cta(const GroupedSize& size, const GemmKernel& kernel, int sms) {
  return divided_up(tile_count(size, kernel), std::max(kernel.cluster_m, sms / kernel.cluster_m * kernel.cluster_m)) *
         kernel.tile_n;
}

}  // namespace

std::int64_t tile_count(const GroupedSize& size, const GemmKernel& kernel) {
  std::int64_t tiles = 0;
  for (const std::int64_t rows : size.group_rows) tiles += grid_of_group(rows, size.n, kernel).tiles();
  return tiles;
}

TileGrid grid_of_group(std::int64_t rows, std::int64_t n, const GemmKernel& kernel) {
  return {divided_up(divided_up(rows, kernel.tile_m), kernel.cluster_m) * kernel.cluster_m,
          divided_up(n, kernel.tile_n)};
}

std::vector<GroupedTile> grouped_tiles(const GroupedSize& size, const GemmKernel& kernel) {
  std::vector<GroupedTile> tiles;
  std::int64_t first_row = 0, first_weight_row = 0;
  for (const std::int64_t rows : size.group_rows) {
    const TileGrid grid = grid_of_group(rows, size.n, kernel);
    for (std::int64_t index = 0; index < grid.tiles(); ++index) {
      const Tile tile = tile_at(own_order, grid, index);
      const std::int64_t row = tile.row * kernel.tile_m, column = tile.column * kernel.tile_n;
      tiles.push_back({.row = static_cast<std::int32_t>(first_row + row),
                       .weight_row = static_cast<std::int32_t>(first_weight_row + column),
                       .column = static_cast<std::int32_t>(column),
                       .rows = static_cast<std::int32_t>(std::clamp<std::int64_t>(rows - row, 0, kernel.tile_m))});
    }
    first_row += rows;
    first_weight_row += size.n;
  }
  return tiles;
}

GemmKernel own_grouped_kernel(const GroupedSize& size, int sms) {
  std::vector<GemmKernel> kernels;
  for (const int tile_n : {256, 192, 128})
    for (const int cluster_m : {2, 1})
      kernels.push_back(own_kernel(tile_n, cluster_m, TileScheduler::static_persistent));
  std::vector<std::int64_t> columns;
  for (const GemmKernel& kernel : kernels) columns.push_back(columns_of_cta(size, kernel, sms));
  const std::int64_t fewest = *std::min_element(columns.begin(), columns.end());
  const auto first = std::find_if(columns.begin(), columns.end(),
                                  [&](std::int64_t one) { return one - fewest <= fewest / hardly_more; });
  return kernels[static_cast<std::size_t>(first - columns.begin())];
}

}  // namespace weft
