// Whether the GPUs of a machine can do what the hardware executor can.
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Is it a kernel of our own that only Hopper runs?
bool is_for_hopper(const Work& work);

/// Throws InputError on the operation or buffer that these GPUs cannot run or hold.
void require_able(const Machine& machine, const Schedule& schedule);

}  // namespace weft
