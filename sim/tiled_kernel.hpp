// A kernel that works through tiles: GEMM, attention, memory-bound kernels.
//
// CTAs that start together are one cohort, a contiguous range of tiles in execution order: a GEMM costs events per wave
// and not per tile.
#pragma once

#include <boost/container/small_vector.hpp>
#include <memory>
#include <span>
#include <vector>

#include "models/schedule/facts.hpp"
#include "sim/activity.hpp"
#include "sim/fluid_pool.hpp"
#include "sim/frame_store.hpp"
#include "sim/sm_pool.hpp"

namespace weft::sim {

/// Tiles that leave by links after they are computed, while their CTA goes on.
struct TileStores {
  std::int64_t tiles = 0;     ///< behind those of the stores before
  double bytes_per_tile = 0;  ///< 0: they stay
  int copies = 1;             ///< GPUs that get each byte
  Uses uses;                  ///< per byte, of all copies
  double hold_us = 0;         ///< a CTA's second tile takes so much longer while its first one is stored
  double addend_us = 0;       ///< a tile of these takes so much longer, since it adds up
  double latency_us = 0;      ///< until they are known to have come
};

/// Bytes that the kernel brings for its tiles from `first_tile` on: these start when the first ones have come, and end
/// a share of their time after the last ones.
struct TileFetch {
  std::int64_t first_tile = 0;
  double bytes = 0, first_bytes = 0;
  double share_after_last = 0;
  Uses uses;        ///< per byte
  double GBps = 0;  ///< 0: what is used limits them
};

struct TiledWork {
  TileScheduler scheduler = TileScheduler::grid;
  std::int64_t tiles = 1;
  int ctas =
      1;  ///< of the launched grid; with TileScheduler::grid, which has one for each tile, as many as run at once
  double tile_us = 0;                   ///< of one tile on one CTA with nobody beside
  double bytes_per_tile = 1;            ///< the unit in which a cohort's progress flows; > 0
  Uses uses;                            ///< per byte of bytes_per_tile
  double last_wave = 0;                 ///< of stream_k, in tiles; 0: as many CTAs as there are share its tiles evenly
  double setup_us = 0;                  ///< before the CTAs are launched
  double start_us = 0;                  ///< before a CTA computes its first tile
  double tail_us = 0;                   ///< the last CTA of a wave ends this much after the mean
  double signal_us = 0;                 ///< from the last tile of a group that tells of its end until that is known
  double epilogue_us = 0;               ///< from the last tile to the kernel's end
  std::vector<TileStores> stores = {};  ///< of all tiles; empty: all stay
  double store_GBps = 0;                ///< of all CTAs and copies together; 0: what stores use limits them
  std::vector<TileFetch> fetches = {};  ///< one after the other, in the order of their tiles
  double fetch_latency_us = 0;          ///< from the meeting of the ranks to the first byte
  double fetch_hold_us = 0;             ///< a tile takes so much longer that starts before all of them have come
  const double* slowdown = nullptr;     ///< a wave takes so many times as long, as this is when it starts; null: 1

  /// On all CTAs at once, in the time of a tile.
  double waves() const;
};

class TiledKernel : public Grid {
 public:
  /// `groups` point into the schedule; empty: all tiles are one group.
  TiledKernel(Engine& engine, SmPool& sms, FluidPool& pool, TiledWork&& work, TileGroups groups);
  TiledKernel(const TiledKernel&) = delete;
  static void* operator new(std::size_t bytes) { return FrameStore::of_thread().take(bytes); }
  static void operator delete(void* kernel, std::size_t bytes) { FrameStore::of_thread().give_back(kernel, bytes); }

  /// What its tiles cost from the next start on, at another clock; they are as many as before.
  void change_work(TiledWork&& work);
  /// Where links are among what it uses they are other resources from one restart of the pool to the next.
  bool uses_links() const { return !work_.stores.empty() || !work_.fetches.empty(); }
  /// The same but for what `change` does to it. The pool has forgotten on which ways tiles flow, and gets them once
  /// more.
  template <class Change>
  void adapt_work(const Change& change) {
    change(work_);
    find_paths();
    tail_ = from_us(work_.tail_us);
  }
  /// Launches it, for the first time or again after it has ended.
  void start(Activity& activity);
  void on_placed(std::span<const int> sms) override;

