#include "calibration/evidence/calibration_input.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/gemm_choices.hpp"
#include "calibration/measurement_json.hpp"
#include "models/base/json_file.hpp"
#include "scenarios/case_json.hpp"

namespace weft::calibration::evidence {
namespace {

using calibration::KernelRecord;
using fitting::CollectiveSetting;
using scenarios::Case;

struct Line {
  Case request;
  calibration::Conditions conditions;
  CaseConditions own_conditions;
  double time_us = 0;
  std::vector<double> repeats_us;
  std::vector<KernelRecord> kernels;
};

/// The cases of a file, each once.
std::vector<Line> read_lines(const std::filesystem::path& path) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> known;
  calibration::Conditions conditions;
  for_each_json_line(path, [&](const nlohmann::json& json) {
    if (json.contains("conditions")) conditions = calibration::conditions_from(json["conditions"]);
    if (!json.contains("case") || json.contains("error")) return;
    JsonObject object(json);
    const auto number_of = [&](std::string_view key) {
      const auto value = object.find(key);
      return value ? std::optional(value->number(0)) : std::nullopt;
    };
    Line line{scenarios::case_from_json(json["case"]),         conditions,
              {number_of("noise"), number_of("sm_clock_MHz")}, object.number("time_us", 1e-3),
              json.value("repeats_us", std::vector<double>{}), {}};
    if (json.contains("kernels"))
      for (const nlohmann::json& kernel : json["kernels"]) line.kernels.push_back(calibration::kernel_from(kernel));
    line.request.id.clear();
    const auto [found, is_new] = known.try_emplace(scenarios::to_json(line.request).dump(), lines.size());
    if (is_new)
      lines.push_back(std::move(line));
    else if (!line.kernels.empty())
      lines[found->second].kernels = std::move(line.kernels);
  });
  return lines;
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
  return collective == kernels.end() ? 0 : collective->grid[0];
}

void add_ctas(CalibrationInput& input, const Line& line, CollectiveKind kind) {
  const fitting::CollectiveSetting setting{kind, line.request.gpus, line.request.schedule.max_ctas};
  for (const KernelRecord& kernel : line.kernels)
    if (fitting::is_nccl_kernel(kernel)) input.ctas.push_back({setting, kernel.grid[0], kernel.cluster[0]});
}

void add_pair(CalibrationInput& input, const Line& line, const scenarios::PairWorkload& pair) {
  add_ctas(input, line, collective_of(pair.op));
  const bool is_serial = std::holds_alternative<scenarios::Serial>(line.request.schedule.family);
  if (line.kernels.empty() ||
      (!is_serial && !std::holds_alternative<scenarios::Decomposition>(line.request.schedule.family)))
    return;
  input.pairs.push_back({is_serial, collective_comes_first(pair.op), line.kernels});
  input.pair_provenance.add(line.conditions);
}

void add(CalibrationInput& input, const Line& line, bool after_gemm) {
  const Case& request = line.request;
  input.provenance.add(line.conditions);
  input.conditions.add(line.conditions, line.own_conditions);
  input.gpu_counts.insert(request.gpus);
  if (request.schedule.launch != Launch::graph) return;
  const bool is_serial = std::holds_alternative<scenarios::Serial>(request.schedule.family);
  if (const auto* gemm = std::get_if<scenarios::GemmWorkload>(&request.workload); gemm != nullptr && is_serial) {
    const MatrixSize size{gemm->m, gemm->n, gemm->k};
    if (line.repeats_us.size() < runs_to_settle)
      input.gemms.push_back({size, gemm->dtype, line.time_us, kernels_us(line.kernels), after_gemm});
    else
      for (auto one = line.repeats_us.begin() + line.repeats_us.size() / 2; one != line.repeats_us.end(); ++one)
        input.gemms.push_back({size, gemm->dtype, *one, std::nullopt, after_gemm, true});
    input.gemm_provenance.add(line.conditions);
  } else if (const auto* collective = std::get_if<scenarios::CollectiveWorkload>(&request.workload);
             collective != nullptr && is_serial) {
    add_ctas(input, line, collective->kind);
    input.collectives.push_back({{collective->kind, request.gpus, request.schedule.max_ctas},
                                 collective->bytes,
                                 line.time_us,
                                 collective_us(line.kernels),
                                 ctas_of(line.kernels)});
    input.collective_provenance.add(line.conditions);
  } else if (const auto* pair = std::get_if<scenarios::PairWorkload>(&request.workload)) {
    add_pair(input, line, *pair);
  } else if (std::holds_alternative<scenarios::ConcurrentPair>(request.workload)) {
    add_ctas(input, line, CollectiveKind::all_reduce);
  }
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " and ") + word;
  return text;
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
  return "measured " + joined(provenance.days) + ": " + probe + ", " + std::to_string(provenance.cases) + " cases, " +
         joined(provenance.gpus) + ", driver " + joined(provenance.drivers) + ", NCCL " +
         joined(provenance.nccl_versions);
}

CalibrationInput read_calibration_input(const std::vector<std::filesystem::path>& files) {
  CalibrationInput input;
  for (const std::filesystem::path& file : files) {
    bool after_gemm = false;
    for (const Line& line : read_lines(file)) {
      add(input, line, after_gemm);
      after_gemm = std::holds_alternative<scenarios::GemmWorkload>(line.request.workload);
    }
  }
  return input;
}

std::vector<GemmChoice> read_library_answers(const std::filesystem::path& file, const Gpu& gpu) {
  constexpr int most_stages = 16;
  constexpr Bytes reserved = 16 << 10;  // barriers, and the tile on its way out
  std::vector<GemmChoice> choices;
  for_each_json_line(file, [&](const nlohmann::json& json) {
    std::optional<GemmChoice> choice = calibration::library_answer_from(json).choice;
    if (!choice) return;
    GemmKernel& kernel = choice->kernel;
    const Bytes stage = (kernel.tile_m + kernel.tile_n) * kernel.tile_k * bytes_of(DataType::bf16);
    kernel.stages = static_cast<int>(std::clamp<Bytes>((gpu.shared_memory_per_sm - reserved) / stage, 1, most_stages));
    choices.push_back(*choice);
  });
  return choices;
}

}  // namespace weft::calibration::evidence
