// The simulated GPUs of one server: their SMs, memories and copy engines, the links between them, and how each kind of
// operation uses them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "sim/activity.hpp"
#include "sim/collective_run.hpp"
#include "sim/copy_engine_pool.hpp"
#include "sim/fabric_links.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/frame_store.hpp"
#include "sim/ideal_units.hpp"
#include "sim/kernel_launch.hpp"
#include "sim/mechanisms.hpp"
#include "sim/operation_cost.hpp"
#include "sim/sm_pool.hpp"
#include "sim/tiled_kernel.hpp"
#include "sim/waiting_cta.hpp"

namespace weft::sim {

/// Bytes that went through one GPU's memory, and to and from others over the fabric.
struct ServedBytes {
  double hbm = 0, in = 0, out = 0;
};

/// What the units of one GPU do at the end of an instant.
struct UnitLoads {
  int busy_sms = 0, transfer_sms = 0;  ///< with any CTA; with one of an operation that moves data between GPUs
  double hbm_GBps = 0, in_GBps = 0, out_GBps = 0;
  int copy_engines = 0;  ///< busy
};

/// What a copy of a rank moves, and how fast at most.
struct CopyRoute {
  int source = 0, destination = 0;  ///< GPUs
  double bytes = 0, GBps = 0;
  double slowdown = 1;  ///< of the engine: links are no busier for it
};

class SimulatedMachine : public Device {
 public:
  /// `ranks` simulated GPUs: the schedule's, or 1 when all are the same, at the maximum clock. `costs` as
  /// operation_costs() gives them.
  SimulatedMachine(Engine& engine, const Machine& machine, const Schedule& schedule,
                   const std::vector<OperationCost>& costs, int ranks, const Mechanisms& mechanisms = {});

  /// As if it were new, at another clock; nothing runs any more.
  void restart(const ClockShares& clock);
  /// Activities get no `detail`, which only traces show.
  void leave_out_details() { with_details_ = false; }
  void leave_out_peak_load() { pool_.leave_out_peak_load(); }

  void start(Activity& activity) override;
  void admit(Activity& activity, int priority) override;
  void tell_start(Activity& follower) override;
  void dismiss(Activity& activity) override;
  bool runs_gemm(int rank) const override { return gpus_[rank]->running_gemms > 0; }
  double copies_on_their_way() const override;
  Hindrance what_hinders(const Activity& activity) const override;

  CopyRoute copy_route(int rank, const Copy& copy) const;
  /// For each byte of it.
  Uses copy_uses(const CopyRoute& route, int rank, OperationId id);
  /// From when its engine takes a copy until its bytes flow, and the rate at which they do with nobody beside: each
  /// time another.
  double copy_setup_us(int rank, OperationId id, int occasion) const;
  double copy_GBps(const CopyRoute& route, int rank, int occasion) const;
  double most_copy_GBps(const CopyRoute& route) const;

  const FluidPool& pool() const { return pool_; }
  ServedBytes served(int rank) const {
    return {pool_.served(gpus_[rank]->hbm), links_.served_in(rank), links_.served_out(rank)};
  }
  UnitLoads loads(int rank) const;

 private:
  struct GpuState {
    GpuState(Engine& engine, const Machine& machine, FluidPool& pool, SmPlacement& placement,
             const Mechanisms& mechanisms, double turnaround_us);
    void restart();
    SmPool sms;
    std::optional<SmPool> sms_of_collectives;  ///< where SMs are not shared
    CopyEnginePool copy_engines;
    int hbm, l2;                      // resources of the pool
    int peer_access;                  // likewise, of kernels; -1: nothing but links limits it
    int pulls_in = 0, pushes_in = 0;  // from peers
    double gemm_slowdown = 1;         // by those
    int running_gemms = 0;
    double gemm_memory_load = 0;  // of those
  };
  /// A GEMM's start or end on its rank changes what collectives get.
  struct GemmWatch {
    SimulatedMachine* machine = nullptr;
    int rank = 0;
    double memory_load = 0;
    void begin() { machine->count_gemm(rank, +1, memory_load); }
    void end() { machine->count_gemm(rank, -1, memory_load); }
  };
  /// Pushes of a collective by copy engines that arrive at a rank.
  struct PushWatch {
    SimulatedMachine* machine = nullptr;
    int rank = 0;
    void end() { machine->count_copy(rank, true, -1); }
  };
  /// A copy of a rank in execution. What it moves and where is known once it has flowed at the
  /// present clock.
  struct CopyRun {
    SimulatedMachine* machine = nullptr;
    Activity* activity = nullptr;
    PathId path = -1;  // of the first time on
    CopyRoute route;
    bool is_push() const { return route.destination != activity->rank; }
    void begin() { machine->begin_copy(*this); }
    void flow() { machine->flow_copy(*this); }
    void end() { machine->end_copy(*this); }
  };
  /// What an operation of a rank is in every iteration, known once it has started for the first time.
  struct Prepared {
    std::unique_ptr<TiledKernel> kernel;
    std::unique_ptr<WaitingCta> waiting, telling;
    std::optional<TileOfWave> tile;  // a GEMM's, at every clock
    bool is_for_this_clock = false;  // the kernel
    Limit limit = Limit::latency;
    std::string detail;
    GemmWatch watch;
    CopyRun copy;
    PushWatch pushes;
  };

