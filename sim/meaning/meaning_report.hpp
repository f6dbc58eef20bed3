// What a check can say of a schedule's result, in words.
#pragma once

#include <string>

#include "models/schedule/schedule.hpp"

namespace weft::sim::meaning {

/// "computes gemm+all_reduce, in integers, in 4 runs with random durations", or why that is not known: nothing is said,
/// it is too large, or an operation means nothing in integers. The schedule must have passed check(). Throws
/// InputError, field "meaning…", for a meaning that does not fit the buffers, and for the first wrong element.
std::string meaning_in_words(const Schedule& schedule);

}  // namespace weft::sim::meaning
