// The one check at every entrance of the project: reading a file of a schedule, simulating it, running and measuring
// it.
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft {

/// Throws InputError for the first of: a schedule that is not valid, one that gets stuck (both validation.hpp), and
/// conflicting operations that nothing orders (race_check.hpp). Builders are tested with it, so that who builds cases
/// by the thousands does not pay for it again.
void check(const Schedule& schedule);

}  // namespace weft
