// weft calibrate: the numbers of a machine profile, from measurements.
#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/calibration_input.hpp"
#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/contests.hpp"
#include "models/base/json_file.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/writers.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double least_error = 0.02;  ///< no band is narrower: other servers of the type differ as much
/// Classes of predicted times with error bands of their own.
constexpr std::array band_limits_us{0.0, 30.0, 100.0, 300.0};
constexpr std::size_t band_cases = 60;  ///< for quantiles of 5 % and 95 %
constexpr double infinite_us = std::numeric_limits<double>::infinity();

struct Options {
  std::vector<fs::path> files, error_files;
  std::string base, library_answers, out;
};

std::string text_of(double value) {
  std::ostringstream text;
  text << evidence::rounded(value);
  return text.str();
}

/// The profile that is being made, and what was done to it.
class Calibration {
 public:
  explicit Calibration(const Options& options)
      : options_(options),
        base_(machine_path(options.base)),
        profile_(evidence::read_profile(base_)),
        machine_(read_machine(base_)),
        input_(evidence::calibration_input(evidence::read_measured_files(options.files))) {}

  void run() {
    fit();
    write_text_file(fs::path(options_.out).parent_path() / kernels_file(), to_text(machine_.gemm_choices));
    if (!options_.error_files.empty()) find_errors();
    fitted();  // throws where the result is no profile
    write_json_file(options_.out, profile_);
    std::cout << report::to_text({.title = "", .sections = {{"", changes_, {}}}, .notes = {}, .json = {}});
  }

 private:
  void fit() {
    name_kernels();
    if (!input_.gemms.empty()) fit_gemms();
    if (!input_.collectives.empty()) build_curves();
    if (!input_.pairs.empty()) find_gaps();
    profile_["name"] = fs::path(options_.out).stem().string();
    evidence::set_conditions(profile_, to_json(input_.conditions));
    evidence::set_ranges(profile_, ranges());
  }

  /// The profile as it is now, with the table of kernels that lies beside it.
  Machine fitted() const { return machine_from_json(profile_, fs::path(options_.out).parent_path()); }

  /// The table of kernels lies beside the profile that names it.
  std::string kernels_file() const { return fs::path(options_.out).stem().string() + ".gemm_kernels.txt"; }

  void name_kernels() {
    ordered_json& kernels = profile_.at("gemm").at("kernels");
    if (!options_.library_answers.empty()) {
      machine_.gemm_choices = evidence::read_library_answers(options_.library_answers, machine_.gpu);
      evidence::Provenance provenance = input_.gemm_provenance;
      provenance.cases = machine_.gemm_choices.size();
      kernels["source"] = evidence::source_text(provenance, "answers of the GEMM library");
    }
    kernels["file"] = kernels_file();
  }

  void set(const std::string& section, const std::string& key, double value, const std::string& source,
           const std::string& note) {
    const std::string before = profile_.at(section).contains(key) ? profile_[section][key].at("value").dump() : "";
    evidence::set_number(profile_, section, key, value, source, note);
    changes_.rows.push_back({section + "." + key, before, text_of(value), profile_[section][key].at("unit"), note});
  }

  void fit_gemms() {
    const fitting::GemmFit fit = fitting::fit_gemms(machine_, input_.gemms);
    const std::string source = evidence::source_text(
        input_.gemm_provenance, "GEMMs alone, residual median " + fixed(100 * fit.median_error, 1) + " %, 90 % below " +
                                    fixed(100 * fit.p90_error, 1) + " %");
    for (const fitting::FittedNumber& number : fit.numbers)
      set(number.section, number.key, number.value, source,
          number.is_at_bound ? "at the bound of what is possible: not determined by these cases"
                             : "95 % confidence: +-" + text_of(number.half_width));
    machine_ = fit.machine;
  }

  void build_curves() {
    const std::vector<CollectiveCurve> curves = fitting::build_curves(
        input_.collectives, input_.ctas, machine_.collectives, machine_.latencies.collective_graph_gap_us);
    evidence::set_curves(profile_, curves, evidence::source_text(input_.collective_provenance, "collectives alone"));
    changes_.rows.push_back({"collectives", "", std::to_string(curves.size()), "curves", ""});
  }

  void find_gaps() {
    const fitting::GapSamples samples = fitting::collect_gaps(input_.pairs);
    const fitting::LaunchGaps gaps = fitting::launch_gaps(samples);
    const std::string source = evidence::source_text(input_.pair_provenance, "start and end times of kernels");
    const auto set_gap = [&](const std::string& section, const std::string& key, const std::optional<double>& gap_us,
                             const std::vector<double>& of) {
      if (!gap_us) return;
      set(section, key, *gap_us, source,
          "median of " + std::to_string(of.size()) + "; 10 % to 90 %: " + text_of(quantile(of, 0.1)) + " to " +
              text_of(quantile(of, 0.9)));
    };
    set_gap("latencies", "kernel_gap", gaps.kernel_us, samples.kernel);
    set_gap("latencies", "collective_gap", gaps.collective_us, samples.collective);
    set_gap("latencies", "join_gap", gaps.join_us, samples.join);
    if (gaps.counter_reset_us)
      set("gemm", "counter_reset", *gaps.counter_reset_us, source,
          "median gap of " + std::to_string(samples.reset.size()) + " GEMMs with a counter to fill, less that of " +
              std::to_string(samples.kernel.size()) + " without");
  }