 private:
  /// CTAs that go through their tiles side by side.
  struct Cohort {
    TiledKernel* kernel = nullptr;
    std::span<const int> sms;                         // of each CTA
    std::int64_t first = 0, count = 0;                // tiles of this step
    std::int64_t stored_first = 0, stored_count = 0;  // of the step before, which are on their way; count 0: none
    std::size_t stores = 0;                           // the first of the work's that those belong to
    int stores_left = 0;                              // of those, on their way still
    double share_of_tile = 1;                         // of this step's: less where a last wave is cut
    bool has_begun = false;                           // its first tiles
    bool is_full = false;                             // this step's results wait for the memory of those
    bool is_leaving = false;                          // holds its SMs until its last tiles are stored
    static void* operator new(std::size_t bytes) { return FrameStore::of_thread().take(bytes); }
    static void operator delete(void* cohort, std::size_t bytes) { FrameStore::of_thread().give_back(cohort, bytes); }
    void begin() { kernel->compute(*this); }
    void end() { kernel->on_cohort_end(*this); }
    void end_stores() { kernel->on_stored(*this); }
  };
  /// CTAs that hold their SMs until the next tile's group may start.
  struct Stalled {
    Cohort* cohort;
    std::int64_t first;  // own tile of the first of these CTAs; -1: whatever tile is next
  };
  struct GroupEnd {
    TiledKernel* kernel;
    int group;
    void happen() { kernel->activity_->tile_groups[group].happen(kernel->engine_); }
  };

  /// Bytes, and how many of them in a us with nobody beside.
  struct WaveFlow {
    double bytes, rate;
  };

  void find_paths();
  PathId path_of(const Uses& uses);
  void find_groups();
  void wait_for_groups();
  void on_met();
  void fetch();
  void on_fetched();
  void on_multiplied();
  std::int64_t first_tile_of(std::size_t fetch) const;
  double store_hold_us(const Cohort& cohort) const;
  double addend_us(const Cohort& cohort) const;
  std::int64_t complete_tiles(const Cohort& cohort) const;
  void submit() { sms_.submit(*this); }
  void end() { activity_->finish_stores(engine_); }
  bool begins_with_own_tiles() const;
  void go_on(Cohort& cohort);
  void run(Cohort& cohort, std::int64_t first, std::int64_t count, double share_of_tile);
  void compute(Cohort& cohort);
  WaveFlow flow_of(const Cohort& cohort) const;
  void run_own_tiles(Cohort& cohort, std::int64_t first);
  std::int64_t ready_tiles() const;
  void resume_stalled();
  void resume_held();
  void on_cohort_end(Cohort& cohort);
  void take_next_tiles(Cohort& cohort);
  void store(Cohort& cohort);
  void on_stored(Cohort& cohort);
  bool is_amid_its_tiles(const Cohort& cohort) const;
  void run_as_before(Cohort& cohort);
  void count_done(std::int64_t first, std::int64_t count, Picoseconds tail);
  void go_on_after(Cohort& cohort);
  Cohort& cohort_of(std::span<const int> sms);
  Cohort& split(Cohort& cohort, std::int64_t ctas);
  void leave(Cohort& cohort);

  Engine& engine_;
  SmPool& sms_;
  FluidPool& pool_;
  TiledWork work_;
  const TileGroups groups_;
  PathId path_ = 0;
  boost::container::small_vector<PathId, 1> store_paths_, fetch_paths_;
  std::size_t fetched_ = 0, multiplied_ = 0;  ///< of the work's fetches, completely
  bool fetched_first_ = false;                ///< of the next one
  Picoseconds tail_;
  template <class Value>
  using ByGroup = boost::container::small_vector<Value, 1>;  // most have one
  ByGroup<std::int64_t> group_first_, group_tiles_;          // first tile and tiles of each tile group
  ByGroup<GroupEnd> group_ends_;
  ByGroup<bool> tells_;  // whether a group signals, or any may, since points of groups are all that is followed

  Activity* activity_ = nullptr;
  ByGroup<std::int64_t> group_left_;  // unfinished tiles
  Picoseconds all_known_;             // when the groups that are done so far are known to be
  using GroupWaits = std::vector<std::pair<int, const Occurrence*>>;
  GroupWaits group_waits_, addend_waits_;  // group, and what holds it, or its sums, back
  std::int64_t next_tile_ = 0, done_tiles_ = 0;
  int placed_ctas_ = 0;
  std::vector<Stalled> stalled_;
  std::vector<Cohort*> held_;  // whose products are made, and what they are added to has not come
  boost::container::small_vector<std::unique_ptr<Cohort>, 2> cohorts_;
  boost::container::small_vector<Cohort*, 2> idle_cohorts_;
};

}  // namespace weft::sim
