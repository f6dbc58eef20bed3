// Asks cuBLASLt which kernel it would run for a shape, without running it.
#pragma once

#include "calibration/device_module.hpp"

namespace weft::calibration::device {

/// Sends one JSON line for each size, in order; {"m", "n", "k", "error"} where the library knows no kernel.
void answer_questions(const std::vector<MatrixSize>& sizes, DataType factors, const Send& send);

}  // namespace weft::calibration::device
