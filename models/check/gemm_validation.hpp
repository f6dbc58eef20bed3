// Complaints about a GEMM: its matrices, tiles, blocks of rows, and what it signals and waits for.
#pragma once

#include "models/check/schedule_check.hpp"

namespace weft::schedule_check {

void check_kernel(const Check& here, const GemmKernel& kernel);
void check(const Check& here, const Gemm& gemm);

}  // namespace weft::schedule_check
