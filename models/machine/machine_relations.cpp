#include "models/machine/machine_relations.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/machine/gemm_networks.hpp"
#include "models/schedule/kernel_sizes.hpp"

namespace weft {
namespace {

constexpr int most_sms = 1 << 12;

std::string text(double value) { return nlohmann::json(value).dump(); }
std::string entry(const char* list, std::size_t position) {
  return std::string(list) + "[" + std::to_string(position) + "]";
}

struct Named {
  std::string name;
  double value;
};

void require_at_most(const Named& number, const Named& limit) {
  if (number.value > limit.value)
    throw InputError(number.name,
                     "expected at most " + limit.name + " = " + text(limit.value) + ", got " + text(number.value));
}

void check_gpu(const Machine& machine) {
  const Gpu& gpu = machine.gpu;
  if (gpu.gpc_sms.empty()) throw InputError("gpu.sms_per_gpc", "expected at least one GPC, got none");
  if (gpu.gpc_sms.size() > most_sms || gpu.sms() > most_sms)
    throw InputError("gpu.sms_per_gpc", "expected at most " + std::to_string(most_sms) + " SMs, got more");
  if (machine.power.idle_W >= machine.power.limit_W)
    throw InputError("power.idle", "expected less than power.limit = " + text(machine.power.limit_W) + ", got " +
                                       text(machine.power.idle_W));
  if (machine.power.limit_of_steady_load_W() < machine.power.limit_W)
    throw InputError("power.steady_limit", "expected at least power.limit = " + text(machine.power.limit_W) + ", got " +
                                               text(machine.power.steady_limit_W));
}

// --- Fabric ----------------------------------------------------------------------------------------------------

void check_link(const std::string& name, const LinkRate& link) {
  require_at_most({"fabric." + name + "_bandwidth", link.GBps}, {"fabric." + name + "_peak", link.peak_GBps});
}

/// A link's fastest way to one other GPU.
Named peak_to_peer(const Fabric& fabric) {
  if (fabric.kind == FabricKind::nvswitch) return {"fabric.port_peak", fabric.link.peak_GBps};
  if (fabric.kind == FabricKind::pcie) return {"fabric.host.pcie_peak", fabric.host.pcie.peak_GBps};
  return {"fabric.link_peak", fabric.link.peak_GBps};
}

void check_fabric(const Machine& machine) {
  const Fabric& fabric = machine.fabric;
  check_link(fabric.kind == FabricKind::nvswitch ? "port" : "link", fabric.link);
  check_link("host.pcie", fabric.host.pcie);
  check_link("host.numa", fabric.host.numa);
  check_link(fabric.peer_access ? "host.bridge" : "host.memory", fabric.host.bridge);
  require_at_most({"copy_engines.peer_bandwidth", machine.copy_engines.GBps}, peak_to_peer(fabric));
  require_at_most({"copy_engines.push_bandwidth", machine.copy_engines.push_GBps}, peak_to_peer(fabric));
  require_at_most({"copy_engines.local_strided_bandwidth", machine.copy_engines.local_strided_GBps},
                  {"copy_engines.local_bandwidth", machine.copy_engines.local_GBps});
  if (machine.copy_engines.local_page_GBps > 0)
    require_at_most({"copy_engines.local_bandwidth", machine.copy_engines.local_GBps},
                    {"copy_engines.local_page_bandwidth", machine.copy_engines.local_page_GBps});
  require_at_most({"fabric.host.gpus_per_node", static_cast<double>(fabric.host.gpus_per_node)},
                  {"gpus", static_cast<double>(machine.gpus)});
  if (fabric.kind == FabricKind::nvlink_pairs && machine.gpus % 2 != 0)
    throw InputError("gpus",
                     "expected an even number, since the fabric joins pairs, got " + std::to_string(machine.gpus));
}

// --- Kernels ---------------------------------------------------------------------------------------------------

void check_cta(const std::string& section, int threads, int registers_per_thread, Bytes shared_memory, const Gpu& gpu) {
  require_at_most({section + ".threads_per_cta", static_cast<double>(threads)},
                  {"gpu.threads_per_sm", static_cast<double>(gpu.threads_per_sm)});
  require_at_most({section + ".threads_per_cta x registers_per_thread",
                   static_cast<double>(threads) * static_cast<double>(registers_per_thread)},
                  {"gpu.registers_per_sm", static_cast<double>(gpu.registers_per_sm)});
  require_at_most({section + ".shared_memory_per_cta", static_cast<double>(shared_memory)},
                  {"gpu.shared_memory_per_sm", static_cast<double>(gpu.shared_memory_per_sm)});
}

void check_candidate(const GemmKernel& kernel, std::size_t position, const Gpu& gpu) {
  const std::string name = entry("gemm.kernels.candidates", position);
  const double widest_gpc = *std::max_element(gpu.gpc_sms.begin(), gpu.gpc_sms.end());
  require_at_most({name + ": shared memory", static_cast<double>(shared_memory_of(kernel, DataType::bf16))},
                  {"gpu.shared_memory_per_sm", static_cast<double>(gpu.shared_memory_per_sm)});
  require_at_most({name + ": cluster_m x cluster_n", static_cast<double>(kernel.cluster_m * kernel.cluster_n)},
                  {"the SMs of a GPC", widest_gpc});
}

void check_weights(const std::string& name, const NetworkWeights& weights, const NetworkSize& network) {
  if (const std::size_t needed = weight_count(network); !weights.empty() && weights.size() != needed)
    throw InputError(name, "expected " + std::to_string(needed) + " numbers, got " + std::to_string(weights.size()));
}

void check_kernels(const Machine& machine) {
  const Gpu& gpu = machine.gpu;
  const CollectiveKernel& collective = machine.collective_kernel;
  check_cta("gemm", machine.gemm.threads_per_cta, machine.gemm.registers_per_thread, 0, gpu);
  check_cta("collective_kernel", collective.threads_per_cta, collective.registers_per_thread,
            collective.shared_memory_per_cta, gpu);
  if (const auto& fused = machine.fused_norm_kernel)
    check_cta("fused_norm_kernel", fused->threads_per_cta, fused->registers_per_thread, 0, gpu);
  check_weights("gemm.kernels.weights", machine.kernel_weights, kernel_network);
  for_each_network(machine.gemm_networks,
                   [](const char* key, const NetworkWeights& weights, const NetworkSize& network) {
                     check_weights(std::string("gemm.kernels.") + key, weights, network);
                   });
  const std::vector<GemmKernel>& candidates = machine.gemm_candidates;
  for (auto one = candidates.begin(); one != candidates.end(); ++one) {
    check_candidate(*one, static_cast<std::size_t>(one - candidates.begin()), gpu);
    if (std::find(candidates.begin(), one, *one) != one)
      throw InputError("gemm.kernels.candidates", "expected each kernel once, got one twice");
  }
}

// --- Measured tables -------------------------------------------------------------------------------------------

void check_curve(const CollectiveCurve& curve, const std::string& name, const Machine& machine) {
  const auto by_size = [](const CurvePoint& a, const CurvePoint& b) { return a.bytes >= b.bytes; };
  if (std::adjacent_find(curve.points.begin(), curve.points.end(), by_size) != curve.points.end())
    throw InputError(name + ".points", "expected points of ascending size");
  require_at_most({name + ".gpus", static_cast<double>(curve.gpus)}, {"gpus", static_cast<double>(machine.gpus)});
  require_at_most({name + ".ctas", static_cast<double>(curve.ctas)},
                  {"the SMs of a GPU", static_cast<double>(machine.gpu.sms())});
}

void check_curves(const Machine& machine) {
  std::set<std::tuple<Transport, CollectiveKind, int, int>> known;
  for (const auto& [key, curves] :
       {std::pair{"collectives", &machine.collectives}, {"symmetric_collectives", &machine.symmetric_collectives}})
    for (std::size_t i = 0; i < curves->size(); ++i) {
      const CollectiveCurve& curve = (*curves)[i];
      check_curve(curve, entry(key, i), machine);
      if (!known.emplace(curve.transport, curve.kind, curve.gpus, curve.max_ctas).second)
        throw InputError(entry(key, i), "expected one curve for a collective, gpus and max_ctas, got two");
    }
}

void require_one_of(const std::vector<std::string>& known, const std::string& word, const std::string& name) {
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw InputError(name, "expected one of " + joined(known) + ", got \"" + shown_name(word) + "\"");
}

/// All bands of a stratum in one condition ascend, also those of different measurements.
void check_bands(const std::vector<ErrorBands>& errors) {
  std::map<std::pair<std::string, Condition>, double> before;
  for (std::size_t i = 0; i < errors.size(); ++i)
    for (std::size_t j = 0; j < errors[i].bands.size(); ++j) {
      const ErrorBand& band = errors[i].bands[j];
      const std::string name = entry("errors", i) + "." + entry("bands", j);
      require_one_of(known_strata(), band.stratum, name + ".stratum");
      require_at_most({name + ".low", band.low}, {"high", band.high});
      const auto [last, is_first] = before.try_emplace({band.stratum, errors[i].condition}, band.from_us);
      if (!is_first && band.from_us <= last->second)
        throw InputError(name + ".from_us", "expected more than that of the band before = " + text(last->second) +
                                                ", got " + text(band.from_us));
      last->second = band.from_us;
    }
}

void check_ranges(const std::vector<CalibratedRange>& ranges) {
  static const std::vector<std::string> known{
      "m", "n", "k", "bytes", "gpus", "attention", "cached_attention", "grouped_gemm", "all_reduce_norm"};
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::string name = entry("calibrated", i);
    require_one_of(known, ranges[i].quantity, name + ".quantity");
    require_at_most({name + ".low", ranges[i].low}, {"high", ranges[i].high});
  }
}

}  // namespace

const std::vector<std::string>& known_strata() {
  static const std::vector<std::string> strata{"gemm",
                                               "all_reduce",
                                               "all_gather",
                                               "reduce_scatter",
                                               "all_to_all",
                                               "copy",
                                               "transformer_layer",
                                               "distributed_attention",
                                               "attention",
                                               "add_rms_norm",
                                               "swiglu",
                                               "rotary",
                                               "all_reduce_norm",
                                               "serial",
                                               "decomposition",
                                               "fine_decomposition",
                                               "untabled_gemm",
                                               "signaling",
                                               "async_tp",
                                               "concurrent",
                                               "ficco",
                                               "token_split",
                                               "staged",
                                               "hybrid",
                                               "best",
                                               "pairs"};
  return strata;
}

void check_relations(const Machine& machine) {
  check_gpu(machine);
  check_fabric(machine);
  check_kernels(machine);
  check_curves(machine);
  check_bands(machine.errors);
  check_ranges(machine.calibrated);
}

}  // namespace weft
