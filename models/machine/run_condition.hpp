// What the GPUs have been doing before an iteration is timed: a time is worth nothing without it, since it decides how
// much of the load the power governor has seen.
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

struct RunCondition {
  Condition condition = Condition::sustained;
  double fixed_clock_MHz = 0;  ///< SMs held at this clock, without a governor; 0: they are not
  bool operator==(const RunCondition&) const = default;
};

}  // namespace weft
