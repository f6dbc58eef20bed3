// Times of GEMMs as somebody measured them: lines of comma-separated values.
#pragma once

#include <filesystem>
#include <vector>

#include "calibration/fitting/gemm_fit.hpp"

namespace weft::calibration::evidence {

/// The first line names the columns, in any order: m, n, k, time_us, and, where there are some, dtype (bf16 or fp8;
/// left out: bf16), clock_MHz (of the SMs, while it ran) and kernel (library, left out, or one of our own as a serial
/// schedule names it). Sizes as in a workload; times are of a GEMM of many, one
/// after another, under load where there are no clocks. Lines that begin with # are for readers. Throws InputError that
/// names file, line and column.
std::vector<fitting::GemmObservation> read_gemm_times(const std::filesystem::path& path, double max_clock_MHz);

}  // namespace weft::calibration::evidence
