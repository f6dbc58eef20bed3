#include "models/cost/gemm_model.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/base/division.hpp"
#include "models/cost/about_longest.hpp"
#include "models/cost/measured_gemms.hpp"
#include "models/schedule/kernel_sizes.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace {

std::int64_t rounded_up(std::int64_t a, std::int64_t multiple) { return divided_up(a, multiple) * multiple; }

constexpr Bytes line_bytes = 128, sector_bytes = 32;  ///< of the L2, which moves sectors

/// How much longer loads of rows of `row_bytes` take than of whole lines.
double load_factor(const GemmTiming& timing, Bytes row_bytes) {
  if (row_bytes % line_bytes == 0) return 1;
  return timing.unaligned_load_factor * (row_bytes % sector_bytes == 0 ? 1 : timing.split_sector_load_factor);
}

/// Of the tensor cores' rate, by the library's kernels for rows that begin at fewer than 16 bytes.
double efficiency_of_other_rows(const GemmTiming& timing, std::int64_t n, std::int64_t k) {
  return has_even_rows(n, k) || timing.odd_rows_efficiency == 0 ? timing.even_rows_efficiency
                                                                : timing.odd_rows_efficiency;
}

/// Share of the rows that whole clusters of tiles cover which lie outside of a matrix of so many.
double outside_share(std::int64_t rows, int tile_rows, int cluster) {
  const std::int64_t covered = rounded_up(divided_up(rows, tile_rows), cluster) * tile_rows;
  return 1 - static_cast<double>(rows) / static_cast<double>(covered);
}

/// What rows that `sharing` CTAs load together cost each of them, in rows that it loads by itself.
double rows_loaded(const GemmTiming& timing, double rows, int sharing) {
  return sharing == 1 ? rows : rows * std::pow(sharing, -timing.multicast_saves);
}

}  // namespace

bool is_cooperative(const GemmTiming& timing, const GemmKernel& kernel, DataType dtype) {
  return kernel.tile_m * kernel.tile_n * timing.accumulators(dtype) > timing.cooperative_above_elements;
}

bool has_rows_of_16_bytes(std::int64_t n, std::int64_t k, DataType dtype) {
  return dtype != DataType::bf16 || (n % elements_of_16_bytes == 0 && k % elements_of_16_bytes == 0);
}

bool has_even_rows(std::int64_t n, std::int64_t k) { return n % 2 == 0 && k % 2 == 0; }

std::int64_t tile_count(const MatrixSize& size, const GemmKernel& kernel) {
  return rounded_up(divided_up(size.m, kernel.tile_m), kernel.cluster_m) *
         rounded_up(divided_up(size.n, kernel.tile_n), kernel.cluster_n) * kernel.split_k;
}

int persistent_ctas(const Gpu& gpu, const GemmKernel& kernel) {
  const int cluster = kernel.cluster_m * kernel.cluster_n;
  int total = 0;
  for (const int sms : gpu.gpc_sms) total += sms / cluster * cluster;
  return std::max(total, cluster);
}

Bytes shared_memory_of_cta(const Machine& machine, const GemmKernel& kernel, DataType dtype) {
  const Bytes operands = shared_memory_of(kernel, dtype);
  if (is_own_kernel(kernel)) return operands;
  const Bytes needed = operands + machine.gpu.shared_memory_reserve, all = machine.gpu.shared_memory_per_sm;
  const Bytes usual = needed + machine.gemm.shared_memory_beside_operands;
  return needed <= all ? std::min(usual, all) : usual;  // those that nearly fill an SM have less beside the operands
}

int ctas_per_sm(const Machine& machine, const GemmKernel& kernel, DataType dtype) {
  const Gpu& gpu = machine.gpu;
  const int threads = machine.gemm.threads_per_cta, registers = threads * machine.gemm.registers_per_thread;
  return static_cast<int>(
      std::min<Bytes>({gpu.ctas_per_sm, gpu.threads_per_sm / threads, gpu.registers_per_sm / registers,
                       gpu.shared_memory_per_sm / shared_memory_of_cta(machine, kernel, dtype)}));
}

double rows_of_wave(const MatrixSize& size, const GemmKernel& kernel, double ctas) {
  const double area = ctas / kernel.split_k * kernel.tile_m * kernel.tile_n;
  const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n);
  const double covered_m = std::max<double>(m, kernel.tile_m), covered_n = std::max<double>(n, kernel.tile_n);
  double rows_of_a = std::min(covered_m, std::sqrt(area));
  const double rows_of_b = std::min(covered_n, area / rows_of_a);
  rows_of_a = std::min(covered_m, area / rows_of_b);
  return (std::min(m, rows_of_a) + std::min(n, rows_of_b)) * kernel.split_k;
}

