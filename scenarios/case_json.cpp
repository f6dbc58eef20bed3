#include "scenarios/case_json.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace weft::scenarios {
namespace {

constexpr int max_gpus = 1 << 16;
constexpr int max_count = 1 << 20;  // chunks, groups, CTAs

std::int64_t extent(JsonObject& object, std::string_view key) { return object.integer(key, 1, max_extent); }

DataType input_type(JsonObject& object) {
  const auto value = object.find("dtype");
  if (!value) return DataType::bf16;
  const std::string word = value->string();
  if (word == "bf16") return DataType::bf16;
  if (word == "fp8") return DataType::fp8;
  value->fail("bf16 or fp8");
}

template <class Table>
std::string known_words(const Table& table) {
  std::string words;
  for (const auto& [word, read] : table) words += (words.empty() ? "" : ", ") + std::string(word);
  return words;
}

// --- Workloads -------------------------------------------------------------------------------------------------

template <class WithGemm>
WithGemm read_gemm_sizes(JsonObject& object) {
  WithGemm workload;
  workload.m = extent(object, "m");
  workload.n = extent(object, "n");
  workload.k = extent(object, "k");
  workload.dtype = input_type(object);
  return workload;
}

Workload read_gemm(JsonObject& object, std::string_view) { return read_gemm_sizes<GemmWorkload>(object); }

Workload read_collective(JsonObject& object, std::string_view op) {
  return CollectiveWorkload{from_name<CollectiveKind>(op, "op"), object.integer("bytes", 1, max_buffer_bytes)};
}

Workload read_copy(JsonObject& object, std::string_view) {
  return CopyWorkload{object.integer("bytes", 1, max_buffer_bytes), object.word<CopyPattern>("pattern")};
}

Workload read_pair(JsonObject& object, std::string_view op) {
  auto pair = read_gemm_sizes<PairWorkload>(object);
  pair.op = from_name<PairOp>(op, "op");
  if (collective_of(pair.op) == CollectiveKind::all_to_all) pair.imbalance = object.number_or("imbalance", 1, 1);
  return pair;
}

Workload read_concurrent_pair(JsonObject& object, std::string_view) {
  auto pair = read_gemm_sizes<ConcurrentPair>(object);
  pair.bytes = object.integer("bytes", 1, max_buffer_bytes);
  return pair;
}

Workload read_layer(JsonObject& object, std::string_view) {
  LayerWorkload layer;
  layer.tokens = extent(object, "tokens");
  layer.hidden = extent(object, "hidden");
  layer.heads = extent(object, "heads");
  layer.kv_heads = extent(object, "kv_heads");
  layer.head_dim = extent(object, "head_dim");
  layer.intermediate = extent(object, "intermediate");
  layer.dtype = input_type(object);
  layer.sequence_parallel = object.boolean_or("sequence_parallel", false);
  if (object.has("experts") || object.has("experts_per_token")) {
    layer.experts = extent(object, "experts");
    layer.experts_per_token = object.integer("experts_per_token", 1, layer.experts);
    layer.expert_imbalance = object.number_or("expert_imbalance", 1, 1);
    layer.shared_intermediate = object.integer_or("shared_intermediate", 0, 0, max_extent);
  }
  return layer;
}

Workload read_attention(JsonObject& object, std::string_view) {
  AttentionWorkload attention;
  attention.tokens = extent(object, "tokens");
  attention.heads = extent(object, "heads");
  attention.kv_heads = extent(object, "kv_heads");
  attention.head_dim = extent(object, "head_dim");
  attention.mask = object.word_or("mask", AttentionMask::causal);
  return attention;
}

using WorkloadReader = Workload (*)(JsonObject&, std::string_view op);
constexpr auto workload_readers = std::to_array<std::pair<std::string_view, WorkloadReader>>({
    {"gemm", read_gemm},
    {"all_reduce", read_collective},
    {"all_gather", read_collective},
    {"reduce_scatter", read_collective},
    {"all_to_all", read_collective},
    {"copy", read_copy},
    {"gemm+all_reduce", read_pair},
    {"gemm+reduce_scatter", read_pair},
    {"gemm+all_to_all", read_pair},
    {"all_gather+gemm", read_pair},
    {"all_to_all+gemm", read_pair},
    {"gemm||all_reduce", read_concurrent_pair},
    {"transformer_layer", read_layer},
    {"distributed_attention", read_attention},
});

// --- Schedule choices ------------------------------------------------------------------------------------------

Family read_serial(JsonObject&) { return Serial{}; }

Family read_decomposition(JsonObject& object) {
  return Decomposition{static_cast<int>(object.integer("chunks", 1, max_count))};
}

Family read_async_tp(JsonObject& object) {
  return AsyncTp{object.word_or("input", AsyncInput::copied), object.word_or("form", AsyncForm::all_to_all)};
}

Family read_concurrent(JsonObject& object) { return Concurrent{object.word<FirstLaunched>("first")}; }

/// The word "searched", or nothing where the value is not that word.
bool is_searched(const JsonValue& value) {
  if (!value.is_string()) return false;
  if (value.string() != "searched") value.fail("\"searched\" or a value");
  return true;
}

Family read_signaling(JsonObject& object) {
  const JsonValue groups = object.at("groups");
  Signaling signaling;
  if (is_searched(groups)) return signaling;
  for (const JsonValue& waves : groups.list())
    signaling.groups.push_back(static_cast<int>(waves.integer(1, max_count)));
  if (signaling.groups.empty()) groups.fail("at least one group");
  return signaling;
}

Family read_ficco(JsonObject& object) {
  return Ficco{object.word<FiccoCompute>("compute"), object.word<FiccoGemm>("gemm"), object.word<FiccoChunks>("chunks"),
               object.word<FiccoTransport>("transport")};
}

Family read_token_split(JsonObject& object) {
  TokenSplit split;
  const JsonValue first = object.at("first");
  if (!is_searched(first)) split.first = first.integer(1, max_extent);
  split.fused_norm = object.boolean_or("fused_norm", split.fused_norm);
  split.comm_ctas = static_cast<int>(object.integer_or("comm_ctas", split.comm_ctas, 1, max_count));
  if (object.has("mlp_comm_ctas"))
    split.mlp_comm_ctas = static_cast<int>(object.integer("mlp_comm_ctas", 1, max_count));
  return split;
}

Family read_hybrid(JsonObject& object) {
  Hybrid hybrid{.trigger = object.word<HybridTrigger>("trigger"),
                .mover = object.word<HybridMover>("mover"),
                .pieces = object.word<HybridPieces>("pieces"),
                .count = static_cast<int>(object.integer("count", 1, max_count))};
  hybrid.lanes = object.word_or("lanes", hybrid.lanes);
  hybrid.ahead = object.boolean_or("ahead", hybrid.ahead);
  hybrid.urgent = object.boolean_or("urgent", hybrid.urgent);
  hybrid.gemm_sms = static_cast<int>(object.integer_or("gemm_sms", hybrid.gemm_sms, 1, max_count));
  hybrid.kernel_barrier = object.boolean_or("kernel_barrier", hybrid.kernel_barrier);
  return hybrid;
}

Family read_staged(JsonObject& object) {
  Staged staged;
  const JsonValue stages = object.at("stages");
  if (!is_searched(stages)) staged.stages = static_cast<int>(stages.integer(1, max_count));
  staged.exchange = object.word_or("exchange", staged.exchange);
  staged.kernel_barrier = object.boolean_or("kernel_barrier", staged.kernel_barrier);
  staged.sm_margin = static_cast<int>(object.integer_or("sm_margin", 0, 0, max_count));
  return staged;
}

Family read_best(JsonObject&) { return Best{}; }

using FamilyReader = Family (*)(JsonObject&);
constexpr auto family_readers = std::to_array<std::pair<std::string_view, FamilyReader>>({
    {"serial", read_serial},
    {"decomposition", read_decomposition},
    {"async_tp", read_async_tp},
    {"concurrent", read_concurrent},
    {"signaling", read_signaling},
    {"ficco", read_ficco},
    {"token_split", read_token_split},
    {"hybrid", read_hybrid},
    {"staged", read_staged},
    {"best", read_best},
});

Family read_family(JsonObject& object) {
  const JsonValue family = object.at("family");
  const std::string word = family.string();
  for (const auto& [known, read] : family_readers)
    if (known == word) return read(object);
  family.fail("one of " + known_words(family_readers));
}

}  // namespace

