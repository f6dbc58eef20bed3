// weft calibrate: the numbers of a machine profile, from measurements.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "calibration/evidence/calibration.hpp"
#include "calibration/evidence/calibration_input.hpp"
#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/report/profile_report.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

namespace fs = std::filesystem;

struct CalibrateOptions {
  std::vector<fs::path> files, error_files, gemm_times;
  std::string base, library_answers;
  fs::path out;
  Output output;
};

evidence::CalibrationEvidence evidence_of(const CalibrateOptions& options, const Machine& base) {
  evidence::CalibrationEvidence evidence{.fitted = evidence::read_measured_files(options.files)};
  for (const fs::path& file : options.error_files) evidence.errors.push_back({file, evidence::read_measurements(file)});
  if (!options.library_answers.empty())
    evidence.library_answers = evidence::read_library_answers(options.library_answers, base.gpu);
  for (const fs::path& file : options.gemm_times)
    std::ranges::move(evidence::read_any_gemm_times(file, base.gpu.max_clock_MHz),
                      std::back_inserter(evidence.gemm_times));
  return evidence;
}

void write(const evidence::CalibratedProfile& profile, const fs::path& out) {
  std::vector<TextFile> files;
  if (!profile.table_file.empty()) files.push_back({out.parent_path() / profile.table_file, profile.table_text});
  files.push_back({out, profile.text});
  write_text_files(files);
}

/// Shown from the first case on: what comes before says nothing of how long the others take.
Progress progress_of_cases() {
  return [shown = Progress()](std::size_t done, std::size_t of) mutable {
    if (!shown) shown = show_progress("cases");
    shown(done, of);
  };
}

void require_evidence(const CalibrateOptions& options) {
  if (options.files.empty() && options.error_files.empty() && options.library_answers.empty() &&
      options.gemm_times.empty())
    throw InputError("MEASUREMENTS", "expected files to fit to, --library-answers, --gemm-times or --errors");
}

void run_calibrate(const CalibrateOptions& options) {
  require_evidence(options);
  require_writable(options.out);
  const fs::path base = machine_path(options.base);
  const Machine machine = read_machine(base);
  const evidence::CalibratedProfile profile =
      evidence::calibrate({evidence::read_profile(base), machine}, evidence_of(options, machine),
                          options.out.stem().string(), progress_of_cases());
  write(profile, options.out);
  options.output.write(calibration::report::calibrated_report(profile));
}

}  // namespace

void add_calibrate_command(CLI::App& app) {
  auto [command, options] = add_command(app, "calibrate", "Fit a machine profile to measurements", run_calibrate);
  reads(command.add_option("MEASUREMENTS", options.files,
                           "Files that weft measure wrote; without any, only kernels, what the formula of GEMMs leaves "
                           "out and error bands are replaced"));
  reads_machine(command.add_option("--base", options.base, "Name or path of the profile whose numbers are replaced"))
      ->required();
  reads(command.add_option("--library-answers", options.library_answers,
                           "The GEMM library's kernels (JSON lines, or the table beside a profile)"));
  reads(command.add_option("--gemm-times", options.gemm_times,
                           "GEMMs that tell only what the formulas of GEMMs leave out: files that weft measure wrote, "
                           "or CSV with the columns m, n, k, time_us and clock_MHz"));
  reads(command.add_option(
      "--errors", options.error_files,
      "Measurements that tell how far predictions are off: those of a folder, from what all other folders measured"));
  writes(command.add_option("--out", options.out, "Profile to write; its table of kernels goes beside it"))->required();
  options.output.add_to(command);
}

}  // namespace weft::tools::commands
