// Which of weft's own kernels a choice names.
#pragma once

#include <cstddef>

#include "models/schedule/own_kernels.hpp"
#include "scenarios/schedule_choice.hpp"

namespace weft::scenarios {

/// None for the library's.
constexpr const GemmKernel* own_kernel_of(GemmSource source) {
  return source == GemmSource::library ? nullptr : &own_kernels[static_cast<std::size_t>(source) - 1];
}

}  // namespace weft::scenarios
