#include "calibration/fitting/lone_gemm.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/division.hpp"
#include "models/cost/about_longest.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/governor.hpp"
#include "models/cost/l2_reuse.hpp"
#include "models/cost/measured_gemms.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr int clock_steps = 40;  ///< halvings of what is possible

}  // namespace

LoneGemm lone_gemm(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                   double clock_share) {
  return lone_gemm(machine, size, dtype, kernel, clock_share, measured_factors(machine, size, kernel, dtype));
}

LoneGemm lone_gemm(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                   double clock_share, const GemmFactors& factors) {
  const std::int64_t tiles = tile_count(size, kernel);
  TileTiming tile = tiles_of(machine, size, kernel, dtype, factors).at(clock_share);
  const double busy_at_library_us = busy_us(machine.gpu, tiles, tile);
  if (is_own_kernel(kernel)) tile.tile_us /= machine.gemm.own_efficiency;
  const double waves = lone_waves(machine, size, kernel, tile);
  const double from_hbm = hbm_bytes_of_repeated(machine.gpu, size, dtype);
  const double stream_us = from_hbm / bytes_per_us(machine.gpu.hbm_GBps);
  const bool is_dynamic = kernel.scheduler == TileScheduler::dynamic_persistent;
  const double tiles_us = waves * tile.tile_us, longest_us = about_longest({tiles_us, stream_us});
  const double kernels_us = (is_dynamic ? machine.gemm.root_counter_reset_us : 0) + tile.once_us + longest_us +
                            split_k_reduction_us(machine, size, kernel);
  const double time_us = machine.latencies.graph_gap_us + kernels_us;
  const Power& power = machine.power;
  const double busy_uJ = power.gemm_W * clock_share * busy_at_library_us;
  const double work_pJ = power.tensor_pJ_per_flop * size.flops() / machine.gpu.speedup(dtype) +
                         power.l2_pJ_per_byte * tile.l2_bytes * static_cast<double>(tiles);
  const double switching_uJ = switching_energy_factor(power, clock_share) * kernel_energy(machine, kernel, dtype) *
                              factors.energy * (busy_uJ + work_pJ * 1e-6);
  const double energy_uJ = switching_uJ + power.hbm_pJ_per_byte * from_hbm * 1e-6;
  // The longer of both times is the eighth root of a sum of eighth powers.
  const double of_tiles = (tile.once_us + longest_us * std::pow(tiles_us / longest_us, 8)) / time_us;
  return {time_us, kernels_us, energy_uJ / time_us, switching_uJ / time_us, of_tiles};
}

double governed_gemm_us(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                        Condition condition, const GemmFactors& factors) {
  const Power& power = machine.power;
  const auto at = [&](double clock_share) { return lone_gemm(machine, size, dtype, kernel, clock_share, factors); };
  const auto exceeds = [&](const LoneGemm& one) {
    return power.idle_W + one.dynamic_W > power.limit_of_steady_load_W();
  };
  const LoneGemm unlimited = at(power.tensor_clock);
  if (!exceeds(unlimited)) return unlimited.time_us;
  double low = lowest_clock_share, high = power.tensor_clock;
  for (int step = 0; step < clock_steps; ++step) {
    const double middle = (low + high) / 2;
    (exceeds(at(middle)) ? high : low) = middle;
  }
  const double share = condition == Condition::sustained ? 1 : throttled_share(power, unlimited.time_us);
  return at(1 / std::lerp(1 / power.tensor_clock, 1 / low, share)).time_us;
}

double lone_gemm_us(const Machine& machine, const MatrixSize& size, DataType dtype) {
  const GemmKernel kernel = choose_gemm_kernel(machine, size, dtype);
  return governed_gemm_us(machine, size, dtype, kernel, machine.condition.condition,
                          measured_factors(machine, size, kernel, dtype));
}

}  // namespace weft::calibration::fitting
