// Whole numbers of parts.
#pragma once

#include <cstdint>

namespace weft {

/// The parts of up to `b` that `a` needs: a / b, rounded up.
constexpr std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace weft
