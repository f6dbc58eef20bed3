// What a schedule lost, and to what: the parts add up exactly to its time beyond perfect overlap.
//
// Perfect overlap is the longer of the workload's computation and its transfers, each alone and in one piece, as the
// serial schedule has them, on the same machine. The loss of a schedule is its time beyond that. Then the mechanisms
// of the simulated machine are switched off one after the other, for the schedule and for perfect overlap alike, and
// the part of a mechanism is by how much the loss shrinks. What a GEMM alone suffers as well (its power limit, its HBM
// traffic) is no loss of the schedule. Once no mechanism is left, operations are stripped of what they cost beyond
// their share of the whole: transfers, then kernels that serial does not have, then GEMMs. What is left is due to the
// order of the operations alone.
//
// The order of the parts is that of `Cause`, and it matters: two causes of one delay are charged to the one that comes
// first. Contention is first, so that it is seen whole. No part is above the loss, and none is below zero: a cause
// whose end costs perfect overlap more than the schedule is charged with nothing, and what comes next only with what is
// left. A schedule that is faster than perfect overlap has parts below zero instead: that of transfers is what is left
// of the gain without a power limit, since copies and stores may be faster than the library's collective, and that of
// power the rest, since a GPU that computes and transfers in turn draws less than in one GEMM.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/names.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/study/clock.hpp"

namespace weft::scenarios::study {

enum class Cause {
  sm_sharing,       ///< collectives hold SMs, or wait for them
  slowdown,         ///< collectives are slower beside GEMMs
  links,            ///< transfers meet at a port
  copy_engines,     ///< copies wait for an engine
  hbm,              ///< memory bandwidth is shared
  l2,               ///< so is that of the L2
  power,            ///< the clock is lower than in perfect overlap
  skew,             ///< ranks wait for late ones
  synchronisation,  ///< barriers, signals, delays
  launch,           ///< gaps between operations, the host
  transfers,        ///< smaller than the whole one, with fewer CTAs, or in another way: latency, set-up, lower rate
  added_kernels,    ///< kernels and copies within a GPU that serial does not have
  gemms,            ///< smaller than the whole one: more waves, more starts, slower kernels
  exposed,          ///< transfers without computation beside them, or the other way round, in an ideal machine
};

}  // namespace weft::scenarios::study

namespace weft {

template <>
struct NamesOf<scenarios::study::Cause> {
  using enum scenarios::study::Cause;
  static constexpr std::array names{std::pair{sm_sharing, std::string_view{"sm_sharing"}},
                                    std::pair{slowdown, std::string_view{"slowdown"}},
                                    std::pair{links, std::string_view{"links"}},
                                    std::pair{copy_engines, std::string_view{"copy_engines"}},
                                    std::pair{hbm, std::string_view{"hbm"}},
                                    std::pair{l2, std::string_view{"l2"}},
                                    std::pair{power, std::string_view{"power"}},
                                    std::pair{skew, std::string_view{"skew"}},
                                    std::pair{synchronisation, std::string_view{"synchronisation"}},
                                    std::pair{launch, std::string_view{"launch"}},
                                    std::pair{transfers, std::string_view{"transfers"}},
                                    std::pair{added_kernels, std::string_view{"added_kernels"}},
                                    std::pair{gemms, std::string_view{"gemms"}},
                                    std::pair{exposed, std::string_view{"exposed"}}};
};

}  // namespace weft

namespace weft::scenarios::study {

/// Durations in picoseconds.
struct Losses {
  std::int64_t time_ps = 0;     ///< of the schedule
  std::int64_t overlap_ps = 0;  ///< of perfect overlap
  std::array<std::int64_t, NamesOf<Cause>::names.size()> parts_ps{};

  std::int64_t of(Cause cause) const { return parts_ps[static_cast<std::size_t>(cause)]; }
  /// The sum of the parts.
  std::int64_t whole_ps() const { return time_ps - overlap_ps; }
  Cause largest() const;
};

/// Of a schedule that is shown beside others.
struct NamedLosses {
  std::string name;
  Losses losses;
};

/// For people: "exposed communication".
std::string_view text_of(Cause cause);
/// The largest loss in words: "exposed communication 118 us"; "-" where none is above 1 % of the time.
std::string why(const Losses& losses);

enum class WorkKind { transfer, kernel, gemm, attention };
inline constexpr std::size_t kinds_of_work = static_cast<std::size_t>(WorkKind::attention) + 1;  // the last one

/// One workload on one machine: accounts for any of its schedules.
class LossAccount {
 public:
  /// `serial`: the workload's operations, each whole. The machine must outlive this.
  LossAccount(const Schedule& serial, const Machine& machine, Clock clock);
  Losses of(const Schedule& schedule) const;

 private:
  struct Step {
    Cause cause;  ///< what is off from here on, besides what was off before
    sim::Mechanisms mechanisms;
    std::int64_t overlap_ps = 0;
  };

  std::int64_t time_ps(const Schedule& schedule, const sim::Mechanisms& mechanisms,
                       const std::vector<double>& given_us = {}) const;

  const Machine& machine_;
  Clock clock_;
  std::int64_t overlap_ps_ = 0;  ///< with all mechanisms
  std::int64_t overlap_without_power_ps_ = 0;
  std::vector<Step> steps_;
  std::array<double, kinds_of_work> whole_us_{};  ///< with all mechanisms off
};

}  // namespace weft::scenarios::study