  Prepared& prepared(const Activity& activity) {
    return prepared_[static_cast<std::size_t>(activity.rank) * costs_.size() + activity.id];
  }
  LaunchSite site_of(const Activity& activity);
  void do_nothing(Activity& activity);
  static constexpr auto never_adapts = [](const Prepared&) { return false; };
  template <class Launch, class Adapts>
  void start_kernel(Activity& activity, const Launch& launch, const Adapts& adapts);
  template <class Launch, class Adapts>
  void start_matrix_kernel(Activity& activity, const Launch& launch, const Adapts& adapts);
  void start_gemm(Activity& activity, const Gemm& gemm);
  void prepare_kernel(Prepared& one, const Activity& activity, KernelLaunch&& launch);
  void start_collective(Activity& activity);
  void push_to_all(Activity& activity, CollectiveRun& run);
  CtaShape collective_cta(const Activity& activity) const;
  CollectiveRun& collective_run(const Activity& activity);
  Transfers transfers_of(const Activity& activity);
  Transfers transfers_of_collective(OperationId id);
  Transfers transfers_of_exchange(const GroupedExchange& exchange, OperationId id);
  void start_memory_bound(Activity& activity, bool uses_links);
  void hold_sms(Activity& activity, int sms, double time_us);
  SmPool& sms_for(const Activity& activity);
  void start_copy(Activity& activity, const Copy& copy);
  void start_word(Activity& activity, const Signal& signal);
  template <class Route>
  void start_on_engine(Activity& activity, const Route& route);
  void begin_copy(CopyRun& run);
  void flow_copy(CopyRun& run);
  void end_copy(CopyRun& run);
  void count_copy(int gpu, bool is_push, int change);
  bool is_whole_rows(const Slice& slice) const;
  Hindrance who_holds_sms(const Grid& grid, int rank) const;
  void count_gemm(int rank, int change, double memory_load);
  double collective_slowdown(const CollectiveTiming& timing) const;
  int gpu_of(int rank, int place) const { return (rank + place + ranks()) % ranks(); }
  int ranks() const { return static_cast<int>(gpus_.size()); }

  Engine& engine_;
  const Machine& machine_;
  const Schedule& schedule_;
  const std::vector<OperationCost>& costs_;
  ClockShares clock_;
  const Mechanisms mechanisms_;
  const std::vector<bool> is_peer_copy_, keeps_copy_engine_;  // by operation
  bool with_details_ = true;
  const std::shared_ptr<KnownSms> sms_;
  FluidPool pool_;
  FabricLinks links_;
  IdealUnits units_;
  std::vector<std::unique_ptr<GpuState>> gpus_;
  int lasting_resources_ = 0;                         // of the pool: not the links, which are made as they are used
  FrameVector<Prepared> prepared_;                    // by rank and operation
  FrameVector<Transfers> transfers_;                  // by operation: a collective's, once it started
  using CollectiveKey = std::pair<int, OperationId>;  // iteration, operation
  using Collectives = std::map<CollectiveKey, CollectiveRun, std::less<>,
                               FrameAllocator<std::pair<const CollectiveKey, CollectiveRun>>>;
  Collectives collectives_;
  std::vector<Collectives::iterator> collectives_under_way_;  // in their order there; some that have ended
};

}  // namespace weft::sim
