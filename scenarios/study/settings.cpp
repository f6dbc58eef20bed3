#include "scenarios/study/settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "models/schedule/amounts.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/parts.hpp"
#include "scenarios/schedule_words.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;

constexpr const char *manifest_name = "settings.json", *manifest_format = "weft.settings/1";

const PairWorkload* pair_of(const Answer& answer) {
  return std::get_if<PairWorkload>(&answer.fastest().candidate.request.workload);
}
/// The fastest of an answer's schedules that are meant and not withheld; null: none.
const Explored* first(const Answer& answer, const auto& is_meant) {
  for (const Explored& one : answer.fastest_first)
    if (is_meant(one.candidate.request.schedule) && one.candidate.why_not == WhyNot::nothing) return &one;
  return nullptr;
}

/// As PyTorch and vLLM have it.
bool is_async_tp(const ScheduleChoice& choice) { return choice == ScheduleChoice{.family = AsyncTp{}}; }

std::string sizes_text(const std::optional<std::int64_t>& from) {
  return from ? "from " + std::to_string(*from) + " tokens on" : "at no size up to the largest that was asked about";
}

// --- vLLM ------------------------------------------------------------------------------------------------------

/// Expected time of a layer in this form, the shortest of those that are meant and not withheld; 0: none is known.
double expected_us(const Exploration& exploration, std::int64_t size, LayerForm form, const auto& is_meant) {
  double shortest_us = 0;
  for (const Answer& answer : exploration.answers) {
    if (answer.size != size || answer.form != form || !answer.is_of_layer()) continue;
    const double serial_us = answer.ranking.reference().estimate.time_us;
    for (const Explored& one : answer.fastest_first) {
      if (!is_meant(one) || one.candidate.why_not != WhyNot::nothing) continue;
      const double time_us = (1 - one.candidate.odds.gain) * serial_us;
      if (shortest_us == 0 || time_us < shortest_us) shortest_us = time_us;
    }
  }
  return shortest_us;
}

/// From which size on sequence-parallel layers, all of whose pairs are async TP, are expected to be faster than those
/// with all-reduces, by NCCL or as vLLM has them.
std::optional<std::int64_t> async_tp_from(const Exploration& exploration, const Scenario& scenario) {
  const auto is_async = [](const Explored& one) { return is_async_tp(one.candidate.request.schedule); };
  const auto is_serial = [](const Explored& one) {
    const ScheduleChoice& choice = one.candidate.request.schedule;
    const bool is_of_vllm = std::ranges::find(one.other_software, vllm_all_reduce) != one.other_software.end();
    return std::holds_alternative<Serial>(choice.family) && (choice.collectives == Collectives::nccl || is_of_vllm);
  };
  std::vector<SizeVerdict> sizes;
  for (const std::int64_t size : scenario.sizes) {
    const double async_us = expected_us(exploration, size, LayerForm::sequence_parallel, is_async);
    sizes.push_back(
        {size, async_us > 0 && async_us < expected_us(exploration, size, LayerForm::all_reduce, is_serial)});
  }
  return crossover(sizes);
}

/// Weights that are stored in fewer bits than they are computed in are expanded by GEMMs of their own kind (Marlin and
/// others), which are no matmul that vLLM's pass could fuse.
bool are_weights_packed(const Scenario& scenario) {
  const ModelConfig& model = *scenario.model;
  return packed_bits(model.weight_bytes, model.dtype) > 0;
}

/// Sequence parallelism without async TP is not asked for: by itself it gains little or nothing (vLLM's
/// docs/design/fusions.md). The pass needs the whole graph, which graph partition leaves it.
void add_vllm(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
              std::vector<SettingsFile>& files) {
  if (exploration.layers.empty() || scenario.forms.size() < 2 || machine.runtime != Runtime::cuda) return;
  const bool are_packed = are_weights_packed(scenario);
  const auto from = machine.fabric.peer_access && !are_packed ? async_tp_from(exploration, scenario) : std::nullopt;
  ordered_json config{{"pass_config", {{"enable_sp", from.has_value()}, {"fuse_gemm_comms", from.has_value()}}}};
  if (from) {
    config["pass_config"]["sp_min_token_num"] = *from;
    config["use_inductor_graph_partition"] = true;
  }
  const bool is_smallest = from && *from == scenario.sizes.front();
  files.push_back(
      {.name = "vllm-0.18.compilation_config.json",
       .tool = "vLLM 0.18",
       .use = "vllm serve MODEL --compilation-config \"$(cat vllm-0.18.compilation_config.json)\"",
       .because = are_packed ? "vLLM fuses no GEMM that expands its weights, as those of this model do"
                             : "a sequence-parallel layer whose pairs are async TP is expected to be faster than one "
                               "with all-reduces " +
                                   sizes_text(from) + (is_smallest ? ", the smallest that was asked about" : "") +
                                   "; of fp8 models vLLM fuses those whose scales are static",
       .text = to_text(config)});
}

