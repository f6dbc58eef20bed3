// From a case to the schedule that runs: what the case leaves open is searched here, and nowhere else.
#pragma once

#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// A case without open choices, and how it ran.
struct Settled {
  Case request;
  Schedule schedule;
  Trace trace;
};

/// An open choice becomes the fastest of those that it stands for (families::closed_choices()), family best the fastest
/// of the families that the op has; of equally fast ones the first. Each of them is run once. Throws InputError for a
/// case that cannot be done.
Settled settle(const Case& request, const Machine& machine, Executor& executor);

/// A case without open choices, and its schedule.
struct Closed {
  Case request;
  Schedule schedule;
};

/// As settle(), but nothing runs where nothing is open.
Closed close_case(const Case& request, const Machine& machine, Executor& executor);

}  // namespace weft::scenarios::study
