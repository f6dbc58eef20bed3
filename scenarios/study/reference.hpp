// What the result of a schedule on GPUs is compared with where there is no plain reference.
#pragma once

#include <optional>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// Of a layer the serial schedule with all-reduces, whatever the layer does; empty for that one itself, and for pairs.
/// Throws InputError for a layer that cannot be split over the GPUs.
std::optional<Schedule> reference_of(const Case& request, const Machine& machine);

}  // namespace weft::scenarios::study