// --- PyTorch ---------------------------------------------------------------------------------------------------

const char* fused_op(PairOp op) {
  if (op == PairOp::all_gather_gemm) return "torch.ops.symm_mem.fused_all_gather_matmul";
  if (op == PairOp::gemm_reduce_scatter) return "torch.ops.symm_mem.fused_matmul_reduce_scatter";
  return nullptr;
}

void add_pytorch(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                 std::vector<SettingsFile>& files) {
  if (!machine.fabric.peer_access || machine.runtime == Runtime::cann) return;
  ordered_json pairs = ordered_json::array();
  for (const std::string& name : exploration.pairs()) {
    std::vector<SizeVerdict> sizes;
    const PairWorkload* pair = nullptr;
    for (const Answer& answer : exploration.answers) {
      if (answer.pair != name || pair_of(answer) == nullptr) continue;
      pair = pair_of(answer);
      const Explored* async = first(answer, is_async_tp);
      sizes.push_back({answer.size, async != nullptr && async->candidate.odds.gain > 0});
    }
    if (pair == nullptr || fused_op(pair->op) == nullptr) continue;
    const auto from = crossover(sizes);
    pairs.push_back({{"pair", name},
                     {"op", fused_op(pair->op)},
                     {"n", pair->n},
                     {"k", pair->k},
                     {"fuse_from_rows", from ? ordered_json(*from) : ordered_json()}});
  }
  if (pairs.empty()) return;
  files.push_back(
      {.name = "pytorch-2.11.async_tp.json",
       .tool = "PyTorch 2.11",
       .use = "call the fused op for at least so many gathered rows, the two plain ones below; null: never",
       .because = "the expected gain of async TP over serial, pair by pair",
       .text = to_text(ordered_json{{"pytorch", "2.11"}, {"tensor_parallel", scenario.gpus}, {"pairs", pairs}})});
}

// --- NCCL ------------------------------------------------------------------------------------------------------

const char* tuner_word(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "allreduce";
    case CollectiveKind::all_gather:
      return "allgather";
    case CollectiveKind::reduce_scatter:
      return "reducescatter";
    case CollectiveKind::all_to_all:
      break;
  }
  return nullptr;
}

/// The bytes of each collective that NCCL does in the schedule, as nccl-tests count them.
std::vector<std::pair<CollectiveKind, Bytes>> collectives_of(const Schedule& schedule) {
  std::vector<std::pair<CollectiveKind, Bytes>> found;
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const Collective& collective) {
          if (collective.transport != Transport::nccl) return;
          const std::pair one{collective.kind, bytes_of(full_slice(collective), schedule)};
          if (std::ranges::find(found, one) == found.end()) found.push_back(one);
        },
        [](const OneOf<Gemm, GroupedGemm, GroupedExchange, Copy, Attention, PartialAttention, MemoryBound,
                       AllReduceNorm, Signal, Wait, Barrier, Delay> auto&) {});
  return found;
}

/// What a collective of an advised schedule takes.
struct Tuned {
  CollectiveKind kind;
  Bytes bytes;
  int gpus;
  int ctas;  ///< 0: as many as NCCL takes by itself, also where advised schedules differ
};

void add_tuned(const Answer& answer, const Machine& machine, std::vector<Tuned>& all) {
  const scenarios::Case& advised = answer.ranking.advice().request;
  if (families::is_open(advised.schedule)) return;
  for (const auto& [kind, bytes] : collectives_of(families::build(advised, machine))) {
    const auto known = std::ranges::find_if(
        all, [&](const Tuned& one) { return one.kind == kind && one.bytes == bytes && one.gpus == advised.gpus; });
    if (known == all.end())
      all.push_back({kind, bytes, advised.gpus, advised.schedule.max_ctas});
    else if (known->ctas != advised.schedule.max_ctas)
      known->ctas = 0;
  }
}

std::string line_of(const Tuned& one) {
  const char* const word = tuner_word(one.kind);
  if (word == nullptr || one.ctas == 0) return "";
  const std::string bytes = std::to_string(one.bytes);
  return std::string(word) + "," + bytes + "," + bytes + ",ring,simple," + std::to_string(one.ctas) + ",1," +
         std::to_string(one.gpus) + ",-1,-1\n";
}

/// NCCL adds nodes to every graph so that graphs may also run beside one another or beside calls outside of graphs.
SettingsFile nccl_configuration() {
  return {.name = "nccl-2.28.conf",
          .tool = "NCCL 2.28, its configuration file",
          .use =
              "NCCL_CONF_FILE=nccl-2.28.conf, where CUDA graphs with collectives are launched on one stream and no "
              "call outside of them is under way at the same time",
          .because = "NCCL's support for several graphs at once costs every one of them (docs/on_gpus.md has how much)",
          .text = "# NCCL 2.28. Only for graphs that are all launched on one stream.\nNCCL_GRAPH_MIXING_SUPPORT=0\n"};
}

