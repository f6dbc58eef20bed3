#include "calibration/evidence/calibration.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include <utility>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/error_bands.hpp"
#include "calibration/evidence/gpu_name.hpp"
#include "calibration/evidence/progress_of_parts.hpp"
#include "calibration/evidence/turns.hpp"
#include "calibration/fitting/kernel_weights.hpp"
#include "calibration/fitting/measured_gemm_weights.hpp"
#include "calibration/fitting/signal_times.hpp"
#include "calibration/fitting/transfer_energy.hpp"
#include "calibration/fitting/unaligned_gemm_fit.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/machine_numbers.hpp"
#include "scenarios/families/build.hpp"
#include "sim/energy.hpp"
#include "sim/operation_cost.hpp"

namespace weft::calibration::evidence {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string text_of(double value) {
  std::ostringstream text;
  text << rounded(value);
  return text.str();
}

/// The smallest and the largest of each quantity.
std::vector<CalibratedRange> ranges_of(const CalibrationInput& input) {
  std::vector<CalibratedRange> found;
  const auto include = [&](const std::string& quantity, double value) {
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&](const CalibratedRange& range) { return range.quantity == quantity; });
    if (known == found.end()) return found.push_back({quantity, value, value});
    known->low = std::min(known->low, value);
    known->high = std::max(known->high, value);
  };
  for (const fitting::GemmObservation& one : input.gemms) {
    include("m", static_cast<double>(one.size.m));
    include("n", static_cast<double>(one.size.n));
    include("k", static_cast<double>(one.size.k));
  }
  for (const fitting::CollectiveObservation& one : input.collectives) include("bytes", static_cast<double>(one.bytes));
  for (const Load& one : input.layer_kernels)
    if (const auto* attention = std::get_if<scenarios::AttentionKernelWorkload>(&one.request.workload);
        attention != nullptr && attention->prefix > 0)
      include("cached_attention", static_cast<double>(attention->prefix));
  for (const int gpus : input.gpu_counts) include("gpus", gpus);
  return found;
}

void set_bands(ordered_json& profile, const std::vector<FoundErrors>& found, const Provenance& provenance,
               std::vector<ProfileChange>& changes) {
  const std::string source = source_text(provenance, "5 % to 95 % of measured / predicted - 1");
  for (const auto& [errors, cases] : found) {
    const std::string condition(name_of(errors.condition));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const ErrorBand& band = errors.bands[i];
      changes.push_back({"errors", "", text_of(band.low) + " to " + text_of(band.high), band.stratum + " " + condition,
                         std::to_string(cases[i]) + " cases from " + text_of(band.from_us) + " us"});
    }
    changes.push_back({"errors", "", text_of(errors.growth), "growth " + condition, "with each doubling of the GPUs"});
    set_errors(profile, errors, source);
  }
}

/// Tells `kernels`, the section of the profile `name`, its table of answers. Returns the table's name in the profile's
/// folder and its text.
std::pair<std::string, std::string> named_table(ordered_json& kernels, const GemmChoices& answers,
                                                const std::string& name) {
  std::string text = weft::to_text(answers);
  const std::string checksum = table_checksum(text);
  std::string file = name + "." + checksum + ".gemm_kernels.txt";
  kernels["file"] = file;
  kernels["checksum"] = checksum;
  return {std::move(file), std::move(text)};
}

/// The profile that is being made, and what was done to it.
class Fit {
 public:
  enum class Weights { found, as_before };  // of the networks

  Fit(const BaseProfile& base, const std::vector<MeasuredFile>& files, const CalibrationEvidence& evidence,
      const std::string& name, Weights weights = Weights::found)
      : profile_(base.document), machine_(base.machine), input_(calibration_input(files)) {
    for (const std::string& gpu : input_.conditions.gpus)
      if (!is_of_maker(gpu, machine_))
        throw InputError("base", "expected a profile of GPUs by the maker of " + shown_name(gpu) +
                                     ", which was measured, got " + machine_.name);
    profile_["name"] = name;
    name_kernels(evidence, name);
    if (tells_formulas()) fit_gemms();
    fit_own_gemms(evidence.gemm_times);
    fit_unaligned_gemms(evidence.gemm_times);
    fit_fp8_energy(evidence.gemm_times);
    if (weights == Weights::found) weigh_gemms(evidence.gemm_times);
    fit_layer_kernels();
    fit_peer_collectives();
    fit_fused_norms();
    const bool has_none = machine_.kernel_weights.empty() && tells_formulas();
    if (weights == Weights::found && (evidence.library_answers || has_none)) weigh_kernels();
    if (!input_.collectives.empty()) build_curves();
    if (!input_.pairs.empty()) find_gaps();
    find_signal_times();
    find_transfer_energies();
    find_power_of_mixed_loads();
    if (files.empty()) return;
    evidence::set_conditions(profile_, to_json(input_.conditions));
    evidence::set_ranges(profile_, ranges_of(input_));
  }

