// A collective in execution: channels that hold an SM each from their own dispatch on, and move their share once their
// CTA is resident on every rank. The collective ends with its slowest channel.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "models/collective_model.hpp"
#include "sim/activity.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

class CollectiveRun {
 public:
  /// `uses` per byte through a port, of all simulated ranks together.
  CollectiveRun(Engine& engine, FluidPool& pool, const CollectiveTiming& timing, const CtaShape& cta, int ranks,
                std::vector<Use> uses);
  CollectiveRun(const CollectiveRun&) = delete;

  /// This rank's kernel asks for SMs. Where it must wait for them, each channel's latency is longer by `crowded_us`.
  void arrive(Activity& activity, SmPool& sms, double crowded_us = 0);
  /// From now on latency and transfer take so many times as long.
  void set_slowdown(double slowdown);

 private:
  struct RankGrid : Grid {
    CollectiveRun* run = nullptr;
    Activity* activity = nullptr;
    SmPool* sms = nullptr;
    std::vector<int> held;  // SM of each resident channel
    Picoseconds arrived;
    double crowded_us = 0;
    void on_placed(const std::vector<int>& placed) override;
  };
  /// Channels that became complete on all ranks together.
  struct Batch {
    CollectiveRun* run = nullptr;
    int first = 0, count = 0;
    FlowId flow = -1;  ///< while it transfers
  };

  void start_complete_channels();
  double rate_of(const Batch& batch) const;
  void transfer(Batch& batch);
  void end(Batch& batch);

  Engine& engine_;
  FluidPool& pool_;
  const CollectiveTiming timing_;
  const CtaShape cta_;
  const std::vector<Use> uses_;
  const int ranks_;
  double crowded_us_ = 0, slowdown_ = 1;
  int started_ = 0, ended_ = 0;  // channels
  std::deque<RankGrid> grids_;
  std::deque<Batch> batches_;
};

}  // namespace weft::sim