Workload read_workload(JsonObject object) {
  const JsonValue op = object.at("op");
  const std::string word = op.string();
  for (const auto& [known, read] : workload_readers)
    if (known == word) {
      const Workload workload = read(object, word);
      object.finish();
      return workload;
    }
  op.fail("one of " + known_words(workload_readers));
}

ScheduleChoice read_schedule_choice(JsonObject object) {
  ScheduleChoice choice;
  choice.family = read_family(object);
  choice.max_ctas = static_cast<int>(object.integer_or("max_ctas", 0, 1, max_count));
  choice.launch = object.word_or("launch", Launch::graph);
  object.finish();
  return choice;
}

Measured read_measured(JsonObject object) {
  const auto time_us = [&object](std::string_view key) -> std::optional<double> {
    const auto value = object.find(key);
    if (!value) return std::nullopt;
    const double time = value->number(0, 1e9);
    if (time == 0) value->fail("a time above 0");
    return time;
  };
  Measured measured{time_us("gemm_us"), time_us("collective_us")};
  object.finish();
  return measured;
}

Case case_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  Case result;
  result.id = object.string("id");
  result.gpus = static_cast<int>(object.integer("gpus", 1, max_gpus));
  result.workload = read_workload(object.object("workload"));
  if (const auto schedule = object.find("schedule")) result.schedule = read_schedule_choice(schedule->object());
  if (const auto measured = object.find("measured")) {
    if (!std::holds_alternative<PairWorkload>(result.workload) &&
        !std::holds_alternative<ConcurrentPair>(result.workload))
      throw InputError("measured",
                       "expected a workload of a GEMM and a collective, got " + std::string(op_of(result.workload)));
    result.measured = read_measured(measured->object());
  }
  object.finish();
  check_sizes(result.workload, result.gpus);
  return result;
}

