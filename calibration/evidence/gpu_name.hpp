// GPUs as drivers and nccl-tests name them, their maker first: "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X".
#pragma once

#include <string>

#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

/// Whether the machine's GPUs may be by the same maker; also of a name without one.
bool is_of_maker(const std::string& gpu, const Machine& machine);

}  // namespace weft::calibration::evidence
