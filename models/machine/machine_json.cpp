#include "models/machine/machine_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
#include "models/machine/gemm_choices_file.hpp"

namespace weft {
namespace {

/// Reads {"value", "unit", "source"} and checks the unit.
JsonValue quantity(JsonObject& object, std::string_view key, const std::string& unit) {
  JsonObject entry = object.object(key);
  const JsonValue value = entry.at("value");
  if (entry.string("unit") != unit) entry.at("unit").fail("\"" + unit + "\"");
  entry.string("source");
  entry.string_or("note", "");
  entry.finish();
  return value;
}

double number(JsonObject& object, std::string_view key, const std::string& unit, double least = 0) {
  return quantity(object, key, unit).number(least);
}

int integer(JsonObject& object, std::string_view key, const std::string& unit, std::int64_t least = 1) {
  return static_cast<int>(quantity(object, key, unit).integer(least, 1 << 30));
}

Gpu gpu_from(JsonObject object) {
  Gpu gpu;
  for (const JsonValue& sms : quantity(object, "sms_per_gpc", "SMs").list())
    gpu.gpc_sms.push_back(static_cast<int>(sms.integer(1, 1 << 10)));
  gpu.registers_per_sm = integer(object, "registers_per_sm", "registers");
  gpu.shared_memory_per_sm = integer(object, "shared_memory_per_sm", "bytes");
  gpu.threads_per_sm = integer(object, "threads_per_sm", "threads");
  gpu.ctas_per_sm = integer(object, "ctas_per_sm", "CTAs");
  gpu.hardware_queues = integer(object, "hardware_queues", "queues");
  gpu.max_clock_MHz = number(object, "max_clock", "MHz");
  gpu.tensor_flops_per_clock_per_sm = number(object, "tensor_rate", "flops/clock/SM");
  gpu.fp8_speedup = number(object, "fp8_speedup", "ratio");
  gpu.speed_spread = number(object, "speed_spread", "ratio");
  gpu.hbm_GBps = number(object, "hbm_bandwidth", "GBps");
  gpu.l2_GBps = number(object, "l2_bandwidth", "GBps");
  gpu.l2_unique_GBps = number(object, "l2_unique_bandwidth", "GBps");
  gpu.l2_bytes = integer(object, "l2_capacity", "bytes");
  gpu.l2_lost_bytes = integer(object, "l2_lost", "bytes", gpu.l2_bytes + 1);
  object.finish();
  return gpu;
}

Power power_from(JsonObject object) {
  Power power;
  power.limit_W = number(object, "limit", "W", 1);
  power.idle_W = number(object, "idle", "W");
  power.gemm_W = number(object, "gemm", "W");
  power.tensor_pJ_per_flop = number(object, "tensor_energy", "pJ/flop");
  power.hbm_pJ_per_byte = number(object, "hbm_energy", "pJ/byte");
  power.copy_pJ_per_byte = number(object, "copy_energy", "pJ/byte");
  power.collective_pJ_per_byte = number(object, "collective_energy", "pJ/byte");
  power.governor_delay_ms = number(object, "governor_delay", "ms");
  power.governor_ramp_ms = number(object, "governor_ramp", "ms");
  object.finish();
  return power;
}

CopyEngines copy_engines_from(JsonObject object) {
  CopyEngines engines;
  engines.per_gpu = integer(object, "per_gpu", "engines");
  engines.setup_us = number(object, "setup", "us");
  engines.setup_spread_us = number(object, "setup_spread", "us");
  engines.turnaround_us = number(object, "turnaround", "us");
  engines.local_setup_us = number(object, "local_setup", "us");
  engines.local_strided_GBps = number(object, "local_strided_bandwidth", "GBps");
  engines.GBps = number(object, "peer_bandwidth", "GBps");
  engines.speed_spread = number(object, "speed_spread", "ratio");
  engines.local_GBps = number(object, "local_bandwidth", "GBps");
  object.finish();
  return engines;
}

bool flag(JsonObject& object, std::string_view key) { return quantity(object, key, "flag").boolean(); }

LinkRate link_from(JsonObject& object, const std::string& name) {
  return {number(object, name + "_bandwidth", "GBps"), number(object, name + "_peak", "GBps")};
}

HostPaths host_from(JsonObject object, bool peer_access) {
  HostPaths host;
  host.gpus_per_node = integer(object, "gpus_per_node", "GPUs");
  host.pcie = link_from(object, "pcie");
  host.numa = link_from(object, "numa");
  if (peer_access) {
    host.bridge = link_from(object, "bridge");
  } else {
    const LinkRate memory = link_from(object, "memory");
    host.bridge = {memory.GBps / 2, memory.peak_GBps / 2};  // each byte is written and read
    host.staging_GBps = number(object, "staging_bandwidth", "GBps");
  }
  object.finish();
  return host;
}

Fabric fabric_from(JsonObject object) {
  Fabric fabric;
  fabric.kind = object.word<FabricKind>("kind");
  fabric.peer_access = flag(object, "peer_access");
  fabric.multicast = flag(object, "multicast");
  const bool has_switch = fabric.kind == FabricKind::nvswitch;
  if (fabric.kind != FabricKind::pcie) fabric.link = link_from(object, has_switch ? "port" : "link");
  if (fabric.kind == FabricKind::nvlink_pairs || fabric.kind == FabricKind::pcie)
    fabric.host = host_from(object.object("host"), fabric.peer_access);
  if (fabric.multicast && !has_switch) object.at("multicast").fail("false where there is no switch");
  object.finish();
  return fabric;
}

Latencies latencies_from(JsonObject object) {
  Latencies latencies;
  latencies.kernel_gap_us = number(object, "kernel_gap", "us");
  latencies.collective_gap_us = number(object, "collective_gap", "us");
  latencies.join_gap_us = number(object, "join_gap", "us");
  latencies.fork_gap_us = number(object, "fork_gap", "us");
  latencies.before_copy_gap_us = number(object, "before_copy_gap", "us");
  latencies.after_copy_gap_us = number(object, "after_copy_gap", "us");
  latencies.copy_gap_spread_us = number(object, "copy_gap_spread", "us");
  latencies.copy_fork_spread_us = number(object, "copy_fork_spread", "us");
  latencies.copy_stream_gap_us = number(object, "copy_stream_gap", "us");
  latencies.graph_gap_us = number(object, "graph_gap", "us");
  latencies.collective_graph_gap_us = number(object, "collective_graph_gap", "us");
  latencies.short_graph_us = number(object, "short_graph", "us");
  latencies.short_graph_gap_us = number(object, "short_graph_gap", "us");
  latencies.eager_launch_us = number(object, "eager_launch", "us");
  latencies.eager_gap_us = number(object, "eager_gap", "us");
  latencies.eager_event_us = number(object, "eager_event", "us");
  latencies.barrier_us = number(object, "barrier", "us");
  latencies.barrier_skew_us = number(object, "barrier_skew", "us");
  latencies.start_skew_us = number(object, "start_skew", "us");
  latencies.signal_us = number(object, "signal", "us");
  object.finish();
  return latencies;
}

GemmTiming gemm_from(JsonObject& object) {
  GemmTiming timing;
  timing.kernel_overhead_us = number(object, "kernel_overhead", "us");
  timing.epilogue_us_per_element = number(object, "epilogue", "us/element");
  timing.cooperative_efficiency = number(object, "cooperative_efficiency", "ratio");
  timing.pingpong_efficiency = number(object, "pingpong_efficiency", "ratio");
  timing.cooperative_above_elements = integer(object, "cooperative_above", "elements");
  timing.dynamic_above_waves = integer(object, "dynamic_above", "waves", 0);
  timing.counter_reset_us = number(object, "counter_reset", "us");
  timing.root_counter_reset_us = number(object, "root_counter_reset", "us");
  timing.split_k_overhead_us = number(object, "split_k_overhead", "us");
  timing.load_latency_us = number(object, "load_latency", "us");
  timing.unaligned_load_factor = number(object, "unaligned_load", "ratio");
  timing.threads_per_cta = integer(object, "threads_per_cta", "threads");
  timing.registers_per_thread = integer(object, "registers_per_thread", "registers");
  timing.beside_copies = number(object, "beside_copies", "ratio");
  timing.tile_spread = number(object, "tile_spread", "ratio");
  return timing;
}

OtherKernels other_kernels_from(JsonObject object) {
  OtherKernels kernels;
  kernels.memory_share_per_sm = number(object, "memory_share_per_sm", "ratio");
  kernels.norm_share = number(object, "norm_share", "ratio");
  kernels.swiglu_share = number(object, "swiglu_share", "ratio");
  kernels.rotary_share = number(object, "rotary_share", "ratio");
  kernels.attention_efficiency = number(object, "attention_efficiency", "ratio");
  kernels.attention_efficiency_64 = number(object, "attention_efficiency_64", "ratio");
  kernels.attention_tail = number(object, "attention_tail", "ratio");
  kernels.attention_overhead_us = number(object, "attention_overhead", "us");
  kernels.attention_split_us = number(object, "attention_split", "us");
  kernels.persistent_attention_efficiency = number(object, "persistent_attention_efficiency", "ratio");
  kernels.overhead_us = number(object, "overhead", "us");
  object.finish();
  return kernels;
}

CollectiveKernel collective_kernel_from(JsonObject object) {
  CollectiveKernel kernel;
  kernel.threads_per_cta = integer(object, "threads_per_cta", "threads");
  kernel.registers_per_thread = integer(object, "registers_per_thread", "registers");
  kernel.shared_memory_per_cta = integer(object, "shared_memory_per_cta", "bytes", 0);
  kernel.hbm_bytes_per_port_byte = number(object, "hbm_bytes_per_port_byte", "ratio");
  kernel.cold_factor = number(object, "cold", "ratio", 1);
  kernel.cold_most_us = number(object, "cold_most", "us");
  kernel.created_first_wins = number(object, "created_first_wins", "ratio");
  kernel.created_later_wins = number(object, "created_later_wins", "ratio");
  kernel.crowded_us = number(object, "crowded", "us");
  kernel.beside_gemm = number(object, "beside_gemm", "ratio");
  kernel.memory_pressure = number(object, "memory_pressure", "ratio");
  object.finish();
  return kernel;
}

FusedNormForm fused_norm_form_from(JsonObject object) {
  FusedNormForm form;
  form.cta_GBps = number(object, "cta_bandwidth", "GBps", 1e-3);
  form.port_GBps = number(object, "port_bandwidth", "GBps", 1e-3);
  form.latency_us = number(object, "latency", "us");
  object.finish();
  return form;
}

FusedNormKernel fused_norm_kernel_from(JsonObject object) {
  FusedNormKernel kernel;
  kernel.threads_per_cta = integer(object, "threads_per_cta", "threads");
  kernel.registers_per_thread = integer(object, "registers_per_thread", "registers");
  if (object.has("peer")) kernel.peer = fused_norm_form_from(object.object("peer"));
  if (object.has("multicast")) kernel.multicast = fused_norm_form_from(object.object("multicast"));
  object.finish();
  return kernel;
}

/// {"collective", "gpus", "max_ctas", "ctas", "cluster", "source", "points": [[bytes, kernel_us, alone_us, CTAs], …]}
CollectiveCurve curve_from(JsonObject object) {
  CollectiveCurve curve;
  curve.kind = object.word<CollectiveKind>("collective");
  curve.gpus = static_cast<int>(object.integer("gpus", 2, 1024));
  curve.max_ctas = static_cast<int>(object.integer_or("max_ctas", 0, 0, 1024));
  curve.ctas = static_cast<int>(object.integer("ctas", 1, 1024));
  curve.cluster = static_cast<int>(object.integer_or("cluster", 1, 1, 16));
  object.string("source");
  for (const JsonValue& point : object.list("points")) {
    const std::vector<JsonValue> numbers = point.list();
    if (numbers.size() != 3 && numbers.size() != 4) point.fail("[bytes, kernel_us, alone_us] or with CTAs");
    const auto ctas = numbers.size() == 4 ? static_cast<int>(numbers[3].integer(1, 1024)) : 0;
    curve.points.push_back({numbers[0].integer(1), numbers[1].number(0), numbers[2].number(0), ctas});
  }
  const auto ascending = [](const CurvePoint& a, const CurvePoint& b) { return a.bytes < b.bytes; };
  if (curve.points.size() < 2 || !std::is_sorted(curve.points.begin(), curve.points.end(), ascending))
    object.at("points").fail("at least two points of ascending size");
  object.finish();
  return curve;
}

CollectiveProtocol protocol_from(JsonObject object) {
  CollectiveProtocol protocol;
  protocol.name = object.string("name");
  protocol.algorithm = object.word<CollectiveAlgorithm>("algorithm");
  protocol.channels = integer(object, "channels", "CTAs");
  protocol.channel_GBps = number(object, "channel_bandwidth", "GBps", 1e-3);
  protocol.efficiency = number(object, "efficiency", "ratio", 1e-3);
  protocol.base_us = number(object, "base", "us");
  protocol.hop_us = number(object, "hop", "us");
  protocol.host_hop_us = number(object, "host_hop", "us");
  object.finish();
  return protocol;
}

std::vector<CollectiveProtocol> protocols_from(JsonObject& object) {
  std::vector<CollectiveProtocol> protocols;
  for (const JsonValue& protocol : object.list_or_empty("collective_protocols"))
    protocols.push_back(protocol_from(protocol.object()));
  for (const auto algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::direct})
    if (!protocols.empty() && std::none_of(protocols.begin(), protocols.end(), [&](const CollectiveProtocol& protocol) {
          return protocol.algorithm == algorithm;
        }))
      object.at("collective_protocols").fail("a protocol of algorithm " + std::string(name_of(algorithm)));
  return protocols;
}

Reordering reordering_from(JsonObject object) {
  Reordering reordering;
  reordering.gemm_tiles = number(object, "gemm_tiles", "ratio");
  reordering.gemm_parts = number(object, "gemm_parts", "ratio");
  reordering.norm_tiles = number(object, "norm_tiles", "ratio");
  reordering.norm_sub_tiles = number(object, "norm_sub_tiles", "ratio");
  reordering.norm_rows = number(object, "norm_rows", "ratio");
  object.finish();
  return reordering;
}

/// Under which conditions the profile was measured, for its reader: no model uses them.
void check_conditions(JsonObject object) {
  for (const char* key : {"first_run", "last_run"}) object.string(key);
  for (const char* key : {"gpu", "driver", "cuda", "nccl", "cublaslt"})
    for (const JsonValue& value : object.list(key)) value.string();
  const auto check_numbers = [&](const char* key, const char* unit) {
    for (const JsonValue& value : quantity(object, key, unit).list()) value.number(0);
  };
  check_numbers("max_sm_clock", "MHz");
  check_numbers("power_limit", "W");
  if (object.has("sm_clock")) check_numbers("sm_clock", "MHz");
  if (object.has("repeat_noise")) check_numbers("repeat_noise", "ratio");
  object.finish();
}

/// {"scheduler", "candidates": [[tile_m, tile_n, tile_k, cluster_m, cluster_n, stages, split_k], …]}
std::vector<GemmKernel> candidates_from(JsonObject& object) {
  const auto scheduler = object.word<TileScheduler>("scheduler");
  std::vector<GemmKernel> kernels;
  for (const JsonValue& candidate : object.list("candidates")) {
    const std::vector<JsonValue> numbers = candidate.list();
    if (numbers.size() != 7) candidate.fail("seven integers");
    const auto at = [&](std::size_t i) { return static_cast<int>(numbers[i].integer(1, 1 << 16)); };
    kernels.push_back({.tile_m = at(0),
                       .tile_n = at(1),
                       .tile_k = at(2),
                       .cluster_m = at(3),
                       .cluster_n = at(4),
                       .stages = at(5),
                       .split_k = at(6),
                       .scheduler = scheduler});
  }
  if (kernels.empty()) object.at("candidates").fail("at least one kernel");
  return kernels;
}

}  // namespace