void add_nccl(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
              std::vector<SettingsFile>& files) {
  if (machine.runtime != Runtime::cuda) return;
  if (scenario.space.launch == Launch::graph && scenario.gpus > 1) files.push_back(nccl_configuration());
  std::vector<Tuned> tuned;
  for (const Answer& answer : exploration.answers) add_tuned(answer, machine, tuned);
  std::string lines;
  for (const Tuned& one : tuned) lines += line_of(one);
  if (lines.empty()) return;
  files.push_back(
      {.name = "nccl-2.28.tuner.conf",
       .tool = "NCCL 2.28, its example tuner plugin",
       .use = "NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=nccl-2.28.tuner.conf",
       .because = "collectives whose number of CTAs is limited in what is advised; a line for each size",
       .text = "# NCCL 2.28, example tuner plugin. Where weft advises fewer CTAs for a collective beside a GEMM.\n"
               "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n" +
               lines});
}

// --- Two token splits --------------------------------------------------------------------------------------------

bool is_fused_split(const ScheduleChoice& choice) {
  const auto* split = std::get_if<TokenSplit>(&choice.family);
  return split != nullptr && split->fused_norm;
}

void add_tokenweave(const Exploration& exploration, std::vector<SettingsFile>& files) {
  constexpr std::int64_t rounding = 256;  // of half of the tokens, from which an offset counts
  ordered_json rows = ordered_json::object();
  for (const Answer& answer : exploration.answers) {
    const Explored* best = answer.is_of_layer() ? first(answer, is_fused_split) : nullptr;
    if (best == nullptr || best->candidate.odds.gain <= 0 || best->other_software.empty()) continue;
    const auto& split = std::get<TokenSplit>(best->as_run.family);
    const std::int64_t half = (answer.size + rounding - 1) / rounding * rounding / 2;
    rows[std::to_string(answer.size)] = {{"attention_ctas", split.comm_ctas},
                                         {"mlp_ctas", split.mlp_comm_ctas.value_or(split.comm_ctas)},
                                         {"chunk_offset", *split.first - half}};
  }
  if (rows.empty()) return;
  files.push_back({.name = "tokenweave-2025.config.json",
                   .tool = "TokenWeave, repository of 2025 (vllm/tokenweave_configs)",
                   .use = "in place of vllm/tokenweave_configs/MODEL_config_GPUS.json",
                   .because = "the fastest split with the fused norm at each size; weft tune searches more finely",
                   .text = to_text(rows)});
}

// --- FlashOverlap ------------------------------------------------------------------------------------------------

ordered_json segments_of(const Explored& one, const Machine& machine) {
  Case as_run = one.candidate.request;
  as_run.schedule = one.as_run;
  const Schedule schedule = families::build(as_run, machine);
  ordered_json segments;
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const Gemm& gemm) {
          if (!gemm.kernel) return;
          segments = {{"BM", gemm.kernel->tile_m}, {"BN", gemm.kernel->tile_n}, {"cSeg", gemm.tile_groups}};
        },
        [](const OneOf<GroupedGemm, Collective, GroupedExchange, Copy, Attention, PartialAttention, MemoryBound,
                       AllReduceNorm, Signal, Wait, Barrier, Delay> auto&) {});
  return segments;
}

void add_flashoverlap(const Exploration& exploration, const Machine& machine, std::vector<SettingsFile>& files) {
  if (machine.runtime != Runtime::cuda) return;
  ordered_json shapes = ordered_json::object();
  for (const Answer& answer : exploration.answers) {
    const PairWorkload* pair = pair_of(answer);
    if (pair == nullptr || collective_comes_first(pair->op)) continue;
    const Explored* best = first(answer, [](const ScheduleChoice& choice) {
      return std::holds_alternative<Signaling>(choice.family) && choice.max_ctas == 0;
    });
    if (best == nullptr || best->candidate.odds.gain <= 0) continue;
    if (ordered_json segments = segments_of(*best, machine); !segments.empty())
      shapes["m" + std::to_string(pair->m) + "n" + std::to_string(pair->n) + "k" + std::to_string(pair->k)] = segments;
  }
  if (shapes.empty()) return;
  files.push_back({.name = "flashoverlap-2025.groups.json",
                   .tool = "FlashOverlap, repository of 2025 (configs/)",
                   .use = "cSeg of configs/mMnNkK_GPU.json, where its own search has BM and BN as here",
                   .because = "the fastest grouping of tiles of each shape",
                   .text = to_text(shapes)});
}

