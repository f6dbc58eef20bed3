#include "calibration/evidence/new_profile.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/gpu_name.hpp"
#include "calibration/fitting/collective_curves.hpp"
#include "calibration/fitting/lone_gemm.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/profile_numbers.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

/// Fewer GEMMs do not tell the fit's numbers apart.
constexpr std::size_t enough_gemms = 40;
/// Small GEMMs say little of the tensor cores.
constexpr double large_us = 50;
constexpr double least_efficiency = 0.3;
/// Times that are as far from what the fitted machine takes are of another machine, or in another unit.
constexpr double most_left_over = 0.3;
/// Of logs without a launch on record, and bases without a curve.
constexpr int usual_ctas = 24;

bool holds_for_all(const std::string& source) {
  return source.starts_with("datasheet") || source.starts_with("documentation") ||
         source.starts_with("assumption: as ");
}

/// What was measured or published of the base is assumed of the new server.
void mark_as_assumed(ordered_json& json, const std::string& base) {
  if (json.is_object() && json.contains("source") && json["source"].is_string())
    if (const std::string source = json["source"]; !holds_for_all(source))
      json["source"] = "assumption: as " + base + ": " + source;
  if (json.is_structured())
    for (ordered_json& part : json) mark_as_assumed(part, base);
}

class NewProfile {
 public:
  NewProfile(const BaseProfile& base, const KnownOfServer& known, const std::string& name)
      : base_(base), known_(known), profile_(base.document) {
    mark_as_assumed(profile_, base.machine.name);
    profile_.erase("conditions");  // of the base's measurements
    profile_["name"] = name;
  }

  CalibratedProfile made() {
    if (known_.topology) add_topology(*known_.topology);
    if (!known_.logs.empty()) add_curves();
    if (!known_.gemms.empty()) add_gemms();
    profile_["description"] = description();
    require_possible();
    return {.text = to_text(profile_) + "\n", .table_file = "", .table_text = "", .changes = changes()};
  }

 private:
  int gpus() const { return profile_.at("gpus"); }
  Machine machine() const { return machine_from_json(profile_, base_.machine.gemm_choices); }

  std::string description() const {
    std::vector<std::string> from;
    if (!known_.logs.empty()) from.emplace_back("collectives from nccl-tests");
    if (!known_.gemms.empty()) from.push_back(std::to_string(known_.gemms.size()) + " GEMMs");
    if (known_.topology) from.push_back(known_.topology->written_by);
    return "as " + base_.machine.name + (from.empty() ? "" : ", with " + joined(from));
  }

  // --- Topology ------------------------------------------------------------------------------------------------

  void add_topology(const ServerTopology& topology) {
    const FabricKind kind = base_.machine.fabric.kind;
    if (topology.kind && *topology.kind != kind)
      throw InputError("--base", "expected a profile of GPUs on " + std::string(name_of(*topology.kind)) + ", as " +
                                     known_.topology_file + " has them, got " + base_.machine.name + " on " +
                                     std::string(name_of(kind)));
    profile_["gpus"] = topology.gpus;
    for (const char* list : {"collectives", "symmetric_collectives"}) drop_larger(list, topology.gpus);
    if (topology.nvlinks > 0) add_links(topology);
    if (!profile_["fabric"].contains("host")) return;
    ordered_json& host = profile_["fabric"]["host"];
    if (topology.gpus_per_node) set(host["gpus_per_node"], *topology.gpus_per_node, source_of(topology));
    if (topology.pcie_GBps) set_link(host, "pcie_bandwidth", "pcie_peak", *topology.pcie_GBps, topology);
  }

  /// Curves of more GPUs than there are.
  void drop_larger(const char* list, int gpus) {
    if (!profile_.contains(list)) return;
    ordered_json& curves = profile_[list];
    for (std::size_t i = curves.size(); i-- > 0;)
      if (curves[i]["gpus"] > gpus) curves.erase(i);
  }

  void add_links(const ServerTopology& topology) {
    const double of_link =
        topology.nvlink_GBps.value_or(nvlink_GBps(base_.machine.architecture == Architecture::blackwell));
    const double GBps = topology.nvlinks * of_link;
    const bool is_switch = base_.machine.fabric.kind == FabricKind::nvswitch;
    set_link(profile_["fabric"], is_switch ? "port_bandwidth" : "link_bandwidth", is_switch ? "port_peak" : "link_peak",
             GBps, topology);
    const double factor = GBps / base_.machine.fabric.link.peak_GBps;
    if (factor != 1) scale_what_goes_through_links(factor);
  }