Machine machine_from_json(const nlohmann::json& json, const std::filesystem::path& directory) {
  JsonObject object(json);
  if (object.string("format") != "weft.machine/1") object.at("format").fail("\"weft.machine/1\"");
  Machine machine;
  machine.name = object.string("name");
  object.string("description");
  machine.gpus = static_cast<int>(object.integer("gpus", 1, 1024));
  if (object.has("conditions")) check_conditions(object.object("conditions"));
  machine.gpu = gpu_from(object.object("gpu"));
  machine.power = power_from(object.object("power"));
  machine.copy_engines = copy_engines_from(object.object("copy_engines"));
  machine.fabric = fabric_from(object.object("fabric"));
  machine.latencies = latencies_from(object.object("latencies"));
  JsonObject gemm = object.object("gemm");
  machine.gemm = gemm_from(gemm);
  JsonObject kernels = gemm.object("kernels");
  kernels.string("source");
  if (kernels.has("candidates"))
    machine.gemm_candidates = candidates_from(kernels);
  else
    machine.gemm_choices = read_gemm_choices(directory / kernels.string("file"));
  kernels.finish();
  gemm.finish();
  machine.other_kernels = other_kernels_from(object.object("other_kernels"));
  machine.collective_kernel = collective_kernel_from(object.object("collective_kernel"));
  if (object.has("reordering")) machine.reordering = reordering_from(object.object("reordering"));
  if (object.has("fused_norm_kernel"))
    machine.fused_norm_kernel = fused_norm_kernel_from(object.object("fused_norm_kernel"));
  for (const JsonValue& curve : object.list("collectives")) machine.collectives.push_back(curve_from(curve.object()));
  machine.collective_protocols = protocols_from(object);
  for (const JsonValue& value : object.list_or_empty("errors")) {
    JsonObject error = value.object();
    ErrorBand& band = machine.errors.emplace_back();
    band.stratum = error.string("stratum");
    band.from_us = error.number("from_us", 0);
    band.low = error.number("low", -1, 10);
    band.high = error.number("high", -1, 10);
    error.string("source");
    error.finish();
  }
  for (const JsonValue& value : object.list_or_empty("calibrated")) {
    JsonObject range = value.object();
    machine.calibrated.push_back({range.string("quantity"), range.number("low"), range.number("high")});
    range.finish();
  }
  object.finish();
  return machine;
}

Machine read_machine(const std::filesystem::path& path) {
  try {
    return machine_from_json(read_json_file(path), path.parent_path());
  } catch (const InputError& error) {
    if (std::string(error.what()).starts_with(path.parent_path().string())) throw;  // names its file already
    throw error.in_file(path.string());
  }
}

}  // namespace weft
