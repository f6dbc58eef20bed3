#include "models/machine/profile_grades.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "models/base/json_file.hpp"

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

/// Of the keys of a section that are there.
Grade weakest_of(const json& profile, const char* section, std::initializer_list<const char*> keys) {
  if (!profile.contains(section)) return Grade::assumed;
  std::optional<Grade> weakest;
  for (const char* const key : keys)
    if (profile[section].contains(key))
      if (const auto grade = weakest_source(profile[section][key]))
        weakest = std::max(weakest.value_or(*grade), *grade);
  return weakest.value_or(Grade::assumed);
}

Grade weakest_of(const json& profile, const char* section) {
  return profile.contains(section) ? weakest_source(profile[section]).value_or(Grade::assumed) : Grade::assumed;
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

/// That of the all-reduce in it, which the switch does where it can, and of the memory that it norms rows in. It was
/// measured nowhere itself.
Grade grade_of_fused_norm(const json& profile, Grade memory) {
  if (!profile.contains("fused_norm_kernel")) return Grade::assumed;
  const json direct = profile.value("direct_collectives", json::object());
  const char* const kernel = direct.contains("multimem") ? "multimem" : "two_shot";
  const Grade all_reduce = direct.contains(kernel) ? weakest_of(profile, "direct_collectives", {kernel})
                                                   : weakest_of(profile, "fused_norm_kernel", {"multicast", "peer"});
  return std::max({all_reduce, memory, Grade::measured_alike});
}

}  // namespace

Grade grade_of_source(std::string_view source) {
  if (is_public_of_another(source)) return Grade::published;
  const auto has = [source](std::string_view words) { return source.find(words) != std::string_view::npos; };
  if (source.starts_with("measured")) return Grade::measured;
  const bool is_guess = has("derived, not measured") || has("assumption: max") || has("carried over");
  if (has(": measured") && !is_guess) return Grade::measured_alike;
  if (has(", the same GH100") || has(", where it is on")) return Grade::measured_alike;
  if (has("assumption") || is_guess) return Grade::assumed;
  return Grade::published;
}

Grade ProfileGrades::of(CollectiveKind kind, int gpus) const {
  const auto found =
      std::ranges::find_if(collectives, [&](const OfCollective& one) { return one.kind == kind && one.gpus == gpus; });
  return found == collectives.end() ? protocols : found->grade;
}

ProfileGrades profile_grades(const json& profile) {
  ProfileGrades grades{.gemm = weakest_of(profile, "gemm", {"cooperative_efficiency", "pingpong_efficiency"}),
                       .attention = weakest_of(profile, "other_kernels", {"attention_efficiency"}),
                       .memory = std::max(weakest_of(profile, "gpu", {"hbm_bandwidth"}),
                                          weakest_of(profile, "other_kernels", {"memory_share_per_sm"})),
                       .copies = weakest_of(profile, "copy_engines", {"peer_bandwidth"}),
                       .launches = weakest_of(profile, "latencies", {"kernel_gap", "collective_gap", "graph_gap"}),
                       .two_shot = weakest_of(profile, "direct_collectives", {"two_shot"}),
                       .multimem = weakest_of(profile, "direct_collectives", {"multimem"}),
                       .protocols = weakest_of(profile, "collective_protocols")};
  grades.fused_norm = grade_of_fused_norm(profile, grades.memory);
  if (!profile.contains("collectives")) return grades;
  for (const json& curve : profile["collectives"])
    if (curve.value("max_ctas", 0) == 0)
      grades.collectives.push_back({from_name<CollectiveKind>(curve["collective"].get<std::string>(), "collective"),
                                    curve["gpus"].get<int>(), weakest_source(curve).value_or(Grade::assumed)});
  return grades;
}

ProfileGrades read_profile_grades(const std::filesystem::path& path) { return profile_grades(read_json_file(path)); }

}  // namespace weft
