#include "models/machine/profile_grades.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace weft {
namespace {

using nlohmann::json;

std::optional<Grade> weakest_source(const json& value) {
  std::optional<Grade> weakest;
  const auto consider = [&](const std::optional<Grade>& grade) {
    if (grade) weakest = std::max(weakest.value_or(*grade), *grade);
  };
  if (value.is_object() && value.contains("source") && value["source"].is_string())
    return grade_of_source(value["source"].get<std::string>());
  if (value.is_structured())
    for (const json& part : value) consider(weakest_source(part));
  return weakest;
}

/// Null where the profile has none.
const json& part_of(const json& profile, const char* key) {
  static const json none;
  const auto found = profile.find(key);
  return found == profile.end() ? none : *found;
}

/// Of the keys of a part that are there.
Grade weakest_of_part(const json& part, std::initializer_list<const char*> keys) {
  std::optional<Grade> weakest;
  for (const char* const key : keys)
    if (part.contains(key))
      if (const auto grade = weakest_source(part[key])) weakest = std::max(weakest.value_or(*grade), *grade);
  return weakest.value_or(Grade::assumed);
}

Grade weakest_of(const json& profile, const char* section, std::initializer_list<const char*> keys) {
  return weakest_of_part(part_of(profile, section), keys);
}

/// "assumption: as h100x8-nvswitch-nvls: repository: …": what is published of a machine whose part in question is
/// alike.
bool is_public_of_another(std::string_view source) {
  constexpr std::string_view as = "assumption: as ", end_of_name = ": ";
  if (!source.starts_with(as)) return false;
  const std::size_t end = source.find(end_of_name, as.size());
  if (end == std::string_view::npos) return false;
  const std::string_view cited = source.substr(end + end_of_name.size());
  return std::ranges::any_of(std::array<std::string_view, 4>{"repository", "datasheet", "documentation", "paper"},
                             [&](std::string_view kind) { return cited.starts_with(kind); });
}

/// "by a rule: repository: …: A100's times 12 / 8; meets the published all-reduce within 8 %".
bool is_checked_rule(std::string_view source) {
  const std::size_t met = source.find("; meets ");
  return met != std::string_view::npos && source.find(" %", met) != std::string_view::npos;
}

/// What a share of a link's rate says of one kind of collective on so many GPUs holds for the others by a law (bytes
/// out of each GPU over the busiest link): so it is public where the law was seen to meet a figure that it was not
/// taken from.
Grade grade_of_share(const json& protocol) {
  if (!protocol.contains("efficiency")) return Grade::assumed;
  const Grade grade = weakest_source(protocol["efficiency"]).value_or(Grade::assumed);
  if (grade != Grade::published) return grade;
  return is_checked_rule(protocol["efficiency"]["source"].get<std::string>()) ? grade : Grade::assumed;
}

/// That of the all-reduce in it, which the switch does where it can, and of how fast it norms: measured, or no better
/// than the memory that it norms rows in.
Grade grade_of_fused_norm(const json& profile, Grade memory) {
  if (!profile.contains("fused_norm_kernel")) return Grade::assumed;
  const json& direct = part_of(profile, "direct_collectives");
  const json& kernel_itself = profile["fused_norm_kernel"];
  const bool has_own = kernel_itself.contains("multicast") || kernel_itself.contains("peer");
  const Grade all_reduce =
      has_own ? weakest_of(profile, "fused_norm_kernel", {"multicast", "peer"})
              : weakest_of(profile, "direct_collectives", {direct.contains("multimem") ? "multimem" : "two_shot"});
  if (kernel_itself.contains("norm_bandwidth"))
    return std::max(all_reduce, weakest_source(kernel_itself["norm_bandwidth"]).value_or(Grade::assumed));
  return std::max({all_reduce, memory, Grade::measured_alike});
}

}  // namespace

Grade grade_of_source(std::string_view source) {
  if (is_public_of_another(source)) return Grade::published;
  if (source.starts_with("by a rule: ")) return is_checked_rule(source) ? Grade::published : Grade::assumed;
  const auto has = [source](std::string_view words) { return source.find(words) != std::string_view::npos; };
  if (source.starts_with("measured")) return Grade::measured;
  const bool is_guess = has("derived, not measured") || has("assumption: max") || has("carried over");
  if (has(": measured") && !is_guess) return Grade::measured_alike;
  if (has(", the same GH100") || has(", where it is on")) return Grade::measured_alike;
  if (has("assumption") || is_guess) return Grade::assumed;
  return Grade::published;
}

std::optional<Grade> ProfileGrades::of(CollectiveKind kind, int gpus, Transport transport) const {
  const auto found = std::ranges::find_if(collectives, [&](const OfCollective& one) {
    return one.kind == kind && one.gpus == gpus && one.transport == transport;
  });
  return found == collectives.end() ? std::nullopt : std::optional(found->grade);
}

Grade ProfileGrades::of(LinkKind kind) const {
  switch (kind) {
    case LinkKind::pcie_up:
    case LinkKind::pcie_down:
      return pcie;
    case LinkKind::bridge:
      return bridge;
    case LinkKind::numa:
      return numa;
    case LinkKind::port_out:
    case LinkKind::port_in:
    case LinkKind::pair:
    case LinkKind::peer:
      break;
  }
  return link;
}

ProfileGrades profile_grades(const json& profile) {
  // memory_share_per_sm decides nothing here: how many SMs draw the whole rate matters only to kernels with few.
  ProfileGrades grades{
      .gemm = weakest_of(profile, "gemm", {"cooperative_efficiency"}),
      .small_gemm = weakest_of(profile, "gemm", {"pingpong_efficiency"}),
      .attention = weakest_of(profile, "other_kernels", {"attention_efficiency"}),
      .hbm = weakest_of(profile, "gpu", {"hbm_bandwidth"}),
      .memory = std::max(weakest_of(profile, "gpu", {"hbm_bandwidth"}),
                         weakest_of(profile, "other_kernels", {"norm_share", "swiglu_share", "rotary_share"})),
      .copies = weakest_of(profile, "copy_engines", {"peer_bandwidth"}),
      .launches = weakest_of(profile, "latencies", {"kernel_gap", "collective_gap", "graph_gap"}),
      .two_shot = weakest_of(profile, "direct_collectives", {"two_shot"}),
      .multimem = weakest_of(profile, "direct_collectives", {"multimem"}),
      .link = weakest_of(profile, "fabric", {"port_bandwidth", "link_bandwidth"})};
  const json& host = part_of(part_of(profile, "fabric"), "host");
  grades.pcie = weakest_of_part(host, {"pcie_bandwidth"});
  grades.bridge = weakest_of_part(host, {"bridge_bandwidth"});
  grades.numa = weakest_of_part(host, {"numa_bandwidth"});
  for (const json& protocol : part_of(profile, "collective_protocols"))
    grades.protocols.push_back({.links = grade_of_share(protocol),
                                .channels = weakest_of_part(protocol, {"channels", "channel_bandwidth"}),
                                .latency = weakest_of_part(protocol, {"base", "hop", "host_hop"})});
  grades.fused_norm = grade_of_fused_norm(profile, grades.memory);
  for (const char* key : {"collectives", "symmetric_collectives"})
    for (const json& curve : part_of(profile, key))
      if (curve.value("max_ctas", 0) == 0)
        grades.collectives.push_back({from_name<CollectiveKind>(curve["collective"].get<std::string>(), "collective"),
                                      curve["gpus"].get<int>(), weakest_source(curve).value_or(Grade::assumed),
                                      from_name<Transport>(curve.value("transport", "nccl"), "transport")});
  return grades;
}

}  // namespace weft
