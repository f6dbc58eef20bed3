// GEMMs whose kernels the GEMM library is asked for, as a file: a line "m n k" each.
#pragma once

#include <string>
#include <vector>

#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

std::string text_of(const std::vector<MatrixSize>& questions);
/// Throws InputError that names the file and the line.
std::vector<MatrixSize> read_library_questions(const std::string& path);

}  // namespace weft::calibration::evidence
