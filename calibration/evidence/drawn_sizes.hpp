// How large what is drawn for calibration and validation may be: as models have it.
#pragma once

#include <cstdint>

#include "models/base/units.hpp"

namespace weft::calibration::evidence {

constexpr std::int64_t most_rows = 32768, least_width = 512;
constexpr std::int64_t most_pair_width = 16384;  ///< at most 1 GiB of output or input
constexpr std::int64_t least_rows_of_a_chunk = 16;
constexpr Bytes bytes_unit = 4096;

}  // namespace weft::calibration::evidence