  void scale_what_goes_through_links(double factor) {
    const std::string source = "assumption: the share of the link that it has on " + base_.machine.name;
    const auto scale = [&](ordered_json& section, const char* key) {
      if (section.contains(key)) set(section[key], section[key]["value"].get<double>() * factor, source);
    };
    for (const char* rate : {"peer_bandwidth", "push_bandwidth"}) scale(profile_["copy_engines"], rate);
    for (const char* kernels : {"fused_norm_kernel", "direct_collectives"})
      if (profile_.contains(kernels))
        for (ordered_json& kernel : profile_[kernels])
          if (kernel.is_object())
            for (const char* rate : {"port_bandwidth", "one_way_bandwidth"}) scale(kernel, rate);
  }

  /// What is left of a peak after the protocol is assumed to be the base's share of it.
  void set_link(ordered_json& section, const char* rate, const char* peak, double GBps,
                const ServerTopology& topology) {
    const double before = section[peak]["value"];
    if (GBps == before) return;
    set(section[rate], section[rate]["value"].get<double>() * GBps / before,
        "assumption: the share of the peak that it has on " + base_.machine.name);
    set(section[peak], GBps, source_of(topology));
  }

  static void set(ordered_json& number, double value, const std::string& source) {
    if (value == static_cast<double>(static_cast<std::int64_t>(value)))
      number["value"] = static_cast<std::int64_t>(value);
    else
      number["value"] = rounded(value);
    number["source"] = source;
    number.erase("note");
  }

  std::string source_of(const ServerTopology& topology) const {
    return "measured: " + topology.written_by + ", " + known_.topology_file;
  }

  // --- Collectives ---------------------------------------------------------------------------------------------

  /// A collective of which the base has no curve holds as many CTAs as its library's protocols have channels.
  std::vector<fitting::CtaObservation> ctas_of(CollectiveKind kind) const {
    const auto& curves = base_.machine.collectives;
    if (std::ranges::any_of(curves, [&](const CollectiveCurve& one) { return one.kind == kind && one.max_ctas == 0; }))
      return {};
    int ctas = 0;
    for (const CollectiveProtocol& protocol : base_.machine.collective_protocols)
      ctas = std::max(ctas, protocol.channels);
    return {{{kind, base_.machine.gpus, 0}, ctas > 0 ? ctas : usual_ctas, 1}};
  }

  void add_curves() {
    double low = 0, high = 0, fewest = 0, most = 0;
    for (const auto& [file, runs] : known_.logs)
      for (const NcclTestsRun& run : runs) {
        if (run.gpus > gpus())
          throw InputError(file, "expected at most " + std::to_string(gpus()) + " GPUs, those of " +
                                     (known_.topology ? known_.topology_file : base_.machine.name) + ", got " +
                                     std::to_string(run.gpus));
        if (!is_of_maker(run.gpu, base_.machine))
          throw InputError(file, "expected GPUs of the kind that " + base_.machine.name + ", the base, has, got " +
                                     shown_name(run.gpu));
        add_curve(file, run);
        const auto smallest = static_cast<double>(run.points.front().bytes),
                   largest = static_cast<double>(run.points.back().bytes);
        low = low == 0 ? smallest : std::min(low, smallest), high = std::max(high, largest);
        fewest = fewest == 0 ? run.gpus : std::min<double>(fewest, run.gpus), most = std::max<double>(most, run.gpus);
      }
    set_ranges(profile_, {{"bytes", low, high}, {"gpus", fewest, most}});
  }

  /// Without its overhead a graph's time is the kernel's, as weft's curves have both.
  void add_curve(const std::string& file, const NcclTestsRun& run) {
    const fitting::CollectiveSetting setting{run.kind, run.gpus, 0};
    if (!measured_.insert({run.kind, run.gpus}).second)
      throw InputError(file, "expected each collective and number of GPUs once, got " + std::string(name_of(run.kind)) +
                                 " on " + std::to_string(run.gpus) + " GPUs again");
    std::vector<fitting::CollectiveObservation> observations;
    double longest_us = 0;  // a larger collective takes no less: what falls is noise of single runs
    for (const NcclTestsPoint& point : run.points) {
      longest_us = std::max(longest_us, point.time_us);
      observations.push_back({.setting = setting, .bytes = point.bytes, .time_us = longest_us});
    }
    std::string source = "measured: nccl-tests, " + file + ", " + std::to_string(run.points.size()) + " sizes";
    if (!run.nccl.empty()) source += ", NCCL " + run.nccl;
    if (!run.gpu.empty()) source += ", " + run.gpu;
    set_curves(profile_, "collectives",
               fitting::build_curves(observations, ctas_of(run.kind), base_.machine.collectives,
                                     base_.machine.latencies.collective_graph_gap_us),
               source);
  }

  // --- GEMMs ---------------------------------------------------------------------------------------------------

