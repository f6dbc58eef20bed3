// A kernel that works through tiles: GEMM, attention, memory-bound kernels.
//
// CTAs that start together are one cohort, a contiguous range of tiles in execution order: a GEMM costs events per wave
// and not per tile.
#pragma once

#include <deque>
#include <vector>

#include "sim/activity.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

struct TiledWork {
  TileScheduler scheduler = TileScheduler::grid;
  std::int64_t tiles = 1;
  int ctas = 1;               ///< of the launched grid; not read with TileScheduler::grid, which has one for each tile
  double tile_us = 0;         ///< of one tile on one CTA with nobody beside
  double bytes_per_tile = 1;  ///< the unit in which a cohort's progress flows; > 0
  std::vector<Use> uses;      ///< per byte of bytes_per_tile
  double setup_us = 0;        ///< before the CTAs are launched
  double tail_us = 0;         ///< the last CTA of a wave ends this much after the mean
  double epilogue_us = 0;     ///< from the last tile to the kernel's end
  const double* slowdown = nullptr;  ///< a wave takes so many times as long, as this is when it starts; null: 1
};

class TiledKernel : public Grid {
 public:
  TiledKernel(Engine& engine, SmPool& sms, FluidPool& pool, Activity& activity, TiledWork work);
  TiledKernel(const TiledKernel&) = delete;

  void start();
  void on_placed(const std::vector<int>& sms) override;
  /// Cohorts so far: with every SM free, the number of waves.
  int waves() const { return waves_; }

 private:
  struct Cohort {
    TiledKernel* kernel = nullptr;
    std::int64_t first = 0, count = 0;  // tiles of this step
    int first_cta = 0;                  // static_persistent: position of the CTAs in the grid
    std::vector<int> sms;
  };
  /// CTAs that hold their SMs until the next tile's group may start.
  struct Stalled {
    std::vector<int> sms;
    int first_cta;
    std::int64_t first;  // own tile of the first of these CTAs; -1: whatever tile is next
  };
  struct GroupEnd {
    TiledKernel* kernel;
    int group;
  };

  bool begins_with_own_tiles() const;
  void go_on(std::vector<int> sms, int first_cta);
  void run(std::vector<int> sms, int first_cta, std::int64_t first, std::int64_t count, double share_of_tile);
  void run_own_tiles(std::vector<int> sms, int first_cta, std::int64_t first);
  std::int64_t ready_tiles() const;
  void resume_stalled();
  void leave(const std::vector<int>& sms);
  void on_cohort_end(Cohort* cohort);
  void count_done(std::int64_t first, std::int64_t count);
  Cohort* free_cohort();

  Engine& engine_;
  SmPool& sms_;
  FluidPool& pool_;
  Activity& activity_;
  const TiledWork work_;
  const PathId path_;
  std::vector<std::int64_t> group_first_, group_left_;          // first tile and unfinished tiles of each tile group
  std::vector<std::pair<int, const Occurrence*>> group_waits_;  // group, and what holds it back
  std::int64_t next_tile_ = 0, done_tiles_ = 0;
  int placed_ctas_ = 0, waves_ = 0;
  std::vector<Stalled> stalled_;
  std::deque<Cohort> cohorts_;
  std::vector<Cohort*> idle_cohorts_;
  std::deque<GroupEnd> group_ends_;
};

}  // namespace weft::sim
