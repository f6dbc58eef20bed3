// Cost model of a grouped GEMM: as of a GEMM, but each group has tiles of its own, and a wave reads the operands of all
// groups that it touches.
#pragma once

#include "models/cost/gemm_model.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/grouped_tiles.hpp"

namespace weft {

/// Of the rows that our own kernel multiplies, 64 or 128 in a tile; what is asked for by others.
Flops computed_flops(const GroupedSize& size, const GemmKernel& kernel);

/// As for one GEMM (gemm_model.hpp); the groups of a wave are taken to be of mean size.
WaveOfTiles wave_of_tiles(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel);
TileOfWave tiles_of(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel, DataType dtype,
                    const GemmFactors& factors = {});
TileTiming time_tile(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel, DataType dtype,
                     double clock_share = 1);

/// Where weft has kernels of its own, the one that it runs (own_grouped_kernel()). Elsewhere, of the kernels that the
/// library would take for one group of mean size, for all rows in one GEMM and for all groups side by side in one, the
/// fastest, a CTA for each tile in the order of the groups (as vLLM's fused MoE kernel has it): which one a library
/// takes for groups, nobody has asked it.
GemmKernel choose_grouped_kernel(const Machine& machine, const GroupedSize& size, DataType dtype);

/// Time alone: waves x tile time. For choosing kernels, not for predictions.
double estimated_grouped_gemm_us(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel,
                                 DataType dtype, const GemmFactors& factors = {});

}  // namespace weft
