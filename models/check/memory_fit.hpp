// Does a schedule fit into a GPU's memory?
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Of all buffers of a rank, without what its libraries and the driver take.
double memory_GB(const Schedule& schedule);

/// Does a GPU of the machine hold its buffers? So it does where the machine's memory is not known.
bool fits_memory(const Schedule& schedule, const Machine& machine);

}  // namespace weft
