#include "calibration/evidence/calibration_input.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/evidence/gemm_times.hpp"
#include "calibration/gemm_choices.hpp"
#include "models/base/statistics.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/schedule/transports.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/collective_kernels.hpp"
#include "scenarios/own_kernel_of.hpp"

namespace weft::calibration::evidence {
namespace {

using calibration::KernelRecord;
using fitting::CollectiveSetting;
using scenarios::Case;

/// The cases of a file that differ in more than their id.
std::vector<MeasuredCase> distinct(const MeasuredFile& file) {
  std::vector<MeasuredCase> cases;
  std::map<std::string, std::size_t> known;
  for (const MeasuredCase& one : file.cases) {
    Case without_id = one.request;
    without_id.id.clear();
    const auto [found, is_new] = known.try_emplace(scenarios::to_json(without_id).dump(), cases.size());
    if (is_new)
      cases.push_back(one);
    else if (!one.kernels.empty())
      cases[found->second].kernels = one.kernels;
  }
  return cases;
}

/// Of so many runs of a case the later half is past what the governor did in the first; each counts.
constexpr std::size_t runs_to_settle = 10;

/// First start to last end on one of the GPUs.
std::optional<double> kernels_us(const std::vector<KernelRecord>& kernels) {
  if (kernels.empty()) return std::nullopt;
  double start_us = kernels.front().start_us, end_us = kernels.front().end_us;
  for (const KernelRecord& kernel : kernels) {
    if (kernel.gpu != kernels.front().gpu) continue;
    start_us = std::min(start_us, kernel.start_us);
    end_us = std::max(end_us, kernel.end_us);
  }
  return end_us - start_us;
}

/// From when the last GPU joined until the last was done: without what the others waited for it. On two GPUs the kernel
/// of an all-to-all ends on each so long after the other's start, so that their durations differ by twice their
/// distance.
std::optional<double> collective_us(const std::vector<KernelRecord>& kernels) {
  std::optional<double> last_start_us;
  double last_end_us = 0;
  for (const KernelRecord& kernel : kernels) {
    if (!fitting::is_nccl_kernel(kernel)) continue;
    last_start_us = std::max(last_start_us.value_or(kernel.start_us), kernel.start_us);
    last_end_us = std::max(last_end_us, kernel.end_us);
  }
  if (!last_start_us) return std::nullopt;
  return last_end_us - *last_start_us;
}

int ctas_of(const std::vector<KernelRecord>& kernels) {
  const auto collective = std::find_if(kernels.begin(), kernels.end(), fitting::is_nccl_kernel);
  return collective == kernels.end() ? 0 : collective->launch.grid[0];
}

fitting::CollectiveSetting setting_of(const Case& request, CollectiveKind kind) {
  return {kind, request.gpus, request.schedule.max_ctas,
          scenarios::families::transport_of(request.schedule.collectives, kind)};
}

void add_ctas(CalibrationInput& input, const MeasuredCase& one, CollectiveKind kind) {
  const fitting::CollectiveSetting setting = setting_of(one.request, kind);
  for (const KernelRecord& kernel : one.kernels)
    if (fitting::is_nccl_kernel(kernel))
      input.ctas.push_back({setting, kernel.launch.grid[0], kernel.launch.cluster[0]});
}

/// In a mix it is that of all its cases.
double own_power_W(const MeasuredCase& one) { return one.in_turn_with.empty() ? one.power_W : 0; }

/// What a case took at the clock that was read: under load by the log, after a pause by the counters of its runs, and
/// then the power that is read is not that of the kernel. None where no clock was read.
struct TimeAtClock {
  double time_us = 0;
  fitting::ClockReading reading;
};
std::optional<TimeAtClock> time_at_clock(const MeasuredCase& one) {
  const double max_clock_MHz = one.conditions.max_sm_clock_MHz;
  if (max_clock_MHz == 0) return {};
  if (one.condition == Condition::sustained) {
    if (one.sm_clock_MHz == 0) return {};
    return TimeAtClock{one.time_us, {one.sm_clock_MHz / max_clock_MHz, own_power_W(one)}};
  }
  if (one.repeat_clocks_MHz.empty()) return {};
  return TimeAtClock{mean(one.repeats_us), {mean(one.repeat_clocks_MHz) / max_clock_MHz, 0}};
}

std::optional<Load> load_of(const MeasuredCase& one) {
  const std::optional<TimeAtClock> at_clock = time_at_clock(one);
  if (!at_clock) return {};
  const auto& [clock_share, power_W] = at_clock->reading;
  return Load{one.request, at_clock->time_us, power_W, clock_share};
}

void add_pair(CalibrationInput& input, const MeasuredCase& one, const scenarios::PairWorkload& pair) {
  add_ctas(input, one, collective_of(pair.op));
  if (const scenarios::Family& family = one.request.schedule.family;
      !one.kernels.empty() &&
      (std::holds_alternative<scenarios::Hybrid>(family) || std::holds_alternative<scenarios::Signaling>(family))) {
    input.signals.push_back({one.request, one.kernels});
    input.signal_provenance.add(one.conditions);
  }
  const bool is_serial = std::holds_alternative<scenarios::Serial>(one.request.schedule.family);
  if (!is_serial && !std::holds_alternative<scenarios::Decomposition>(one.request.schedule.family)) return;
  if (const std::optional<Load> load = load_of(one); load && load->power_W > 0) {
    input.mixed_loads.push_back(*load);
    input.mixed_provenance.add(one.conditions);
  }
  if (one.kernels.empty()) return;
  input.pairs.push_back({is_serial, collective_comes_first(pair.op), one.kernels});
  input.pair_provenance.add(one.conditions);
}

void add_gemm(CalibrationInput& input, const MeasuredCase& one, const scenarios::GemmWorkload& gemm, bool after_gemm) {
  fitting::GemmObservation observation{.size = {gemm.m, gemm.n, gemm.k},
                                       .dtype = gemm.dtype,
                                       .time_us = one.time_us,
                                       .condition = one.condition,
                                       .run = one.run};
  const std::optional<TimeAtClock> at_clock = time_at_clock(one);
  if (at_clock) {
    observation.time_us = at_clock->time_us;
    observation.reading = at_clock->reading;
  }
  if (one.condition == Condition::sustained) {
    if (at_clock) input.gemms.push_back(observation);
    return;
  }
  observation.after_gemm = after_gemm;
  if (at_clock || one.repeats_us.size() < runs_to_settle) {
    observation.kernels_us = kernels_us(one.kernels);
    input.gemms.push_back(observation);
    return;
  }
  observation.settled = true;
  for (std::size_t run = one.repeats_us.size() / 2; run < one.repeats_us.size(); ++run) {
    observation.time_us = one.repeats_us[run];
    input.gemms.push_back(observation);
  }
}

void add_own_gemm(CalibrationInput& input, const MeasuredCase& one, const scenarios::GemmWorkload& gemm,
                  const GemmKernel& kernel) {
  const std::optional<TimeAtClock> at_clock = time_at_clock(one);
  if (!at_clock) return;
  input.own_gemms.push_back({.size = {gemm.m, gemm.n, gemm.k},
                             .dtype = gemm.dtype,
                             .time_us = at_clock->time_us,
                             .reading = at_clock->reading,
                             .condition = one.condition,
                             .run = one.run,
                             .own_kernel = kernel});
  input.own_gemm_provenance.add(one.conditions);
}

void add_layer_kernel(CalibrationInput& input, const MeasuredCase& one) {
  const std::optional<Load> load = load_of(one);
  if (!load) return;
  input.layer_kernels.push_back(*load);
  input.layer_kernel_provenance.add(one.conditions);
}

/// At the clock that was read, where it was under load.
TimedCase timed(const MeasuredCase& one) {
  TimedCase alone{one.request, one.time_us};
  alone.request.condition = {.condition = one.condition};
  if (one.condition == Condition::sustained) alone.request.condition.fixed_clock_MHz = one.sm_clock_MHz;
  return alone;
}

void add_peer_collective(CalibrationInput& input, const MeasuredCase& one) {
  input.peer_collectives.push_back(timed(one));
  input.peer_provenance.add(one.conditions);
}

void add_fused_norm(CalibrationInput& input, const MeasuredCase& one) {
  input.fused_norms.push_back(timed(one));
  input.fused_norm_provenance.add(one.conditions);
}

/// Curves are of NCCL, energies of what it does by default.
void add_collective(CalibrationInput& input, const MeasuredCase& one, const scenarios::CollectiveWorkload& collective) {
  const fitting::CollectiveSetting setting = setting_of(one.request, collective.kind);
  if (setting.transport == Transport::peer_kernel) return add_peer_collective(input, one);
  const bool by_default = setting.transport == Transport::nccl;
  if (one.condition == Condition::sustained) {
    if (by_default) input.loaded_collectives.push_back({one.request, one.time_us, one.power_W});
    return;
  }
  if (!by_default && !needs_window(setting.transport)) return;
  add_ctas(input, one, collective.kind);
  input.collectives.push_back(
      {setting, collective.bytes, one.time_us, collective_us(one.kernels), ctas_of(one.kernels)});
  (by_default ? input.collective_provenance : input.window_provenance).add(one.conditions);
}

bool is_fused_norm(const scenarios::Workload& workload) {
  const auto* kernel = std::get_if<scenarios::RowKernelWorkload>(&workload);
  return kernel != nullptr && kernel->kernel == scenarios::RowKernel::all_reduce_norm;
}

void add(CalibrationInput& input, const MeasuredCase& one, bool after_gemm) {
  const Case& request = one.request;
  input.provenance.add(one.conditions);
  input.conditions.add(one);
  input.gpu_counts.insert(request.gpus);
  if (request.schedule.launch != Launch::graph) return;
  const auto* serial = std::get_if<scenarios::Serial>(&request.schedule.family);
  const bool is_serial = serial != nullptr;
  const auto* gemm = std::get_if<scenarios::GemmWorkload>(&request.workload);
  if (const auto* own = is_serial ? own_kernel_of(serial->gemm) : nullptr; gemm != nullptr && own != nullptr) {
    add_own_gemm(input, one, *gemm, *own);
  } else if (gemm != nullptr && is_serial) {
    add_gemm(input, one, *gemm, after_gemm);
    input.gemm_provenance.add(one.conditions);
  } else if (const auto* collective = std::get_if<scenarios::CollectiveWorkload>(&request.workload);
             collective != nullptr && is_serial) {
    add_collective(input, one, *collective);
  } else if (is_fused_norm(request.workload)) {
    add_fused_norm(input, one);
  } else if (std::holds_alternative<scenarios::AttentionKernelWorkload>(request.workload) ||
             std::holds_alternative<scenarios::RowKernelWorkload>(request.workload)) {
    add_layer_kernel(input, one);
  } else if (std::holds_alternative<scenarios::CopyWorkload>(request.workload)) {
    if (one.condition == Condition::sustained) input.loaded_copies.push_back({request, one.time_us, one.power_W});
  } else if (const auto* pair = std::get_if<scenarios::PairWorkload>(&request.workload)) {
    add_pair(input, one, *pair);
  } else if (std::holds_alternative<scenarios::ConcurrentPair>(request.workload)) {
    add_ctas(input, one, CollectiveKind::all_reduce);
  }
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " and ") + word;
  return text;
}

/// Of more than two the first and the last.
std::string joined_days(const std::set<std::string>& days) {
  return days.size() <= 2 ? joined(days) : *days.begin() + " to " + *days.rbegin();
}

}  // namespace

