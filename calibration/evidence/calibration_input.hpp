// What measurement files say about the numbers of a machine profile.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "calibration/evidence/layer_kernel_fit.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "calibration/evidence/mixed_loads.hpp"
#include "calibration/evidence/peer_collective_fit.hpp"
#include "calibration/evidence/run_conditions.hpp"
#include "calibration/fitting/collective_curves.hpp"
#include "calibration/fitting/gemm_fit.hpp"
#include "calibration/fitting/launch_gaps.hpp"
#include "calibration/fitting/own_gemm_fit.hpp"

namespace weft::calibration::evidence {

/// Where the cases of one kind come from.
struct Provenance {
  std::size_t cases = 0;
  std::set<std::string> days, gpus, drivers, nccl_versions;
  void add(const calibration::Conditions& conditions);
};
/// "measured 2026-11-21: PROBE, 255 cases, NVIDIA H200, driver 580.159.04, NCCL 2.28.9"
std::string source_text(const Provenance& provenance, const std::string& probe);

/// A collective or copies alone under load: what they draw tells their energy. Curves are of kernels after a pause,
/// whose times do not depend on the clock.
struct LoadedTransfer {
  scenarios::Case request;
  double time_us = 0, power_W = 0;
};

/// Of one iteration, the kernels of operations that signal and wait among them.
struct RecordedSignals {
  scenarios::Case request;
  std::vector<calibration::KernelRecord> kernels;
};

struct CalibrationInput {
  std::vector<fitting::GemmObservation> gemms;             ///< of the library
  std::vector<fitting::GemmObservation> own_gemms;         ///< by our kernels
  std::vector<fitting::GemmObservation> beside_own_gemms;  ///< of the library, from the files with own ones
  std::vector<fitting::CollectiveObservation> collectives;
  std::vector<fitting::CtaObservation> ctas;
  std::vector<LoadedTransfer> loaded_collectives, loaded_copies;
  std::vector<TimedCase> peer_collectives, fused_norms;
  std::vector<Load> layer_kernels;
  std::vector<Load> mixed_loads;             ///< serial pairs and such in chunks
  std::vector<fitting::RecordedPair> pairs;  ///< with recorded kernels only
  std::vector<RecordedSignals> signals;
  Provenance gemm_provenance, own_gemm_provenance, layer_kernel_provenance, collective_provenance;
  Provenance peer_provenance;  ///< of our collectives over peer memory
  Provenance fused_norm_provenance;
  Provenance window_provenance;  ///< of collectives on windows of symmetric memory
  Provenance pair_provenance;    ///< of `pairs`
  Provenance signal_provenance;  ///< of `signals`
  Provenance mixed_provenance;   ///< of `mixed_loads`
  Provenance provenance;         ///< of all cases
  RunConditions conditions;      ///< of all cases
  std::set<int> gpu_counts;      ///< of all cases
};

/// The cases of one file, with their kernels.
struct MeasuredFile {
  std::filesystem::path path;
  std::vector<MeasuredCase> cases;
};

/// Throws InputError that names file and line.
std::vector<MeasuredFile> read_measured_files(const std::vector<std::filesystem::path>& paths);

/// Cases that run as CUDA graphs: GEMMs and collectives alone, and the recorded kernels of pairs. Cases that differ
/// only in their id count once in each file: with the times of the first and the kernels of the last.
CalibrationInput calibration_input(const std::vector<MeasuredFile>& files);

/// GEMMs of the library and of our own kernels with their clocks: of a file of gemm_times.hpp where its name says .csv,
/// else of a measurement file.
std::vector<fitting::GemmObservation> read_any_gemm_times(const std::filesystem::path& file, double max_clock_MHz);

/// A table that lies beside a profile (NAME.gemm_kernels.txt, also .gz), or lines that `weft measure` or the GEMM
/// library's questions wrote; those without a kernel are left out. The library does not say how many stages a kernel
/// has: as many as fit into an SM's shared memory, at most 16.
std::vector<GemmChoice> read_library_answers(const std::filesystem::path& file, const Gpu& gpu);

}  // namespace weft::calibration::evidence