TileOfWave::TileOfWave(const Machine& machine, std::int64_t n, std::int64_t k, const GemmKernel& kernel, DataType dtype,
                       const WaveOfTiles& wave)
    : wave_(wave) {
  const GemmTiming& timing = machine.gemm;
  const int elements = kernel.tile_m * kernel.tile_n;
  is_own_ = is_own_kernel(kernel), is_grid_ = kernel.scheduler == TileScheduler::grid;
  // All warps of our own kernels work on one tile, whatever its size.
  const bool is_shared = is_own_ || is_cooperative(timing, kernel, dtype);
  k_steps_ = static_cast<double>(divided_up(divided_up(k, kernel.split_k), kernel.tile_k));
  step_flops_ = 2.0 * elements * kernel.tile_k * wave.multiplied_m;
  flops_per_us_ = machine.gpu.flops_per_us_of_sm(dtype);
  efficiency_ = is_shared ? timing.cooperative_efficiency : timing.pingpong_efficiency;
  if (!is_own_ && timing.even_rows_efficiency > 0 && !has_rows_of_16_bytes(n, k, dtype))
    efficiency_ = efficiency_of_other_rows(timing, n, k);
  const double row_bytes = static_cast<double>(kernel.tile_k * bytes_of(dtype));
  const double load = load_factor(timing, k * bytes_of(dtype));
  // CTAs of a cluster along n share their rows of A, those along m their rows of B: read once, delivered to each.
  const double rows_of_a = rows_loaded(timing, kernel.tile_m * wave.loaded_m, kernel.cluster_n);
  const double rows_of_b = rows_loaded(timing, kernel.tile_n * wave.loaded_n, kernel.cluster_m);
  const auto with_outside = [&](double rows, double outside) {
    return rows * (1 + (timing.outside_rows_cost - 1) * outside);
  };
  const double delivered_bytes =
      load * row_bytes * (with_outside(rows_of_a, wave.outside_m) + with_outside(rows_of_b, wave.outside_n));
  const double unique_bytes = load * row_bytes * wave.rows;
  l2_bytes_ = k_steps_ * load * row_bytes * (rows_of_a + rows_of_b);
  const double loaded_rows = kernel.tile_m * wave.loaded_m + kernel.tile_n * wave.loaded_n;
  const double whatever_rows = is_own_ ? timing.own_few_rows_latency : 0;
  load_latency_us_ = timing.load_latency_us / kernel.stages *
                     std::lerp(loaded_rows / (kernel.tile_m + kernel.tile_n), 1, whatever_rows);
  l2_us_ = std::hypot(delivered_bytes * wave.ctas / bytes_per_us(machine.gpu.l2_GBps),
                      unique_bytes / bytes_per_us(machine.gpu.l2_unique_GBps));
  loads_ahead_ = wave.loads_ahead;
  narrow_efficiency_ = is_own_ && kernel.tile_n == narrow_own_tile_n ? timing.own_narrow_efficiency : 1;
  epilogue_us_ = elements * timing.epilogue_us_per_element;
  epilogue_waited_for_ = !is_shared ? 0 : is_grid_ ? 1 : 1 - timing.epilogue_hidden;
  each_us_ = is_own_ && is_grid_ ? timing.own_grid_tile_us : 0;
  once_us_ = timing.kernel_overhead_us + (dtype == DataType::fp8 && !is_own_ ? timing.fp8_start_us : 0);
  once_us_ += (is_own_ && !is_grid_ ? timing.own_persistent_start_us : 0) +
              (is_own_ && kernel.cluster_m > 1 ? timing.own_cluster_start_us : 0) +
              timing.cluster_start_us * std::log2(kernel.cluster_m * kernel.cluster_n);
  once_at_clock_us_ = timing.overhead_at_clock * timing.kernel_overhead_us;
  end_us_ = timing.end_us;
}

StepTiming TileOfWave::step_at(double clock_share) const {
  const double tensor_us = step_flops_ / (flops_per_us_ * clock_share * efficiency_);
  const double latency_us = load_latency_us_ / clock_share;
  return {about_longest({tensor_us, latency_us, l2_us_}) / narrow_efficiency_, tensor_us, latency_us, l2_us_};
}

StepTiming TileOfWave::step() const { return step_at(1); }

/// A tile, up to what the next one does not wait for.
double TileOfWave::steps_us(double clock_share, double waited_for_us) const {
  const StepTiming step = step_at(clock_share);
  if (!loads_ahead_) return k_steps_ * step.us + waited_for_us;
  const double loads_us = k_steps_ * about_longest({step.latency_us, step.l2_us});
  return about_longest({loads_us, k_steps_ * step.tensor_us + waited_for_us}) / narrow_efficiency_;
}

TileTiming TileOfWave::at(double clock_share) const {
  const double epilogue_us = epilogue_us_ / clock_share;
  const double start_us = once_us_ + once_at_clock_us_ * (1 / clock_share - 1);
  const double once_us = factors_.time * (start_us + (1 - epilogue_waited_for_) * epilogue_us);
  return {.tile_us = factors_.time * (steps_us(clock_share, epilogue_waited_for_ * epilogue_us) + each_us_),
          .once_us = once_us,
          .start_us = is_grid_  ? 0
                      : is_own_ ? start_us
                                : std::max(0.0, once_us - end_us_),
          .l2_bytes = l2_bytes_};
}

