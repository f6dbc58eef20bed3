#include "calibration/evidence/perfect_overlap.hpp"

#include <algorithm>

#include "models/base/division.hpp"
#include "models/base/input_error.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "scenarios/parts.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

double alone_us(const scenarios::Workload& part, const scenarios::Case& request, const Machine& machine) {
  scenarios::Case alone;
  alone.gpus = request.gpus;
  alone.workload = part;
  alone.schedule.launch = request.schedule.launch;
  sim::SimulatedExecutor executor(sim::times_only);
  return scenarios::study::predict(alone, machine, executor, {.serial = false}).time_us;
}

struct TimesAlone {
  double gemm_us = 0, collective_us = 0;
};
TimesAlone times_alone(const scenarios::Case& request, const Machine& machine) {
  const auto parts = scenarios::parts_of(request.workload);
  if (!parts) throw InputError("workload.op", "expected a GEMM and a collective");
  return {alone_us(parts->gemm, request, machine), alone_us(parts->collective, request, machine)};
}

struct WavesOfTiles {
  std::int64_t tiles = 0, of_last_wave = 0;
  double count = 0;
};
WavesOfTiles waves_of(const scenarios::PairWorkload& pair, const Machine& machine) {
  const MatrixSize size{pair.m, pair.n, pair.k};
  const GemmKernel kernel = choose_gemm_kernel(machine, size, pair.dtype);
  const std::int64_t tiles = tile_count(size, kernel), at_once = machine.gpu.sms();
  return {tiles, (tiles - 1) % at_once + 1, static_cast<double>(divided_up(tiles, at_once))};
}

}  // namespace

double parts_without_losses_us(const scenarios::Case& request, const Machine& machine) {
  const auto [gemm_us, collective_us] = times_alone(request, machine);
  return std::max(gemm_us, collective_us) + std::min(gemm_us, collective_us) / request.gpus;
}

double wave_bound_us(const scenarios::Case& request, const Machine& machine) {
  const auto* pair = std::get_if<scenarios::PairWorkload>(&request.workload);
  if (pair == nullptr || scenarios::collective_comes_first(pair->op))
    throw InputError("workload.op", "expected a GEMM and the collective of its result");
  const auto [gemm_us, collective_us] = times_alone(request, machine);
  const WavesOfTiles waves = waves_of(*pair, machine);
  if (gemm_us < collective_us) return gemm_us / waves.count + collective_us;
  scenarios::CollectiveWorkload last = scenarios::parts_of(request.workload)->collective;
  const Bytes granule = Bytes{2} * request.gpus;  // collectives cut their buffer evenly
  last.bytes = std::max(granule, last.bytes / waves.tiles * waves.of_last_wave / granule * granule);
  return gemm_us + alone_us(last, request, machine);
}

}  // namespace weft::calibration::evidence
