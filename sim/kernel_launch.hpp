// What each kind of kernel is to the simulated GPU: its CTAs, its tiles, how long one takes, and what flows while it
// does. When CTAs find room and how fast their bytes flow is the business of SmPool, FluidPool and TiledKernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cost/gemm_model.hpp"
#include "models/machine/machine.hpp"
#include "sim/activity.hpp"
#include "sim/fabric_links.hpp"
#include "sim/operation_cost.hpp"
#include "sim/sm_layout.hpp"
#include "sim/tiled_kernel.hpp"

namespace weft::sim {

/// Of the maximum clock, that the SMs run at.
struct ClockShares {
  double at_work = 1;  ///< as a governor holds it; tensor cores run at no more than power.tensor_clock
  double between = 1;  ///< where no tensor core works
  std::vector<double> of_operations = {};  ///< in place of `at_work`, where each has its own

  double of(OperationId id) const {
    return of_operations.empty() ? at_work : of_operations[static_cast<std::size_t>(id)];
  }
};

/// Who launches a kernel, and what it finds there.
struct LaunchSite {
  const Activity& activity;
  const Machine& machine;
  const Schedule& schedule;
  const OperationCost& cost;
  const SmLayout& sms;
  FabricLinks& links;
  int hbm = 0, l2 = 0;              ///< of the own GPU, resources of the fluid pool
  int peer_access = -1;             ///< likewise, of what its kernels load from peers or store to them; -1: no limit
  double hbm_GBps = 0;              ///< of the former
  int ranks = 1;                    ///< that are simulated
  double clock_share = 1;           ///< of the maximum clock, with tensor cores at work
  double share_between = 1;         ///< the same where none works
  std::optional<TileOfWave>& tile;  ///< of a GEMM or grouped ones, once launched at any clock
  bool with_detail = true;
};

struct KernelLaunch {
  CtaShape cta;
  int cluster = 1;
  int most_sms = 0;  ///< at most so many CTAs resident at once; 0: no limit
  TiledWork work;
  Limit limit = Limit::latency;  ///< what holds it up where it runs alone
  std::string detail;            ///< for traces; empty where the site asks for none
};

/// Both throw InputError, field "OPERATION.kernel", for a kernel that fits no SM.
KernelLaunch gemm_launch(const Gemm& gemm, const LaunchSite& site);
KernelLaunch grouped_gemm_launch(const GroupedGemm& gemm, const LaunchSite& site);
/// From the start of its kernel to that of its CTAs, with `is_root` at the beginning of an iteration.
double gemm_setup_us(const Gemm& gemm, const GemmKernel& kernel, bool is_root, const Schedule& schedule,
                     const Machine& machine);
/// For a GEMM that was launched before at another clock than the site's: all of its work that depends on the clock.
Limit set_gemm_times(TiledWork& work, const Gemm& gemm, const LaunchSite& site);

/// Of a memory-bound kernel or a copy by SMs: equal blocks, four for each SM, all at once, so that the kernel shares
/// the SMs with others as grids do.
struct MemoryBlocks {
  std::int64_t count = 0;
  double bytes = 0;         ///< of all of them, with all passes through memory
  double hbm_slowdown = 1;  ///< the HBM takes so many times as long as for what the kernel touches, once
  double block_us = 0;      ///< of one where nothing but its SM holds it up
  double once_us = 0;       ///< of the kernel
};
MemoryBlocks memory_blocks(const Work& work, const OperationCost& cost, const Schedule& schedule,
                           const Machine& machine, double clock_share);
KernelLaunch memory_bound_launch(const Work& work, const LaunchSite& site);
/// For a kernel that was launched before at another clock than the site's: all of its work that depends on the clock.
void set_memory_bound_times(TiledWork& work, const LaunchSite& site);

/// One CTA for each 128 queries of a head (attention_model.hpp); with `max_sms` a persistent kernel.
KernelLaunch attention_launch(const Attention& attention, const LaunchSite& site);
KernelLaunch partial_attention_launch(const PartialAttention& attention, const LaunchSite& site);

/// One CTA on each of `sms` SMs with all of its shared memory, so that none of another kernel fits beside it, for
/// `time_us`. Those of a wait spin: they end once its counter has been reached too (ScheduleRun).
KernelLaunch holding_launch(int sms, double time_us, const LaunchSite& site);

}  // namespace weft::sim
