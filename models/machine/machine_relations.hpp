// What must hold between the numbers of a machine profile, whatever each of them is alone.
#pragma once

#include <string>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft {

/// What predictions are divided into by their errors: single operations, families of pairs, and speedups.
const std::vector<std::string>& known_strata();

/// Throws InputError that names the number as the profile's file has it: links that carry more than their datasheets
/// say would beat every bound, a CTA that fits no SM would never run, an idle GPU above its limit would have no clock.
void check_relations(const Machine& machine);

}  // namespace weft
