// The fixed times between the operations of a schedule, as a machine has them.
#pragma once

#include "models/machine/machine.hpp"
#include "sim/mechanisms.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

StreamTiming timing_of(const Schedule& schedule, const Machine& machine, const Mechanisms& mechanisms);

/// Or exchanges of our own in which each pair of ranks has rows of its own number: graphs with them repeat as far apart
/// (distributed attention and uneven pairs in turn on H200s, layers-2026-11-28 and uneven-2026-11-28).
bool has_library_collectives(const Schedule& schedule);

}  // namespace weft::sim
