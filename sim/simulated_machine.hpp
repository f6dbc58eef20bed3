// The simulated GPUs of one server: their SMs, memories and copy engines, the links between them, and how each kind of
// operation uses them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "sim/activity.hpp"
#include "sim/collective_run.hpp"
#include "sim/copy_engines.hpp"
#include "sim/fabric_links.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/ideal_units.hpp"
#include "sim/kernel_launch.hpp"
#include "sim/mechanisms.hpp"
#include "sim/operation_cost.hpp"
#include "sim/sm_pool.hpp"
#include "sim/tiled_kernel.hpp"

namespace weft::sim {

/// Bytes that went through one GPU's memory, and to and from others over the fabric.
struct ServedBytes {
  double hbm = 0, in = 0, out = 0;
};

class SimulatedMachine : public Device {
 public:
  /// `ranks` simulated GPUs: the schedule's, or 1 when all are the same. `clock_share` of the maximum clock.
  /// `costs` as operation_costs() gives them.
  SimulatedMachine(Engine& engine, const Machine& machine, const Schedule& schedule,
                   const std::vector<OperationCost>& costs, int ranks, double clock_share,
                   const Mechanisms& mechanisms = {});

  void start(Activity& activity) override;
  Hindrance what_hinders(const Activity& activity) const override;

  const FluidPool& pool() const { return pool_; }
  ServedBytes served(int rank) const {
    return {pool_.served(gpus_[rank].hbm), links_.served_in(rank), links_.served_out(rank)};
  }

 private:
  struct GpuState {
    GpuState(Engine& engine, const Machine& machine, FluidPool& pool, SmLayout& layout, const Mechanisms& mechanisms);
    SmPool sms;
    std::optional<SmPool> sms_of_collectives;  ///< where SMs are not shared
    CopyEngines copy_engines;
    int hbm, l2;               // resources of the pool
    int copies_in = 0;         // from peers
    double gemm_slowdown = 1;  // by those
    int running_gemms = 0;
    double gemm_memory_load = 0;  // of those
  };
  /// A GEMM's start or end on its rank changes what collectives get.
  struct GemmWatch {
    SimulatedMachine* machine;
    int rank;
    double memory_load;
  };
  struct CopyRun {
    SimulatedMachine* machine;
    Activity* activity;
    const Copy* copy;
  };

  LaunchSite site_of(const Activity& activity);
  bool has_no_rows(const Activity& activity) const;
  void do_nothing(Activity& activity);
  void start_kernel(Activity& activity, KernelLaunch launch);
  void start_matrix_kernel(Activity& activity, KernelLaunch launch);
  void start_collective(Activity& activity);
  CtaShape collective_cta(const Activity& activity) const;
  void start_copy(Activity& activity, const Copy& copy);
  void start_memory_bound(Activity& activity);
  std::vector<Transfer> transfers_of(const Activity& activity);
  void hold_sms(Activity& activity, int sms, double time_us);
  SmPool& sms_for(const Activity& activity);
  void set_up_copy(CopyRun& run);
  void free_copy_engine(const Activity& activity);
  void transfer(CopyRun& run);
  bool is_whole_rows(const Slice& slice) const;
  Hindrance who_holds_sms(const Grid& grid, int rank) const;
  void watch_gemm(Activity& activity);
  void count_gemm(int rank, int change, double memory_load);
  void count_copy(const CopyRun& run, int change);
  double collective_slowdown() const;
  int gpu_of(int rank, int place) const { return (rank + place + ranks()) % ranks(); }
  int ranks() const { return static_cast<int>(gpus_.size()); }

  Engine& engine_;
  const Machine& machine_;
  const Schedule& schedule_;
  const std::vector<OperationCost>& costs_;
  const double clock_share_;
  const Mechanisms mechanisms_;
  const std::vector<bool> keeps_copy_engine_;
  SmLayout sm_layout_;
  FluidPool pool_;
  FabricLinks links_;
  IdealUnits units_;
  std::deque<GpuState> gpus_;
  std::deque<TiledKernel> kernels_;
  std::map<std::pair<int, OperationId>, CollectiveRun> collectives_;  // iteration, operation
  std::deque<CopyRun> copies_;
  std::deque<GemmWatch> watches_;
};

}  // namespace weft::sim
