#include "scenarios/builders/wave_groups.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "models/gemm_model.hpp"
#include "models/input_error.hpp"

namespace weft::scenarios {
namespace {

constexpr int tile_k = 32, stages = 4;  // as FlashOverlap's kernels: a tile of 128 x 256 fits the SMs of most GPUs

void require_whole_tiles(const std::string& field, std::int64_t extent) {
  if (extent % tile_extent != 0)
    throw InputError(
        field, "expected a multiple of a tile's " + std::to_string(tile_extent) + ", got " + std::to_string(extent));
}

/// Tries every partition; units are numbered from the start of the GEMM.
class GroupSearch {
 public:
  GroupSearch(const Waves& waves, const TransferTime& transfer_us) : waves_(waves) {
    constexpr std::int64_t most_units = 10;
    waves_of_unit_ = (waves.count() + most_units - 1) / most_units;
    units_ = (waves.count() + waves_of_unit_ - 1) / waves_of_unit_;
    for (std::int64_t units = 0; units < units_; ++units) {
      group_us_.push_back(transfer_us(tiles_of(units), true));
      last_group_us_.push_back(transfer_us(waves.tiles - tiles_of(units), false));
    }
  }

  std::vector<int> best() {
    add_group(0, 0, 0);
    return best_;
  }

 private:
  std::int64_t tiles_of(std::int64_t units) const { return units * waves_of_unit_ * waves_.tiles_of_wave; }
  double compute_us(std::int64_t waves) const { return static_cast<double>(waves) * waves_.wave_us; }

  /// The groups so far hold `done` units; the last of them has been sent at `sent_us`.
  void add_group(std::int64_t done, double computed_us, double sent_us) {
    for (std::int64_t units = 1; done + units < units_; ++units) {
      const double ready_us = computed_us + compute_us(units * waves_of_unit_);
      groups_.push_back(static_cast<int>(units * waves_of_unit_));
      add_group(done + units, ready_us, std::max(ready_us, sent_us) + group_us_[units]);
      groups_.pop_back();
    }
    const std::int64_t rest = waves_.count() - done * waves_of_unit_;
    groups_.push_back(static_cast<int>(rest));
    const std::int64_t alone = (waves_.tiles + waves_.tiles_of_wave_alone - 1) / waves_.tiles_of_wave_alone;
    const double ready_us = groups_.size() == 1 ? compute_us(alone) : computed_us + compute_us(rest);
    keep_if_best(std::max(ready_us, sent_us) + last_group_us_[done]);
    groups_.pop_back();
  }

  void keep_if_best(double end_us) {
    const bool is_late_start = groups_.size() > 5 && groups_.front() > 2 * waves_of_unit_;
    if (is_late_start || (!best_.empty() && end_us >= best_us_)) return;
    best_us_ = end_us;
    best_ = groups_;
  }

  const Waves& waves_;
  std::int64_t waves_of_unit_ = 1, units_ = 1;
  std::vector<double> group_us_, last_group_us_;  ///< by units of the group; by units before the last group
  std::vector<int> groups_, best_;
  double best_us_ = 0;
};

}  // namespace

GemmKernel fastest_tiles(const MatrixSize& size, std::int64_t band_rows, DataType dtype, const Machine& machine) {
  require_whole_tiles("workload.m", band_rows);
  require_whole_tiles("workload.n", size.n);
  std::optional<GemmKernel> fastest;
  double fastest_us = 0;
  for (const auto& [tile_m, tile_n] : {std::pair{1, 2}, {2, 1}, {1, 1}}) {
    const GemmKernel kernel{.tile_m = tile_m * tile_extent,
                            .tile_n = tile_n * tile_extent,
                            .tile_k = tile_k,
                            .stages = stages,
                            .scheduler = TileScheduler::grid};
    const bool cuts_evenly = band_rows % kernel.tile_m == 0 && size.n % kernel.tile_n == 0;
    if (!cuts_evenly || ctas_per_sm(machine, kernel, dtype) == 0) continue;
    const double time_us = estimated_gemm_us(machine, size, kernel);
    if (!fastest || time_us < fastest_us) fastest = kernel, fastest_us = time_us;
  }
  if (!fastest)
    throw InputError("schedule.family", "expected a machine with SMs that a tile of " + std::to_string(tile_extent) +
                                            " x " + std::to_string(tile_extent) + " fits, got " + machine.name);
  return *fastest;
}

Waves waves_of(const MatrixSize& size, DataType dtype, int collective_ctas, const Machine& machine) {
  const int left = machine.gpu.sms() - collective_ctas;
  if (left < 1)
    throw InputError("schedule.max_ctas", "expected fewer than the " + std::to_string(machine.gpu.sms()) + " SMs of " +
                                              machine.name + ", got " + std::to_string(collective_ctas));
  const GemmKernel kernel = fastest_tiles(size, size.m, dtype, machine);
  const std::int64_t ctas = ctas_per_sm(machine, kernel, dtype);
  return {.kernel = kernel,
          .wave_us = static_cast<double>(ctas) * time_tile(machine, size, kernel, dtype).tile_us,
          .tiles = tile_count(size, kernel),
          .tiles_of_wave = left * ctas,
          .tiles_of_wave_alone = machine.gpu.sms() * ctas};
}

std::vector<std::int64_t> tiles_of_groups(const Waves& waves, const std::vector<int>& groups) {
  std::vector<std::int64_t> tiles;
  const std::int64_t before_last = std::accumulate(groups.begin(), groups.end() - 1, std::int64_t{0});
  if (before_last >= waves.count())
    throw InputError("schedule.groups", "expected fewer waves before the last group than the GEMM's " +
                                            std::to_string(waves.count()) + ", got " + std::to_string(before_last));
  std::transform(groups.begin(), groups.end() - 1, std::back_inserter(tiles),
                 [&](int group) { return group * waves.tiles_of_wave; });
  tiles.push_back(waves.tiles - before_last * waves.tiles_of_wave);
  return tiles;
}

std::vector<int> searched_groups(const Waves& waves, const TransferTime& transfer_us) {
  return GroupSearch(waves, transfer_us).best();
}

}  // namespace weft::scenarios
