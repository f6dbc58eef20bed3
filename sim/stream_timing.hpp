// The fixed times between the operations of a schedule, as a machine has them.
#pragma once

#include "models/machine/machine.hpp"
#include "sim/mechanisms.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

StreamTiming timing_of(const Schedule& schedule, const Machine& machine, const Mechanisms& mechanisms);

/// Those of NCCL; exchanges of our own are launched as kernels are.
bool has_library_collectives(const Schedule& schedule);

}  // namespace weft::sim
