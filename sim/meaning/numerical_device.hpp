// A device without a machine: operations take random times and really compute, on integers. A schedule that lacks an
// edge then gives a wrong result in some run, whatever a real machine's timing would have hidden.
//
//   start            first CTA            result
//   |-- any time ----|-- any time ... ----|
//                    inputs are read,     results are written
//                    outputs undefined
//
// Who reads an output meanwhile gets undefined values, and who overwrites an input meanwhile makes the result
// undefined. Each tile group of a GEMM does this on its own, in no order but that of the counters it waits for. A
// collective reads on each rank when it starts there, and writes no sooner than it has started on all ranks; an
// exchange no sooner than on all ranks that send to it. A kernel in which the ranks meet twice does both between its
// meetings.
//
// In every run one operation or tile group takes longer than all others together, on one rank or on all: whoever does
// not wait for it is then sure to come too early.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "sim/activity.hpp"
#include "sim/engine.hpp"
#include "sim/meaning/numerical_memory.hpp"
#include "sim/meaning/operation_effect.hpp"

namespace weft::sim::meaning {

/// Drawn so that what is not ordered happens in every order: often nothing, otherwise of very different lengths.
class RandomTimes {
 public:
  explicit RandomTimes(std::uint64_t seed) : generator_(seed) {}
  Picoseconds draw();
  /// 0, …, count - 1
  int draw_below(std::size_t count) { return static_cast<int>(generator_() % count); }

 private:
  std::mt19937_64 generator_;
};

class NumericalDevice : public Device {
 public:
  /// All ranks of `schedule`. Throws InputError where an operation has no meaning in integers.
  NumericalDevice(Engine& engine, const Schedule& schedule, NumericalMemory& memory, std::uint64_t seed);

  void start(Activity& activity) override;
  void admit(Activity& activity, int priority) override;
  void tell_start(Activity& follower) override { follower.start_told.happen(engine_); }
  void dismiss(Activity&) override {}
  Processes& processes() { return processes_; }

 private:
  /// Effects between their beginning and their end.
  struct Underway {
    std::vector<Effect> effects;
    std::vector<std::vector<IntegerMatrix>> inputs;  // by effect
  };
  /// All ranks in a collective of one iteration, or at the entry or the exit of a fused one.
  struct Meeting {
    int arrived = 0;
    std::vector<IntegerMatrix> inputs;  // of a collective, by rank
    Occurrence is_over;
  };

  /// A grouped exchange of one iteration.
  struct Exchange {
    std::vector<std::vector<IntegerMatrix>> sent;  // by source x destination: rows, and log_sum_exps where there are
    std::deque<Occurrence> has_started;            // by rank
  };

  /// What has a duration of its own: an operation, or a tile group of a GEMM.
  struct Part {
    OperationId operation = 0;
    int tile_group = 0;
  };

  void draw_slowest();
  Process run_alone(Activity& activity);
  Process run_gemm(Activity& activity, const Gemm& gemm);
  Process run_tile_group(Activity& activity, const Gemm& gemm, int tile_group);
  Process run_between_meetings(Activity& activity);
  Process run_collective(Activity& activity, const Collective& collective);
  Process run_exchange(Activity& activity, const GroupedExchange& exchange);
  Process read_all(Meeting& meeting, const Activity& last, const Collective& collective);

  Underway begin(const Activity& activity, int tile_group);
  void finish(Underway& underway, int iteration);
  bool is_unchanged(const Rectangle& where, const IntegerMatrix& was, int iteration) const;
  Sleep sleep() { return {engine_, engine_.now() + times_.draw()}; }
  Sleep work(const Activity& activity, int tile_group = 0);

  Engine& engine_;
  const Schedule& schedule_;
  NumericalMemory& memory_;
  RandomTimes times_;
  Part slowest_;
  std::optional<int> slowest_rank_;                                  // empty: all
  std::map<std::pair<int, OperationId>, Meeting> meetings_, exits_;  // iteration, operation
  std::map<std::pair<int, OperationId>, Exchange> exchanges_;
  Processes processes_;
};

}  // namespace weft::sim::meaning
