// A collective in execution: channels that hold an SM each from their own dispatch on, and move their share once their
// CTA is resident on every rank. The collective ends with its slowest channel. Where copy engines move it, it is one
// channel that holds no SM.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <list>
#include <span>
#include <vector>

#include "models/cost/collective_model.hpp"
#include "sim/activity.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/frame_store.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

/// Bytes that flow together; those of one collective are cut into the same channels.
struct Transfer {
  double bytes = 0;
  double alone_us = 0;  ///< with all channels and nobody beside
  PathId path = 0;
  int source = -1, destination = -1;  ///< ranks that take part; -1: all do
  bool involves(int rank) const { return source < 0 || rank == source || rank == destination; }
};

/// Mostly one for all ranks.
using Transfers = boost::container::small_vector<Transfer, 1>;

class CollectiveRun {
 public:
  /// `transfers` of all simulated ranks together: one for a collective, those of each pair of ranks for an exchange. A
  /// rank's channels end with the transfers that involve it. They outlive the run.
  CollectiveRun(Engine& engine, FluidPool& pool, const CollectiveTiming& timing, const CtaShape& cta, int ranks,
                const Transfers& transfers);
  CollectiveRun(const CollectiveRun&) = delete;

  /// This rank's kernel asks for SMs. Where it must wait for them, each channel's latency is longer by `crowded_us`.
  void arrive(Activity& activity, SmPool& sms, double crowded_us = 0);
  /// This rank's copy engine is ready.
  void arrive(Activity& activity);
  /// A rank that holds back `activity`, which has arrived and not all of whose channels go on; its own where it waits
  /// for SMs itself, -1 where nobody does.
  int missing_rank(const Activity& activity) const;
  /// The grid of a rank that has arrived, else null.
  const Grid* grid_of(int rank) const;
  /// From now on latency and transfer take so many times as long.
  void set_slowdown(double slowdown);
  /// On all ranks: a slowdown changes nothing any more.
  bool has_ended() const;

 private:
  struct RankGrid : Grid {
    CollectiveRun* run = nullptr;
    Activity* activity = nullptr;
    SmPool* sms = nullptr;                         ///< null: a copy engine moves it
    boost::container::small_vector<int, 32> held;  // SM of each resident channel
    int ended = 0;                                 // channels
    Picoseconds arrived;
    double crowded_us = 0;
    void on_placed(std::span<const int> placed) override;
  };
  struct Batch;
  /// The share of one transfer that a batch moves.
  struct Share {
    Batch* batch = nullptr;
    const Transfer* transfer = nullptr;
    FlowId flow = -1;  ///< while it flows
    bool has_ended = false;
    void end() { batch->run->end(*this); }
  };
  /// Channels that became complete on all ranks together.
  struct Batch {
    CollectiveRun* run = nullptr;
    int first = 0, count = 0;
    boost::container::small_vector<Share, 1> shares;
    double latency_us = 0;             ///< left of it at `since`, beside nobody
    Picoseconds since = {}, due = {};  ///< of the latency
    bool is_started = false;
    void start();
  };

  void start_complete_channels();
  void wait_for_latency(Batch& batch);
  RankGrid& add_rank(Activity& activity);
  double rate_of(const Share& share) const;
  void start(Batch& batch);
  void end(Share& share);
  void end_ranks(Batch& batch, const Transfer* transfer);

  Engine& engine_;
  FluidPool& pool_;
  const CollectiveTiming timing_;
  const int channels_;
  const CtaShape cta_;
  const Transfers& transfers_;
  const int ranks_;
  double crowded_us_ = 0, slowdown_ = 1;
  int started_ = 0;                                    // channels
  boost::container::small_vector<RankGrid, 1> grids_;  // in the order of their arrival; never more than ranks_
  std::list<Batch, FrameAllocator<Batch>> batches_;
};

}  // namespace weft::sim
