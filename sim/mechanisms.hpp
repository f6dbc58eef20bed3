// The mechanisms of the simulated machine that can be switched off, to see what each is worth.
#pragma once

#include <array>
#include <string_view>

namespace weft::sim {

struct Mechanisms {
  bool power = true;            ///< the governor lowers the clock
  bool l2_reuse = true;         ///< off: every operation finds an empty L2
  bool hbm = true;              ///< off: the HBM carries everything at once
  bool l2 = true;               ///< off: the L2 carries everything at once
  bool links = true;            ///< off: transfers of different GPUs do not meet on links
  bool copy_engines = true;     ///< off: as many as there are copies
  bool sm_sharing = true;       ///< off: collectives and delays have SMs of their own
  bool gaps = true;             ///< off: operations follow one another at once
  bool synchronisation = true;  ///< off: barriers and signals take no time
  bool governor_delay = true;   ///< off: the clock is lowered from the first iteration on
  bool residency = true;        ///< off: collectives take nothing of an SM
  bool slowdown = true;         ///< off: GEMMs slow down no collective, copies no GEMM, and none begins cold
  bool skew = true;             ///< off: ranks start, leave barriers and compute in lockstep

  bool operator==(const Mechanisms&) const = default;
};

struct NamedMechanism {
  std::string_view name;
  bool Mechanisms::*is_on;
};
inline constexpr std::array named_mechanisms{NamedMechanism{"power", &Mechanisms::power},
                                             NamedMechanism{"l2_reuse", &Mechanisms::l2_reuse},
                                             NamedMechanism{"hbm", &Mechanisms::hbm},
                                             NamedMechanism{"l2", &Mechanisms::l2},
                                             NamedMechanism{"links", &Mechanisms::links},
                                             NamedMechanism{"copy_engines", &Mechanisms::copy_engines},
                                             NamedMechanism{"sm_sharing", &Mechanisms::sm_sharing},
                                             NamedMechanism{"gaps", &Mechanisms::gaps},
                                             NamedMechanism{"synchronisation", &Mechanisms::synchronisation},
                                             NamedMechanism{"governor_delay", &Mechanisms::governor_delay},
                                             NamedMechanism{"residency", &Mechanisms::residency},
                                             NamedMechanism{"slowdown", &Mechanisms::slowdown},
                                             NamedMechanism{"skew", &Mechanisms::skew}};
static_assert(sizeof(Mechanisms) == named_mechanisms.size(), "every mechanism has a name");

}  // namespace weft::sim
