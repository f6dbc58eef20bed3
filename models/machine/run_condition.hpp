// What the GPUs have been doing before an iteration is timed, and how it is timed: a time is worth nothing without
// either, since they decide how much of the load the power governor has seen, and what is still in the L2.
#pragma once

#include "models/base/names.hpp"

namespace weft {

enum class Condition {
  /// The same load without a pause until the times agree, as on a server at work.
  sustained,
  /// Runs of some tens of milliseconds after a pause, which end before the governor has done all it will.
  after_pause,
};
template <>
struct NamesOf<Condition> {
  static constexpr std::array names{std::pair{Condition::sustained, std::string_view{"sustained"}},
                                    std::pair{Condition::after_pause, std::string_view{"short"}}};
};

/// What an operation finds in the L2.
enum class L2Before {
  kept,     ///< what the operations and iterations before it left
  flushed,  ///< what the operations of its iteration left: benchmarks flush it before each iteration
  cold,     ///< nothing: it is flushed before each kernel
};
template <>
struct NamesOf<L2Before> {
  static constexpr std::array names{std::pair{L2Before::kept, std::string_view{"kept"}},
                                    std::pair{L2Before::flushed, std::string_view{"flushed"}},
                                    std::pair{L2Before::cold, std::string_view{"cold"}}};
};

/// Left as it is: iterations back to back.
struct Timing {
  double added_us = 0;  ///< to an iteration, by the events around it and by launches that nothing hides
  L2Before l2 = L2Before::kept;
  bool operator==(const Timing&) const = default;
};

struct RunCondition {
  Condition condition = Condition::sustained;
  double fixed_clock_MHz = 0;  ///< SMs held at this clock, without a governor; 0: they are not
  bool is_of_mix = false;  ///< that clock is where a governor holds a mix while tensor cores work: it goes up between
  bool late_kernels = false;  ///< two streams once ran kernels at one time outside of a graph, and all are late since
  bool library_on_branch = false;  ///< a graph of that mix has a collective of the library on a branch
  Timing timing = {};
  bool memsets = false;                ///< fill the tile counters of graphs of weft, too, as they did until 2026-11-24
  bool warmed_on_all_streams = false;  ///< whoever has several, as in weft until 2026-11-30: kernels are late since
  bool operator==(const RunCondition&) const = default;

  bool holds_clock() const { return fixed_clock_MHz > 0 && !is_of_mix; }
};

}  // namespace weft