// --- Writing ---------------------------------------------------------------------------------------------------

nlohmann::ordered_json to_json(const Workload& workload) {
  nlohmann::ordered_json json{{"op", op_of(workload)}};
  const auto write_gemm = [&json](const auto& gemm) {
    json["m"] = gemm.m;
    json["n"] = gemm.n;
    json["k"] = gemm.k;
  };
  const auto write_type = [&json](DataType dtype) { json["dtype"] = name_of(dtype); };
  std::visit(Overloaded{[&](const GemmWorkload& gemm) {
                          write_gemm(gemm);
                          write_type(gemm.dtype);
                        },
                        [&](const CollectiveWorkload& collective) { json["bytes"] = collective.bytes; },
                        [&](const CopyWorkload& copy) {
                          json["bytes"] = copy.bytes;
                          json["pattern"] = name_of(copy.pattern);
                        },
                        [&](const PairWorkload& pair) {
                          write_gemm(pair);
                          write_type(pair.dtype);
                          if (pair.imbalance != 1) json["imbalance"] = pair.imbalance;
                        },
                        [&](const ConcurrentPair& pair) {
                          write_gemm(pair);
                          json["bytes"] = pair.bytes;
                          write_type(pair.dtype);
                        },
                        [&](const LayerWorkload& layer) {
                          json["tokens"] = layer.tokens;
                          json["hidden"] = layer.hidden;
                          json["heads"] = layer.heads;
                          json["kv_heads"] = layer.kv_heads;
                          json["head_dim"] = layer.head_dim;
                          json["intermediate"] = layer.intermediate;
                          write_type(layer.dtype);
                          if (layer.sequence_parallel) json["sequence_parallel"] = true;
                          if (layer.experts > 0) {
                            json["experts"] = layer.experts;
                            json["experts_per_token"] = layer.experts_per_token;
                            if (layer.expert_imbalance != 1) json["expert_imbalance"] = layer.expert_imbalance;
                            if (layer.shared_intermediate > 0) json["shared_intermediate"] = layer.shared_intermediate;
                          }
                        },
                        [&](const AttentionWorkload& attention) {
                          json["tokens"] = attention.tokens;
                          json["heads"] = attention.heads;
                          json["kv_heads"] = attention.kv_heads;
                          json["head_dim"] = attention.head_dim;
                          json["mask"] = name_of(attention.mask);
                        }},
             workload);
  return json;
}

