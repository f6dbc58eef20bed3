// Whether the GPUs of a machine can do what the hardware executor can.
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Is it a kernel of our own that only Hopper runs?
bool is_for_hopper(const Work& work);

/// Does it read or write the memory of peers, on a machine whose GPUs have no access to it? Simulated it is as if all
/// went through the host's memory (models/machine/fabric.hpp), which nobody's software does.
bool lacks_peer_access(const Machine& machine, const Schedule& schedule);

/// Throws InputError on the operation or buffer that these GPUs cannot run or hold.
void require_able(const Machine& machine, const Schedule& schedule);

}  // namespace weft
