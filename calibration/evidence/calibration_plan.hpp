// What to measure on a machine, and what to ask its GEMM library, so that a profile can be fitted: drawn from a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// Cases that are measured in one run; `name` is that of their file, without the ending.
struct PlanFile {
  std::string name;
  std::vector<scenarios::Case> cases;
};

/// For 1 GPU "gemm", "own_gemm" and "layer_kernels"; for each larger number W "collectives_Wgpu", "windows_Wgpu",
/// "peers_Wgpu", "norms_Wgpu", "signals_Wgpu", "pairs_Wgpu" and "copies_Wgpu". Shapes are log-uniform, and none is that
/// of a GEMM of the held-out model. In a file each case stands once; ids are KINDgW-POSITION. GPU counts are 1, 2, 4 or
/// 8, each once; InputError otherwise.
std::vector<PlanFile> calibration_plan(std::uint64_t seed, const std::vector<int>& gpu_counts);

/// GEMMs whose kernels the library is asked for: those of the plan, whole and as their schedules cut them, rows and
/// columns as workloads have them with a few depths each, and shapes all over the calibrated region. Ascending, each
/// once, without the held-out model's.
std::vector<MatrixSize> library_questions(std::uint64_t seed, const std::vector<PlanFile>& plan);

}  // namespace weft::calibration::evidence