void Provenance::add(const calibration::Conditions& conditions) {
  ++cases;
  days.insert(conditions.date.substr(0, 10));
  gpus.insert(conditions.gpu);
  drivers.insert(conditions.driver);
  nccl_versions.insert(conditions.nccl);
}

std::string source_text(const Provenance& provenance, const std::string& probe) {
  return "measured " + joined_days(provenance.days) + ": " + probe + ", " + std::to_string(provenance.cases) +
         " cases, " + joined(provenance.gpus) + ", driver " + joined(provenance.drivers) + ", NCCL " +
         joined(provenance.nccl_versions);
}

std::vector<MeasuredFile> read_measured_files(const std::vector<std::filesystem::path>& paths) {
  require_distinct(paths);
  std::vector<MeasuredFile> files;
  for (const std::filesystem::path& path : paths) files.push_back({path, read_measurements_and_kernels(path)});
  return files;
}

CalibrationInput calibration_input(const std::vector<MeasuredFile>& files) {
  CalibrationInput input;
  for (const MeasuredFile& file : files) {
    bool after_gemm = false;
    const std::size_t gemms = input.gemms.size(), own_gemms = input.own_gemms.size();
    for (const MeasuredCase& one : distinct(file)) {
      add(input, one, after_gemm);
      after_gemm = std::holds_alternative<scenarios::GemmWorkload>(one.request.workload);
    }
    if (input.own_gemms.size() > own_gemms)
      input.beside_own_gemms.insert(input.beside_own_gemms.end(),
                                    input.gemms.begin() + static_cast<std::ptrdiff_t>(gemms), input.gemms.end());
  }
  return input;
}

