// Which kernels do the collectives of a schedule.
#pragma once

#include "models/schedule/schedule.hpp"
#include "scenarios/schedule_choice.hpp"

namespace weft::scenarios::families {

/// Who moves the data; the library where nobody does. What is not of all kinds leaves the others to the library, to its
/// kernels for windows (copy engines what they would have to add up) or to kernels over peer access.
Transport transport_of(Collectives choice, CollectiveKind kind);

/// The same of an exchange in which each pair of ranks has rows of its own number, which no kernel for windows does.
Transport transport_of_exchange(Collectives choice);

/// Gives every collective the transport of `choice`. With none they are left out, and what followed them follows what
/// they waited for: such a schedule computes nothing that is right, so its meaning is left out as well.
Schedule with_collectives(Schedule schedule, Collectives choice);

}  // namespace weft::scenarios::families