  void add_gemms() {
    const std::string source =
        "measured: GEMMs of " + known_.gemm_file + ", " + std::to_string(known_.gemms.size()) + " cases";
    if (known_.gemms.size() >= enough_gemms) {
      const fitting::GemmFit fit = fitting::fit_gemms(machine(), known_.gemms);
      require_fit(fit.median_error);
      const std::string quality = ", residual median " + fixed(100 * fit.median_error, 1) + " %, 90 % below " +
                                  fixed(100 * fit.p90_error, 1) + " %";
      for (const fitting::FittedNumber& one : fit.numbers)
        set_number(profile_, one.section, one.key, one.value, source + quality, one.is_at_bound ? "at its bound" : "");
      const MeasuredGemmNetworks of_the_base;  // they correct other numbers
      for_each_network(of_the_base, [&](const char* key, const NetworkWeights&, const NetworkSize&) {
        profile_.at("gemm").at("kernels").erase(key);
      });
    } else {
      scale_efficiency(source);
    }
    set_gemm_ranges();
  }

  /// Median of measured over predicted time of the large ones.
  double slowness(const Machine& of) const {
    std::vector<double> ratios;
    for (const fitting::GemmObservation& one : known_.gemms)
      if (one.time_us >= large_us) ratios.push_back(one.time_us / fitting::lone_gemm_us(of, one.size, one.dtype));
    if (ratios.empty())
      throw InputError(known_.gemm_file, "expected at least one GEMM of " + fixed(large_us, 0) + " us or more, or " +
                                             std::to_string(enough_gemms) + " of any size");
    return median(ratios);
  }

  void require_fit(double left_over) const {
    if (std::abs(left_over) > most_left_over)
      throw InputError(known_.gemm_file,
                       "expected times in microseconds that such a GPU can take, got some that differ by " +
                           signed_percent(left_over) + " (median) from the nearest it can");
  }

  /// Power and memory hold some of them back, so that one step is not enough.
  void scale_efficiency(const std::string& source) {
    constexpr int rounds = 6;
    Machine scaled = machine();
    for (int round = 0; round < rounds; ++round) {
      const double factor = 1 / slowness(scaled);
      for (double* efficiency : {&scaled.gemm.cooperative_efficiency, &scaled.gemm.pingpong_efficiency})
        *efficiency = std::clamp(*efficiency * factor, least_efficiency, 1.0);
    }
    const double left = slowness(scaled) - 1;
    require_fit(left);
    const std::string note = "too few GEMMs to fit more; their median is now off by " + signed_percent(left);
    set_number(profile_, "gemm", "cooperative_efficiency", scaled.gemm.cooperative_efficiency, source, note);
    set_number(profile_, "gemm", "pingpong_efficiency", scaled.gemm.pingpong_efficiency, source, note);
  }

  void set_gemm_ranges() {
    std::vector<CalibratedRange> ranges;
    for (const auto& [quantity, extent] :
         {std::pair{"m", &MatrixSize::m}, std::pair{"n", &MatrixSize::n}, std::pair{"k", &MatrixSize::k}}) {
      const auto [least, most] =
          std::ranges::minmax(known_.gemms, {}, [&, e = extent](const auto& one) { return one.size.*e; });
      ranges.push_back({quantity, static_cast<double>(least.size.*extent), static_cast<double>(most.size.*extent)});
    }
    set_ranges(profile_, ranges);
  }

  // --- The whole -----------------------------------------------------------------------------------------------

  /// Numbers that contradict each other are the evidence's fault, not that of a file with the profile's name.
  void require_possible() const {
    try {
      machine();
    } catch (const InputError& error) {
      throw InputError("--base",
                       "expected a profile that what is known of the server agrees with: " + std::string(error.what()));
    }
  }

  std::vector<ProfileChange> changes() const {
    std::map<std::string, ProfileNumber> before;
    for (const ProfileNumber& one : profile_numbers(base_.document)) before[one.path] = one;
    std::vector<ProfileChange> changes;
    for (const ProfileNumber& one : profile_numbers(profile_))
      if (const ProfileNumber& old = before[one.path];
          one.source.starts_with("measured") || (old.value != one.value && (!one.source.empty() || one.path == "gpus")))
        changes.push_back({one.path, old.value, one.value, one.unit, one.source});
    return changes;
  }

  const BaseProfile& base_;
  const KnownOfServer& known_;
  ordered_json profile_;
  std::set<std::pair<CollectiveKind, int>> measured_;
};

}  // namespace

CalibratedProfile new_profile(const BaseProfile& base, const KnownOfServer& known, const std::string& name) {
  return NewProfile(base, known, name).made();
}

}  // namespace weft::calibration::evidence