// --- Transformer Engine ------------------------------------------------------------------------------------------

/// What Megatron calls the forward GEMMs of a layer, by the pair that they stand in.
const char* megatron_name(const std::string& pair) {
  if (pair.starts_with("qkv projection")) return "qkv_fprop";
  if (pair.starts_with("attention output projection")) return "proj_fprop";
  if (pair.starts_with("MLP gate and up projection")) return "fc1_fprop";
  if (pair.starts_with("MLP down projection")) return "fc2_fprop";
  return nullptr;
}

/// Splits and point-to-point exchanges are what it has; "" where what is advised is neither.
std::string userbuffers_of(const ScheduleChoice& choice) {
  constexpr int default_sms = 16;
  const std::string ring = "  method: ring_exchange\n  aggregate: 0\n";
  if (const auto* chunks = std::get_if<Decomposition>(&choice.family))
    return "  method: pipeline\n  num_sm: " + std::to_string(choice.max_ctas > 0 ? choice.max_ctas : default_sms) +
           "\n  cga_size: 2\n  num_splits: " + std::to_string(chunks->chunks) + "\n  set_sm_margin: 1\n";
  if (std::holds_alternative<AsyncTp>(choice.family)) return ring;
  const auto* hybrid = std::get_if<Hybrid>(&choice.family);
  if (hybrid == nullptr || hybrid->pieces != HybridPieces::shards || hybrid->trigger != HybridTrigger::kernel_end)
    return "";
  const bool is_copied = hybrid->mover == HybridMover::pull || hybrid->mover == HybridMover::push ||
                         hybrid->mover == HybridMover::peer_kernel;
  return is_copied && hybrid->sums != HybridSums::in_gemm ? ring : "";
}

void add_transformer_engine(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                            std::vector<SettingsFile>& files) {
  if (!machine.fabric.peer_access || machine.runtime != Runtime::cuda) return;
  std::string entries;
  for (const Answer& answer : exploration.answers) {
    if (answer.size != scenario.sizes.back() || answer.form != LayerForm::sequence_parallel) continue;
    const char* const name = megatron_name(answer.pair);
    const std::string entry = name == nullptr || !answer.ranking.overlap_pays()
                                  ? ""
                                  : userbuffers_of(answer.ranking.advice().request.schedule);
    if (!entry.empty()) entries += std::string(name) + ":\n" + entry;
  }
  if (entries.empty()) return;
  files.push_back(
      {.name = "transformer_engine-2.userbuffers.yaml",
       .tool = "Transformer Engine 2 (userbuffers), by Megatron-LM",
       .use = "--tp-comm-overlap --tp-comm-overlap-cfg transformer_engine-2.userbuffers.yaml",
       .because = "forward GEMMs whose overlap is advised at " + std::to_string(scenario.sizes.back()) +
                  " tokens; nothing is known of backward ones, which keep their defaults",
       .text = "# Transformer Engine 2, for --tp-comm-overlap-cfg of Megatron-LM; forward GEMMs only.\n" + entries});
}

SettingsFile manifest_of(const std::vector<SettingsFile>& files, const Scenario& scenario, const Machine& machine) {
  ordered_json list = ordered_json::array();
  for (const SettingsFile& file : files)
    list.push_back({{"file", file.name}, {"for", file.tool}, {"use", file.use}, {"because", file.because}});
  const ordered_json json{{"format", manifest_format},
                          {"question", scenario.name},
                          {"machine", machine.name},
                          {"gpus", scenario.gpus},
                          {"files", list}};
  return {.name = manifest_name, .tool = "", .use = "", .because = "", .text = to_text(json)};
}

}  // namespace

std::vector<SettingsFile> settings_of(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                                      Grade grade) {
  std::vector<SettingsFile> files;
  add_nccl(exploration, scenario, machine, files);
  if (grade != Grade::assumed) {  // else nothing is advised
    add_vllm(exploration, scenario, machine, files);
    add_pytorch(exploration, scenario, machine, files);
    add_tokenweave(exploration, files);
    add_flashoverlap(exploration, machine, files);
    add_transformer_engine(exploration, scenario, machine, files);
  }
  files.push_back(manifest_of(files, scenario, machine));
  return files;
}

std::vector<std::string> settings_of_before(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / manifest_name;
  if (!std::filesystem::exists(path)) return {};
  const nlohmann::json json = read_json_file(path);
  try {
    JsonObject manifest(json);
    if (const JsonValue format = manifest.at("format"); format.string() != manifest_format)
      format.fail(std::string(manifest_format) + ", or another folder");
    std::vector<std::string> names;
    for (const JsonValue& one : manifest.list("files")) names.push_back(one.object().string("file"));
    return names;
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft::scenarios::study