nlohmann::ordered_json to_json(const ScheduleChoice& choice) {
  nlohmann::ordered_json json{{"family", family_of(choice)}};
  std::visit(Overloaded{[](const Serial&) {}, [](const Best&) {},
                        [&](const Decomposition& decomposition) { json["chunks"] = decomposition.chunks; },
                        [&](const AsyncTp& async) {
                          json["input"] = name_of(async.input);
                          if (async.form != AsyncForm::all_to_all) json["form"] = name_of(async.form);
                        },
                        [&](const Concurrent& concurrent) { json["first"] = name_of(concurrent.first); },
                        [&](const Signaling& signaling) {
                          if (signaling.groups.empty())
                            json["groups"] = "searched";
                          else
                            json["groups"] = signaling.groups;
                        },
                        [&](const Ficco& ficco) {
                          json["compute"] = name_of(ficco.compute);
                          json["gemm"] = name_of(ficco.gemm);
                          json["chunks"] = name_of(ficco.chunks);
                          json["transport"] = name_of(ficco.transport);
                        },
                        [&](const TokenSplit& split) {
                          if (split.first)
                            json["first"] = *split.first;
                          else
                            json["first"] = "searched";
                          json["fused_norm"] = split.fused_norm;
                          json["comm_ctas"] = split.comm_ctas;
                          if (split.mlp_comm_ctas) json["mlp_comm_ctas"] = *split.mlp_comm_ctas;
                        },
                        [&](const Hybrid& hybrid) {
                          json["trigger"] = name_of(hybrid.trigger);
                          json["mover"] = name_of(hybrid.mover);
                          json["pieces"] = name_of(hybrid.pieces);
                          json["count"] = hybrid.count;
                          if (hybrid.lanes != HybridLanes::one) json["lanes"] = name_of(hybrid.lanes);
                          if (hybrid.ahead) json["ahead"] = true;
                          if (hybrid.urgent) json["urgent"] = true;
                          if (hybrid.gemm_sms > 0) json["gemm_sms"] = hybrid.gemm_sms;
                          if (hybrid.kernel_barrier) json["kernel_barrier"] = true;
                        },
                        [&](const Staged& staged) {
                          if (staged.stages)
                            json["stages"] = *staged.stages;
                          else
                            json["stages"] = "searched";
                          json["exchange"] = name_of(staged.exchange);
                          json["kernel_barrier"] = staged.kernel_barrier;
                          json["sm_margin"] = staged.sm_margin;
                        }},
             choice.family);
  if (choice.max_ctas > 0) json["max_ctas"] = choice.max_ctas;
  if (choice.launch != Launch::graph) json["launch"] = name_of(choice.launch);
  return json;
}

nlohmann::ordered_json to_json(const Case& value) {
  nlohmann::ordered_json json{{"id", value.id}, {"gpus", value.gpus}};
  json["workload"] = to_json(value.workload);
  json["schedule"] = to_json(value.schedule);
  if (value.measured.gemm_us) json["measured"]["gemm_us"] = *value.measured.gemm_us;
  if (value.measured.collective_us) json["measured"]["collective_us"] = *value.measured.collective_us;
  return json;
}

}  // namespace weft::scenarios