WaveOfTiles wave_of_tiles(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel) {
  const auto ctas =
      static_cast<double>(std::min<std::int64_t>(tile_count(size, kernel), persistent_ctas(machine.gpu, kernel)));
  return {ctas, rows_of_wave(size, kernel, ctas), outside_share(size.m, kernel.tile_m, kernel.cluster_m),
          outside_share(size.n, kernel.tile_n, kernel.cluster_n)};
}

WaveOfTiles packed(WaveOfTiles wave, double most_rows_of_a, double b_share) {
  wave.loaded_n = b_share;
  wave.rows -= (1 - b_share) * std::max(0.0, wave.rows - most_rows_of_a);
  return wave;
}

TileOfWave tiles_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                    const GemmFactors& factors) {
  const auto rows_of_a = static_cast<double>(size.m * kernel.split_k);
  const WaveOfTiles wave = packed(wave_of_tiles(machine, size, kernel), rows_of_a, factors.b_share);
  TileOfWave tiles(machine, size.n, size.k, kernel, dtype, wave);
  tiles.correct_by(factors);
  return tiles;
}

TileOfWave tiles_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype) {
  return tiles_of(machine, size, kernel, dtype, measured_factors(machine, size, kernel, dtype));
}

TileTiming time_tile(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                     double clock_share) {
  return tiles_of(machine, size, kernel, dtype).at(clock_share);
}

double kernel_efficiency(const Machine& machine, const Gemm& gemm) {
  return runs_own_kernel(gemm) ? machine.gemm.own_efficiency : 1;
}
double kernel_efficiency(const Machine& machine, const GemmKernel& kernel) {
  return is_own_kernel(kernel) ? machine.gemm.own_efficiency : 1;
}

std::int64_t last_wave_slices(const GemmKernel& kernel, std::int64_t k, std::int64_t tiles, std::int64_t ctas,
                              std::int64_t ready_tiles) {
  if (kernel.scheduler != TileScheduler::stream_k || !is_own_kernel(kernel)) return 1;
  return slices_of_last_wave(tiles, ctas, divided_up(k, kernel.tile_k), ready_tiles);
}

double share_of_last_wave(const Machine& machine, const GemmKernel& kernel, std::int64_t slices, double tile_us) {
  if (slices == 1) return 1;
  // A slice is given away, the last CTA waits for all, which takes as long whatever their size, and adds one by one.
  const auto count = static_cast<double>(slices);
  const double size_of_tile = static_cast<double>(kernel.tile_n) / largest_own_tile_n;
  return 1 / count + machine.gemm.own_slice_us * (1 + count * size_of_tile) / tile_us;
}

double lone_waves(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, const TileTiming& timing,
                  std::int64_t ready_tiles) {
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const std::int64_t slices = last_wave_slices(kernel, size.k, tiles, ctas, ready_tiles);
  const double last = tiles % ctas > 0 ? share_of_last_wave(machine, kernel, slices, timing.tile_us) : 0;
  return static_cast<double>(tiles / ctas) + last;
}

double kernel_energy(const Machine& machine, const GemmKernel& kernel, DataType dtype) {
  return is_own_kernel(kernel) ? machine.gemm.own_energy : dtype == DataType::fp8 ? machine.gemm.fp8_energy : 1;
}

double busy_us(const Gpu& gpu, std::int64_t tiles, const TileTiming& timing) {
  return static_cast<double>(tiles) * timing.tile_us / gpu.sms();
}

double counter_fill_us(const Machine& machine, const Schedule& schedule) {
  const bool is_by_kernel = schedule.launch == Launch::graph && schedule.implementation == Implementation::weft &&
                            !machine.condition.memsets && machine.gemm.counter_fill_us > 0;
  return is_by_kernel ? machine.gemm.counter_fill_us : machine.gemm.counter_reset_us;
}

double split_k_reduction_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel) {
  if (kernel.split_k == 1) return 0;
  const double elements = static_cast<double>(size.m) * static_cast<double>(size.n);
  const double bytes = elements * (4.0 * kernel.split_k + 2.0);  // fp32 partial sums in, bf16 out
  const double GBps = machine.gemm.split_k_GBps > 0 ? machine.gemm.split_k_GBps : machine.gpu.l2_GBps;
  return machine.gemm.split_k_overhead_us + bytes / bytes_per_us(GBps);
}

double estimated_gemm_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                         std::int64_t ready_tiles) {
  return estimated_gemm_us(machine, size, kernel, tiles_of(machine, size, kernel, dtype, {}), ready_tiles);
}

double estimated_gemm_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel,
                         const TileOfWave& by_formula, std::int64_t ready_tiles) {
  const TileTiming timing = by_formula.at(1);
  const double waves = lone_waves(machine, size, kernel, timing, ready_tiles);
  const double reset_us = waves > machine.gemm.dynamic_above_waves ? machine.gemm.root_counter_reset_us : 0;
  return reset_us + timing.once_us + waves * timing.tile_us + split_k_reduction_us(machine, size, kernel);
}

}  // namespace weft
