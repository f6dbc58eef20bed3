// Operations whose durations are given: each rank has one unit that computes and one that transfers, and the operations
// that are on a unit at once share it evenly. So no schedule is done before the sum of its computations or the sum of
// its transfers, and what it takes beyond the longer of both is due to the order of its operations alone.
#pragma once

#include <boost/container/small_vector.hpp>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "models/schedule/facts.hpp"
#include "sim/activity.hpp"
#include "sim/fluid_pool.hpp"

namespace weft::sim {

class IdealUnits {
 public:
  IdealUnits(Engine& engine, FluidPool& pool, int ranks);
  IdealUnits(const IdealUnits&) = delete;  // events in the engine point at it

  /// `duration_us` of the rank's unit. The tile groups of a GEMM come one after the other, each once its counters have
  /// been reached; a collective starts when all ranks are there, and is on all of their units.
  void start(Activity& activity, double duration_us);
  /// Forgets what has run.
  void restart();

 private:
  struct Run {
    IdealUnits* units = nullptr;
    std::vector<Activity*> activities;  ///< a collective's of all ranks
    double duration_us = 0;
    Uses uses;
    PathId path = -1;  // known once it flows
    int next_group = 0;
    void go_on() { units->go_on(*this); }
    void end() { units->end(*this); }
    void end_group();
  };

  void start_gemm(Run& run);
  void go_on(Run& run);
  void flow(Run& run, double work_us, Waiter done);
  bool waits(Run& run, const TileGroups& groups);
  void end(Run& run);

  Engine& engine_;
  FluidPool& pool_;
  boost::container::small_vector<int, 8> computes_, transfers_;  // resources of the pool, by rank
  std::list<Run> runs_;
  std::map<std::pair<int, OperationId>, Run*> meetings_;  // of collectives: iteration, operation
};

}  // namespace weft::sim
