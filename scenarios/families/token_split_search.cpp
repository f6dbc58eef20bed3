#include "scenarios/families/token_split_search.hpp"

#include <algorithm>

#include "models/base/input_error.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/grouped_gemm_model.hpp"
#include "scenarios/expert_rows.hpp"
#include "scenarios/sequence_groups.hpp"

namespace weft::scenarios::families {
namespace {

constexpr std::int64_t tile_rows = 128;  // of most GEMM kernels

/// The layer's dense GEMMs over some rows.
std::vector<MatrixSize> gemms_of(std::int64_t rows, const LayerWorkload& layer, int gpus) {
  const std::int64_t attended = layer.heads * layer.head_dim / gpus, width = layer.intermediate / gpus;
  const std::int64_t keys = std::max<std::int64_t>(layer.kv_heads / gpus, 1) * layer.head_dim;
  std::vector<MatrixSize> gemms{{rows, attended + 2 * keys, layer.hidden}, {rows, layer.hidden, attended}};
  if (const std::int64_t dense = layer.experts > 0 ? layer.shared_intermediate / gpus : width; dense > 0) {
    gemms.push_back({rows, 2 * dense, layer.hidden});
    gemms.push_back({rows, layer.hidden, dense});
  }
  return gemms;
}

/// All of the layer's GEMMs over some rows, each alone.
double gemms_us(std::int64_t rows, const LayerWorkload& layer, int gpus, const Machine& machine) {
  double total_us = 0;
  for (const MatrixSize& size : gemms_of(rows, layer, gpus))
    total_us += estimated_gemm_us(machine, size, choose_gemm_kernel(machine, size, layer.dtype), layer.dtype);
  if (layer.experts == 0) return total_us;
  const std::int64_t width = layer.intermediate / gpus;
  const std::vector<std::int64_t> groups = expert_rows(rows, layer);
  for (const GroupedSize& size :
       {GroupedSize{groups, 2 * width, layer.hidden}, GroupedSize{groups, layer.hidden, width}})
    total_us +=
        estimated_grouped_gemm_us(machine, size, choose_grouped_kernel(machine, size, layer.dtype), layer.dtype);
  return total_us;
}

/// Rows of whole rows of tiles, of about wave_aware_first() tiles.
std::int64_t wave_aware_rows(const MatrixSize& size, DataType dtype, const Machine& machine) {
  const GemmKernel kernel = choose_gemm_kernel(machine, size, dtype);
  const std::int64_t columns = (size.n + kernel.tile_n - 1) / kernel.tile_n;
  const std::int64_t tiles = (size.m + kernel.tile_m - 1) / kernel.tile_m * columns;
  return wave_aware_first(tiles, persistent_ctas(machine.gpu, kernel)) / columns * kernel.tile_m;
}

std::vector<std::int64_t> proposals(const LayerWorkload& layer, int gpus, const Machine& machine) {
  const std::int64_t half = (layer.tokens + 1) / 2;
  std::vector<std::int64_t> proposed;
  for (const std::int64_t offset : {0, 1, -1, 2, -2}) proposed.push_back((half / tile_rows + offset) * tile_rows);
  for (const std::int64_t offset : {0, 128, 256}) proposed.push_back((layer.tokens + 255) / 256 * 128 + offset);
  for (const MatrixSize& size : gemms_of(layer.tokens, layer, gpus))
    proposed.push_back(wave_aware_rows(size, layer.dtype, machine));
  return proposed;
}

}  // namespace

std::int64_t wave_aware_first(std::int64_t ctas, std::int64_t ctas_of_wave) {
  const std::int64_t nearest = (ctas + ctas_of_wave) / (2 * ctas_of_wave) * ctas_of_wave;
  if (nearest > 0 && nearest < ctas) return nearest;
  return (ctas + 1) / 2;
}

std::vector<std::int64_t> first_candidates(const LayerWorkload& layer, int gpus, bool fused_norm,
                                           const Machine& machine, std::size_t count) {
  const std::int64_t unit = fused_norm ? gpus : 1;
  std::vector<std::pair<double, std::int64_t>> ranked;
  const auto consider = [&](std::int64_t rows) {
    const std::int64_t first = whole_sequences_up_to(layer, rows, unit);
    const auto is_same = [&](const auto& other) { return other.second == first; };
    if (first < 1 || first >= layer.tokens || std::any_of(ranked.begin(), ranked.end(), is_same)) return;
    ranked.emplace_back(gemms_us(first, layer, gpus, machine) + gemms_us(layer.tokens - first, layer, gpus, machine),
                        first);
  };
  consider((layer.tokens + 1) / 2);
  const bool has_middle = !ranked.empty();
  for (const std::int64_t rows : proposals(layer, gpus, machine)) consider(rows);
  if (ranked.empty()) consider(layer.tokens - 1);
  if (ranked.empty())
    throw InputError("workload.tokens",
                     "expected enough for two splits of whole sequences" +
                         (fused_norm ? ", a multiple of gpus = " + std::to_string(gpus) + " each" : "") + ", got " +
                         std::to_string(layer.tokens));
  std::stable_sort(ranked.begin() + (has_middle ? 1 : 0), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::int64_t> firsts;
  for (const auto& [time_us, first] : ranked)
    if (firsts.size() < count) firsts.push_back(first);
  return firsts;
}

}  // namespace weft::scenarios::families