  /// Throws InputError where it is no profile.
  Machine machine() const { return machine_from_json(profile_, machine_.gemm_choices); }

  void set_errors(const std::vector<FoundErrors>& found, const Provenance& provenance) {
    set_bands(profile_, found, provenance, changes_);
  }

  CalibratedProfile result() && {
    machine();
    return {weft::to_text(profile_), std::move(table_file_), std::move(table_text_), std::move(changes_)};
  }

 private:
  /// A profile has a table of kernels beside it, or lists candidates.
  void name_kernels(const CalibrationEvidence& evidence, const std::string& name) {
    ordered_json& kernels = profile_.at("gemm").at("kernels");
    if (kernels.contains("candidates")) return;
    if (evidence.library_answers) {
      machine_.gemm_choices = *evidence.library_answers;
      Provenance provenance = input_.gemm_provenance;
      provenance.cases = machine_.gemm_choices.size();
      kernels["source"] = source_text(provenance, "answers of the GEMM library");
    }
    std::tie(table_file_, table_text_) = named_table(kernels, machine_.gemm_choices, name);
  }

  void set(const std::string& section, const std::string& key, double value, const std::string& source,
           const std::string& note) {
    const ordered_json& numbers = section_of(profile_, section);
    const std::string before = numbers.contains(key) ? numbers[key].at("value").dump() : "";
    set_number(profile_, section, key, value, source, note);
    changes_.push_back({section + "." + key, before, text_of(value), numbers.at(key).at("unit"), note});
  }

  void fit_gemms() {
    const fitting::GemmFit fit = fitting::fit_gemms(machine_, input_.gemms);
    const std::string source =
        source_text(input_.gemm_provenance, "GEMMs alone, residual median " + fixed(100 * fit.median_error, 1) +
                                                " %, 90 % below " + fixed(100 * fit.p90_error, 1) + " %");
    for (const fitting::FittedNumber& number : fit.numbers) set_fitted(number, source);
    machine_ = fit.machine;
  }

  /// GEMMs of fp8 alone say too little of what all GEMMs have in common.
  bool tells_formulas() const {
    return std::ranges::any_of(input_.gemms, [](const auto& one) { return one.dtype == DataType::bf16; });
  }

  /// By what the library's were fitted to just before. What GPUs draw differs: those of the same files tell by how
  /// much.
  void fit_own_gemms(const std::vector<fitting::GemmObservation>& more) {
    std::string source = source_text(input_.own_gemm_provenance, "GEMMs of our own kernels alone under load");
    std::vector<fitting::GemmObservation> own = input_.own_gemms;
    std::ranges::copy_if(more, std::back_inserter(own), [](const auto& one) { return one.own_kernel.has_value(); });
    if (input_.own_gemms.empty()) source = std::to_string(own.size()) + " GEMMs of our own kernels, their clocks read";
    const auto& library = input_.beside_own_gemms.empty() ? input_.gemms : input_.beside_own_gemms;
    std::vector<fitting::FittedNumber> found = fitting::fit_own_gemms(machine_, own, library);
    // A few of a machine like the base tell less of their times than the base's numbers and the weights that belong to
    // them do.
    if (!machine_.gemm_networks.untabled.empty() && own.size() < fitting::fewest_further_gemms)
      std::erase_if(found, [](const fitting::FittedNumber& one) { return one.key != "own_energy"; });
    adopt(found, source);
  }

  void fit_unaligned_gemms(const std::vector<fitting::GemmObservation>& more) {
    adopt(fitting::fit_unaligned_gemms(machine_, more),
          "GEMMs of the library with rows that do not begin at 16 bytes, their clocks read");
  }

