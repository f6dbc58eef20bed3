// Energy of one iteration on one GPU, from what the schedule says must be done, and the power that it makes.
#pragma once

#include <cmath>
#include <variant>
#include <vector>

#include "models/cost/about_longest.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/amounts.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/frame_store.hpp"
#include "sim/operation_cost.hpp"

namespace weft::sim {

/// Of an operation, or of all in an iteration, at one clock.
struct EnergyAtClock {
  double total_uJ = 0;
  double lone_us = 0;  ///< of GEMMs and, roughly, of attention with nobody beside
};

/// Does a GPU do one thing again and again, or several that are all its own? Rows of GEMMs on an H200 take as long each
/// as one that is repeated alone (gemm-chains-2026-11-29), and so it is with layers whose collectives are left out. A
/// GEMM in which the ranks meet waits for them, stores and fetches as well: on two H100s twelve of them were held to
/// the limit of mixed loads, not to that of GEMMs alone.
bool is_steady_load(const Schedule& schedule);

/// What the operations of one iteration take, without what the GPU takes idle. SMs at a share g of the maximum clock
/// take  v^2 (gemm_W g busy(g) + tensor energy x flops + L2 energy x operand bytes)  with a voltage of
/// v = voltage_floor + (1 - voltage_floor) g; HBM, links and copy engines have clocks of their own. What is no
/// steady load takes mixed_energy times as much.
class IterationEnergy {
 public:
  /// Refers to the machine.
  IterationEnergy(const Schedule& schedule, const Machine& machine, const std::vector<OperationCost>& costs);

  /// With tensor cores at this share of the maximum clock.
  double total_uJ(double clock_share) const { return at(clock_share).total_uJ; }
  /// With those in each operation at its own share.
  double total_uJ(const std::vector<double>& clock_shares) const;
  EnergyAtClock at(double clock_share) const;
  /// The same of each operation, all at one clock or each at its own.
  std::vector<EnergyAtClock> of_each(double clock_share) const;
  std::vector<EnergyAtClock> of_each(const std::vector<double>& clock_shares) const;

  bool is_on_tensor_cores(OperationId id) const { return demands_[id].is_on_tensor_cores; }
  /// Do any operations work on the tensor cores? Nothing else draws so much that the clock is lowered.
  bool uses_tensor_cores() const;

 private:
  struct Demand {
    double fixed_uJ = 0;      ///< whatever the clock
    double switching_uJ = 0;  ///< on the SMs, at the voltage of the maximum clock
    double attention_us = 0;  ///< alone, at the maximum clock
    int busy = -1;            ///< a GEMM's place in `gemms_`
    bool is_on_tensor_cores = false;
  };
  /// Equal ones of a schedule stand here once.
  struct BusyGemm {
    std::variant<MatrixSize, GroupedSize> size;
    GemmKernel kernel;
    DataType dtype;
    double b_share = 1;  ///< GemmFactors::b_share
    std::int64_t tiles = 0;
    double waves = 0;  ///< of them, with the tail of the last
    int count = 0;
    double energy = 1;  ///< over that of the library's kernel of the same tile
    TileOfWave tile;
  };
  class DemandOf;

  /// On the SMs, and how long it takes alone.
  EnergyAtClock of_one(const BusyGemm& gemm, double clock_share) const;
  EnergyAtClock of_one(const Demand& demand, const EnergyAtClock& gemm, double clock_share) const;

  const Machine& machine_;
  FrameVector<Demand> demands_;  ///< one for each operation
  FrameVector<BusyGemm> gemms_;
  double fixed_uJ_ = 0, switching_uJ_ = 0;
  double attention_us_ = 0;
  double mixed_ = 1;
};

/// Energy that flows evenly over a span of time.
struct PowerSpan {
  double start_us = 0, end_us = 0, energy_uJ = 0;
  bool on_tensor_cores = false;
};

/// Power from `from_us` on, until that of the next one begins.
struct PowerStep {
  double from_us = 0, power_W = 0;
  int on_tensor_cores = 0;  ///< spans that last
};

/// When power changes in a period, in order: found once for all that is asked of the same spans. These begin at 0 or
/// later; those that end after the period lengthen it.
class PowerChanges {
 public:
  PowerChanges(const std::vector<PowerSpan>& spans, double period_us);
  /// Of `idle_W` and what each span takes while it lasts: from 0 to the end of the period, at which the last one
  /// begins.
  std::vector<PowerStep> steps(double idle_W) const;

 private:
  struct Change {
    double at_us, power_W;
    int on_tensor_cores;
  };
  FrameVector<Change> changes_;
};

/// The eighth root of the mean of the eighth power of power over the period, which its peaks determine: of `idle_W` and
/// what each span takes while it lasts.
double peak_W(const PowerChanges& changes, double idle_W);

/// e to the power of -`x`, nearly, by a quotient and products, which are the same bits everywhere.
double decay(double x);

/// The highest average of past power in periods that follow each other, over the mean, where what was `memory_us`
/// (above 0) ago counts 1/e of what is now: 1 of short periods, and of long ones the highest power of their phases over
/// the mean.
double highest_over_mean(const PowerChanges& changes, double idle_W, double memory_us);

/// That average where each of the spans ends, of which the changes are.
std::vector<double> averages_at_ends(const std::vector<PowerSpan>& spans, const PowerChanges& changes, double idle_W,
                                     double memory_us);

}  // namespace weft::sim