  std::vector<CalibratedRange> ranges() const {
    std::vector<CalibratedRange> found;
    const auto include = [&](const std::string& quantity, double value) {
      const auto known = std::find_if(found.begin(), found.end(),
                                      [&](const CalibratedRange& range) { return range.quantity == quantity; });
      if (known == found.end()) return found.push_back({quantity, value, value});
      known->low = std::min(known->low, value);
      known->high = std::max(known->high, value);
    };
    for (const fitting::GemmObservation& one : input_.gemms) {
      include("m", static_cast<double>(one.size.m));
      include("n", static_cast<double>(one.size.n));
      include("k", static_cast<double>(one.size.k));
    }
    for (const fitting::CollectiveObservation& one : input_.collectives)
      include("bytes", static_cast<double>(one.bytes));
    for (const int gpus : input_.gpu_counts) include("gpus", gpus);
    return found;
  }

  /// Fitted to all measurements but those of `folder`; to all where it has them all.
  Machine fitted_without(const fs::path& folder) const {
    Options others = options_;
    std::erase_if(others.files, [&](const fs::path& file) { return file.parent_path() == folder; });
    if (others.files.empty() || others.files.size() == options_.files.size()) return fitted();
    Calibration calibration(others);
    calibration.fit();
    return calibration.fitted();
  }

  /// How far predictions are from measurements that nothing was fitted to, where there are those of other servers: the
  /// cases of each folder are predicted from what was measured in the others.
  void find_errors() {
    std::map<fs::path, std::vector<evidence::MeasuredCase>> measured;
    for (const fs::path& file : options_.error_files)
      for (evidence::MeasuredCase& one : evidence::read_measurements(file))
        measured[file.parent_path()].push_back(std::move(one));
    std::vector<evidence::Comparison> comparisons;
    for (const auto& [folder, cases] : measured) {
      std::size_t refused = 0;
      for (evidence::Comparison& one : compare(cases, fitted_without(folder), refused))
        comparisons.push_back(std::move(one));
    }
    std::map<std::string, std::vector<Residual>> residuals;
    for (const evidence::Comparison& one : comparisons)
      residuals[study::stratum_of(one.measured.request)].push_back(
          {one.predicted_us, one.measured.time_us / one.predicted_us - 1});
    for (const evidence::Speedup& one : evidence::speedups_of(evidence::contests_of(comparisons)))
      residuals["speedup"].push_back({0, one.measured / one.predicted - 1});
    std::vector<ErrorBand> errors;
    for (const auto& [stratum, all] : residuals) add_bands(errors, stratum, all);
    const evidence::Provenance provenance =
        evidence::calibration_input(evidence::read_measured_files(options_.error_files)).provenance;
    evidence::set_errors(profile_, errors,
                         evidence::source_text(provenance, "5 % to 95 % of measured / predicted - 1"));
  }

  /// The relative error of a predicted time.
  struct Residual {
    double predicted_us, error;
  };

  /// One band for each class of predicted times, from the longest to the shortest joined until they have enough cases:
  /// short ones are off by more, and are most of them.
  void add_bands(std::vector<ErrorBand>& errors, const std::string& stratum, const std::vector<Residual>& all) {
    std::vector<ErrorBand> bands;
    std::vector<double> some;
    std::size_t left = all.size();
    for (auto from_us = band_limits_us.rbegin(); from_us != band_limits_us.rend(); ++from_us) {
      const double to_us = from_us == band_limits_us.rbegin() ? infinite_us : *std::prev(from_us);
      for (const Residual& one : all)
        if (one.predicted_us >= *from_us && one.predicted_us < to_us) some.push_back(one.error), --left;
      if (*from_us > 0 && (some.size() < band_cases || left < band_cases)) continue;
      bands.push_back({stratum, *from_us, std::min(quantile(some, 0.05), -least_error),
                       std::max(quantile(some, 0.95), least_error)});
      changes_.rows.push_back({"errors", "", text_of(bands.back().low) + " to " + text_of(bands.back().high), stratum,
                               std::to_string(some.size()) + " cases from " + text_of(*from_us) + " us"});
      some.clear();
    }
    errors.insert(errors.end(), bands.rbegin(), bands.rend());
  }

  const Options& options_;
  fs::path base_;
  ordered_json profile_;
  Machine machine_;
  evidence::CalibrationInput input_;
  report::Table changes_{{"number", "before", "now", "unit", "note"}, {}};
};

}  // namespace

void add_calibrate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("calibrate", "Fit a machine profile to measurements");
  auto options = std::make_shared<Options>();
  command->add_option("MEASUREMENTS", options->files, "Files that weft measure wrote")->required();
  command->add_option("--base", options->base, "Name or path of the profile whose numbers are replaced")->required();
  command->add_option("--library-answers", options->library_answers, "The GEMM library's kernels (JSON lines)");
  command->add_option(
      "--errors", options->error_files,
      "Measurements that tell how far predictions are off: those of a folder, from what all other folders measured");
  command->add_option("--out", options->out, "Profile to write; its table of kernels goes beside it")->required();
  command->callback([options] { Calibration(*options).run(); });
}

}  // namespace weft::tools::commands
