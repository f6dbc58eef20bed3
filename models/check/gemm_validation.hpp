// Complaints about a GEMM: its matrices, tiles, blocks of rows, and what it signals and waits for.
#pragma once

#include "models/check/schedule_check.hpp"

namespace weft::schedule_check {

constexpr std::int64_t max_total = std::int64_t{1} << 53;  ///< above what the signals of a schedule add up to

void check_kernel(const Check& here, const GemmKernel& kernel);
void check(const Check& here, const Gemm& gemm);

}  // namespace weft::schedule_check
