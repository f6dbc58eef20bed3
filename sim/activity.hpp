// One execution of one operation on one rank, and the devices that carry it out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/execution/trace.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/process.hpp"

namespace weft::sim {

/// Of one rank.
struct Iteration {
  Occurrence begin, end;
  int operations_left = 0;  ///< that have not ended
};

/// Of a kernel in which the ranks meet at its begin and at its end.
struct RankMeeting {
  Occurrence all_began;   ///< known to this rank
  Occurrence all_stored;  ///< by this rank
};

struct Activity {
  const Operation* operation = nullptr;
  OperationId id = 0;
  int rank = 0;
  int iteration = 0;
  int occasion = 0;              ///< its place among all activities of its rank, for skew.hpp
  int priority = 0;              ///< of its stream
  bool is_root = false;          ///< follows nothing in its iteration
  Iteration* part_of = nullptr;  ///< ends with the last of its activities; null: with none
  Occurrence launched;           ///< it may begin: the hardware queue goes on to what was enqueued behind it
  Occurrence first_cta_started, all_ctas_started, end;
  Occurrence start_told;                ///< of a GEMM that it follows
  std::vector<Occurrence> tile_groups;  ///< a GEMM's; made before anybody waits, since waiters hold references
  /// Occurrence that releases each of Gemm::waits, in their order; of a Wait that holds SMs, what releases it.
  std::vector<Occurrence*> tile_waits;
  std::unique_ptr<RankMeeting> meeting;  ///< null: the ranks do not meet in it
  Limit limit = Limit::latency;
  std::string detail;

  /// By the device, when it has stored everything.
  void finish_stores(Engine& engine) { meeting != nullptr ? meeting->all_stored.happen(engine) : finish(engine); }
  /// By the device that carries it out, and nobody lets `end` happen otherwise.
  void finish(Engine& engine) {
    end.happen(engine);
    if (part_of != nullptr && --part_of->operations_left == 0) part_of->end.happen(engine);
  }
  /// Nobody looks at what it was any more.
  void rearm() {
    for (Occurrence* occurrence : {&launched, &first_cta_started, &all_ctas_started, &end, &start_told})
      occurrence->rearm();
    for (Occurrence& group : tile_groups) group.rearm();
    if (meeting != nullptr) meeting->all_began.rearm(), meeting->all_stored.rearm();
    limit = Limit::latency;
    detail.clear();
  }
  Occurrence& point(Point which, int tile_group) {
    switch (which) {
      case Point::first_cta_started:
        return first_cta_started;
      case Point::all_ctas_started:
        return all_ctas_started;
      case Point::tile_group:
        return tile_groups[tile_group];
      case Point::end:
        break;
    }
    return end;
  }
};

/// What keeps an activity from going on.
struct Hindrance {
  std::string what;            ///< "needs 4 more SMs, which are held"; empty: the device knows nothing
  int rank = 0;                ///< of the operation that would have to go on first,
  OperationId operation = -1;  ///< in the same iteration; -1: nobody
};

/// Carries out what takes a GPU's resources: GEMMs, collectives, copies, memory-bound kernels, attention. Streams,
/// points, counters and barriers are the business of ScheduleRun.
class Device {
 public:
  virtual ~Device() = default;
  /// Begins; the device lets the activity's points happen, and finishes it at last, at the times that it finds right.
  virtual void start(Activity& activity) = 0;
  /// Finds an SM for the one CTA of a kernel that only waits for others or tells them, whose points happen when it is
  /// there. Before it come CTAs of at least its priority, which is that of a stream.
  virtual void admit(Activity& activity, int priority) = 0;
  /// Lets `follower.start_told` happen once there is room, on its GPU, for the CTA of a kernel that tells of another
  /// one's start.
  virtual void tell_start(Activity& follower) = 0;
  /// The CTA of admit() leaves.
  virtual void dismiss(Activity& activity) = 0;
  /// At present, on the rank's GPU.
  virtual bool runs_gemm(int /*rank*/) const { return false; }
  /// Copies between GPUs that are on their way at present, for each GPU; 1 at most.
  virtual double copies_on_their_way() const { return 0; }
  /// Of an activity that has begun and will not end, when no event is left.
  virtual Hindrance what_hinders(const Activity&) const { return {}; }
};

}  // namespace weft::sim