  std::vector<fitting::GemmObservation> all_gemms(const std::vector<fitting::GemmObservation>& more) const {
    std::vector<fitting::GemmObservation> all = input_.gemms;
    all.insert(all.end(), input_.own_gemms.begin(), input_.own_gemms.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void fit_fp8_energy(const std::vector<fitting::GemmObservation>& more) {
    const auto found = fitting::fit_fp8_energy(machine_, all_gemms(more));
    if (found) adopt({*found}, "GEMMs of fp8 alone under load");
  }

  void fit_layer_kernels() {
    const std::string source = source_text(input_.layer_kernel_provenance, "our kernels of layers alone under load");
    adopt(evidence::fit_layer_kernels(machine_, input_.layer_kernels), source);
  }

  void fit_peer_collectives() {
    const std::string source = source_text(input_.peer_provenance, "our collectives over peer memory alone");
    adopt(evidence::fit_peer_collectives(machine_, input_.peer_collectives), source);
  }

  void fit_fused_norms() {
    const std::string source = source_text(input_.fused_norm_provenance, "our all-reduces with the norm in them alone");
    adopt(evidence::fit_fused_norms(machine_, input_.fused_norms), source);
  }

  /// In the machine too, by which the next ones are fitted.
  void adopt(const std::vector<fitting::FittedNumber>& numbers, const std::string& source) {
    for (const fitting::FittedNumber& number : numbers) {
      set_fitted(number, source);
      number_of(machine_, number.section, number.key) = number.value;
    }
  }

  void set_fitted(const fitting::FittedNumber& number, const std::string& source) {
    set(number.section, number.key, number.value, source,
        number.is_at_bound ? "at the bound of what is possible: not determined by these cases"
                           : "95 % confidence: +-" + text_of(number.half_width));
  }

  /// By the times that were fitted just before.
  void weigh_kernels() {
    const fitting::KernelWeights found = fitting::fit_kernel_weights(machine_);
    machine_.kernel_weights = found.weights;
    const std::string note = "the likeliest kernel is the library's for " + fixed(100 * found.right, 1) + " % of " +
                             std::to_string(found.shapes) +
                             " shapes kept aside, half of which know nothing of the same m and n";
    set_weights("weights", found.weights, source_text(input_.gemm_provenance, "answers of the GEMM library"), note);
  }

  /// What the formulas with these numbers leave out.
  void weigh_gemms(const std::vector<fitting::GemmObservation>& more) {
    const std::vector<fitting::GemmObservation> all = all_gemms(more);
    std::string source = std::to_string(more.size()) + " GEMMs whose times and clocks were measured";
    if (!input_.gemms.empty()) source += ", and " + source_text(input_.gemm_provenance, "GEMMs alone");
    const bool has_new_numbers = tells_formulas();
    const fitting::MeasuredGemmWeights of_times = fitting::fit_time_weights(machine_, all);
    MeasuredGemmNetworks& networks = machine_.gemm_networks;
    adopt_weights("time_weights", networks.time, of_times, "times", source, has_new_numbers);
    adopt_weights("energy_weights", networks.energy, fitting::fit_energy_weights(machine_, all), "powers", source,
                  has_new_numbers);
    const bool are_few = has_new_numbers && of_times.gemms == 0;  // so that they may be far off
    adopt_weights("untabled_weights", networks.untabled, fitting::fit_untabled_weights(machine_, all), "times", source,
                  are_few);
    adopt_weights("fp8_weights", networks.fp8, fitting::fit_fp8_weights(machine_, all), "times", source, false);
  }

  void adopt_weights(const std::string& key, NetworkWeights& weights, const fitting::MeasuredGemmWeights& found,
                     const std::string& what, const std::string& source, bool has_new_numbers) {
    if (found.gemms == 0) {
      if (!has_new_numbers) return;
      weights.clear();  // those of before belong to the numbers of before
      return set_weights(key, {}, "", "");
    }
    weights = found.weights;
    set_weights(key, weights, source,
                what + " of " + std::to_string(found.gemms) + " GEMMs kept aside, at known clocks, are predicted " +
                    fixed(100 * found.error, 2) + " % off on average, and " + fixed(100 * found.formula_error, 2) +
                    " % by the formula alone");
  }

  /// None: they are left out.
  void set_weights(const std::string& key, const NetworkWeights& found, const std::string& source,
                   const std::string& note) {
    ordered_json& kernels = profile_.at("gemm").at("kernels");
    kernels.erase(key);
    if (found.empty()) return;
    NetworkWeights weights;
    for (const float weight : found) weights.push_back(static_cast<float>(rounded(weight)));
    kernels[key] = {{"value", to_text(weights)}, {"unit", "ratio"}, {"source", source}, {"note", note}};
    changes_.push_back({"gemm.kernels." + key, "", std::to_string(weights.size()), "ratio", note});
  }

  void build_curves() {
    const std::vector<CollectiveCurve> curves = fitting::build_curves(
        input_.collectives, input_.ctas, machine_.collectives, machine_.latencies.collective_graph_gap_us);
    std::vector<CollectiveCurve> by_default, in_windows;
    for (const CollectiveCurve& curve : curves)
      (curve.transport == Transport::nccl ? by_default : in_windows).push_back(curve);
    set_curves("collectives", by_default, input_.collective_provenance, "collectives alone");
    set_curves("symmetric_collectives", in_windows, input_.window_provenance, "collectives on symmetric memory alone");
  }

  void set_curves(const std::string& key, const std::vector<CollectiveCurve>& curves, const Provenance& provenance,
                  const std::string& probe) {
    if (curves.empty()) return;
    evidence::set_curves(profile_, key, curves, source_text(provenance, probe));
    changes_.push_back({key, "", std::to_string(curves.size()), "curves", ""});
  }

  void find_transfer_energies() {
    set_energy("collective_energy", &Power::collective_pJ_per_byte, input_.loaded_collectives, "collectives");
    set_energy("copy_energy", &Power::copy_pJ_per_byte, input_.loaded_copies, "copies");
  }

  /// Of an iteration with `pJ_per_byte` for the transfers in question.
  double energy_uJ(const Schedule& schedule, double Power::*number, double pJ_per_byte) const {
    Machine machine = machine_;
    machine.power.*number = pJ_per_byte;
    return sim::IterationEnergy(schedule, machine, sim::operation_costs(schedule, machine)).total_uJ(1);
  }

  void set_energy(const std::string& key, double Power::*number, const std::vector<LoadedTransfer>& transfers,
                  const std::string& what) {
    std::vector<fitting::TransferObservation> observations;
    for (const LoadedTransfer& one : transfers) {
      const Schedule schedule = scenarios::families::build(one.request, machine_);
      const double other_uJ = energy_uJ(schedule, number, 0);
      const double bytes = (energy_uJ(schedule, number, 1) - other_uJ) * 1e6;
      observations.push_back({bytes, other_uJ, one.time_us, one.power_W});
    }
    const std::optional<fitting::TransferEnergy> energy = fitting::transfer_energy(observations, machine_.power.idle_W);
    if (energy)
      set("power", key, energy->pJ_per_byte, source_text(input_.provenance, what + " alone under load"),
          "median of " + std::to_string(energy->transfers) + "; 10 % to 90 %: " + text_of(energy->low) + " to " +
              text_of(energy->high));
  }

  void find_power_of_mixed_loads() {
    set_power_of_loads("mixed_energy", mixed_energy(machine_, input_.mixed_loads));
    set_power_of_loads("clock_between", clock_between(machine_, input_.mixed_loads));
  }

  /// What too few loads tell stays as it is, and is listed.
  void set_power_of_loads(const std::string& key, const std::optional<MedianOfLoads>& found) {
    if (found)
      return set("power", key, found->value, source_text(input_.mixed_provenance, "pairs under load"),
                 "median of " + std::to_string(found->loads) + "; 10 % to 90 %: " + text_of(found->low) + " to " +
                     text_of(found->high));
    if (!profile_.at("power").contains(key)) return;
    const ordered_json& kept = profile_["power"][key];
    const std::string value = kept.at("value").dump();
    changes_.push_back({"power." + key, value, value, kept.at("unit"), "kept: not determined by these cases"});
  }

  void find_gaps() {
    const fitting::GapSamples samples = fitting::collect_gaps(input_.pairs);
    const fitting::LaunchGaps gaps = fitting::launch_gaps(samples);
    set_gap("kernel_gap", gaps.kernel_us, samples.kernel, gap_source());
    set_gap("collective_gap", gaps.collective_us, samples.collective, gap_source());
    set_gap("join_gap", gaps.join_us, samples.join, gap_source());
    const auto set_fill = [&](const char* key, const std::optional<double>& added_us, std::size_t filled) {
      if (!added_us) return;
      set("gemm", key, *added_us, gap_source(),
          "median gap of " + std::to_string(filled) + " GEMMs with a counter to fill, less that of " +
              std::to_string(samples.kernel.size()) + " without");
    };
    set_fill("counter_reset", gaps.counter_reset_us, samples.reset.size());
    set_fill("counter_fill", gaps.counter_fill_us, samples.fill.size());
  }

  void find_signal_times() {
    fitting::SignalSamples samples;
    for (const RecordedSignals& one : input_.signals) {
      if (std::holds_alternative<scenarios::Signaling>(one.request.schedule.family))
        add_tile_groups(samples, one.kernels);
      else
        add_signals(samples, scenarios::families::build(one.request, machine_), one.kernels);
    }
    const fitting::SignalTimes times = signal_times(samples, machine_.latencies.signal_us);
    const std::string source = source_text(input_.signal_provenance, "start and end times of kernels");
    set_gap("signal", times.signal_us, samples.seen_us, source);
    set_gap("signal_kernel", times.signal_kernel_us, samples.sent_us, source);
    set_gap("wait_kernel", times.wait_kernel_us, samples.found_us, source);
  }

  void set_gap(const std::string& key, const std::optional<double>& gap_us, const std::vector<double>& samples,
               const std::string& source) {
    if (!gap_us) return;
    set("latencies", key, *gap_us, source,
        "median of " + std::to_string(samples.size()) + "; 10 % to 90 %: " + text_of(quantile(samples, 0.1)) + " to " +
            text_of(quantile(samples, 0.9)));
  }

  std::string gap_source() const { return source_text(input_.pair_provenance, "start and end times of kernels"); }

  ordered_json profile_;
  Machine machine_;
  CalibrationInput input_;
  std::string table_file_, table_text_;
  std::vector<ProfileChange> changes_;
};

/// However its path is written.
fs::path folder_of(const fs::path& file) { return fs::weakly_canonical(fs::absolute(file)).parent_path(); }

/// How far predictions are from measurements that nothing was fitted to, where there are those of other servers: each
/// at the clock of its mix, where it was measured in turn. `all` is fitted to every file.
std::vector<Comparison> unseen(const BaseProfile& base, const CalibrationEvidence& evidence, const Machine& all,
                               const std::string& name, const Progress& progress) {
  std::map<fs::path, std::vector<MeasuredCase>> measured;
  std::size_t count = 0;
  for (const MeasuredFile& file : evidence.errors) {
    std::ranges::copy(file.cases, std::back_inserter(measured[folder_of(file.path)]));
    count += file.cases.size();
  }
  ProgressOfParts cases_done(progress, count);
  std::vector<Comparison> comparisons;
  for (auto& [folder, cases] : measured) {
    std::vector<MeasuredFile> others;
    std::ranges::copy_if(evidence.fitted, std::back_inserter(others),
                         [&where = folder](const MeasuredFile& file) { return folder_of(file.path) != where; });
    const bool is_fitted_to_all = others.empty() || others.size() == evidence.fitted.size();
    Machine machine = is_fitted_to_all ? all : Fit(base, others, evidence, name, Fit::Weights::as_before).machine();
    machine.kernel_weights = all.kernel_weights;
    machine.gemm_networks = all.gemm_networks;
    std::size_t refused = 0;
    const Progress some_done = cases_done.next(cases.size());
    std::ranges::move(compare(in_their_mixes(std::move(cases), machine), machine, refused, {}, some_done),
                      std::back_inserter(comparisons));
  }
  return comparisons;
}

/// The base with the bands of its own predictions, and with its own table of kernels.
CalibratedProfile with_bands(const BaseProfile& base, const CalibrationEvidence& evidence, const std::string& name,
                             const Progress& progress) {
  CalibratedProfile result;
  ordered_json profile = base.document;
  profile["name"] = name;
  set_bands(profile, error_bands(unseen(base, evidence, base.machine, name, progress)),
            calibration_input(evidence.errors).provenance, result.changes);
  ordered_json& kernels = profile.at("gemm").at("kernels");
  if (!kernels.contains("candidates"))
    std::tie(result.table_file, result.table_text) = named_table(kernels, base.machine.gemm_choices, name);
  result.text = weft::to_text(profile);
  return result;
}

}  // namespace

CalibratedProfile calibrate(const BaseProfile& base, const CalibrationEvidence& evidence, const std::string& name,
                            const Progress& progress) {
  if (evidence.library_answers && !base.machine.gemm_candidates.empty())
    throw InputError("the library's answers", "expected none: " + base.machine.name +
                                                  " lists candidates for its kernels, and has no table of answers");
  if (evidence.fitted.empty() && evidence.gemm_times.empty() && !evidence.library_answers)
    return with_bands(base, evidence, name, progress);
  Fit fit(base, evidence.fitted, evidence, name);
  if (!evidence.errors.empty())
    fit.set_errors(error_bands(unseen(base, evidence, fit.machine(), name, progress)),
                   calibration_input(evidence.errors).provenance);
  return std::move(fit).result();
}

}  // namespace weft::calibration::evidence