std::vector<fitting::GemmObservation> read_any_gemm_times(const std::filesystem::path& file, double max_clock_MHz) {
  const bool is_csv = file.filename().string().find(".csv") != std::string::npos;
  if (is_csv) return read_gemm_times(file, max_clock_MHz);
  CalibrationInput input = calibration_input(read_measured_files({file}));
  std::ranges::move(input.own_gemms, std::back_inserter(input.gemms));
  return std::move(input.gemms);
}

std::vector<GemmChoice> read_library_answers(const std::filesystem::path& file, const Gpu& gpu) {
  if (file.filename().string().find(".gemm_kernels.txt") != std::string::npos) return read_gemm_choices(file).answers();
  constexpr int most_stages = 16;
  constexpr Bytes reserved = 16 << 10;  // barriers, and the tile on its way out
  std::vector<GemmChoice> choices;
  for_each_json_line(file, [&](const nlohmann::json& json, int) {
    const calibration::LibraryAnswer answer = calibration::library_answer_from(json);
    if (answer.factors != DataType::bf16)
      throw InputError("dtype", "expected answers of bf16, as the table of a profile has, got " +
                                    std::string(name_of(answer.factors)));
    std::optional<GemmChoice> choice = answer.choice;
    if (!choice) return;
    GemmKernel& kernel = choice->kernel;
    const Bytes stage = (kernel.tile_m + kernel.tile_n) * kernel.tile_k * bytes_of(DataType::bf16);
    kernel.stages = static_cast<int>(std::clamp<Bytes>((gpu.shared_memory_per_sm - reserved) / stage, 1, most_stages));
    choices.push_back(*choice);
  });
  return choices;
}

}  // namespace weft::calibration::evidence
