#include "calibration/evidence/calibration_profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "models/base/json_file.hpp"
#include "models/machine/machine_numbers.hpp"
#include "models/machine/profile_networks.hpp"

namespace weft::calibration::evidence {

using nlohmann::ordered_json;

ordered_json read_profile(const std::filesystem::path& path) {
  read_json_file(path);  // reports what is wrong with line and column
  std::ifstream file(path);
  ordered_json profile = ordered_json::parse(file);
  try {
    take_shared_networks(profile, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
  return profile;
}

namespace {

/// With the sections that a profile may leave out.
Machine machine_of_all_sections() {
  Machine machine;
  machine.own_attention.emplace().decode.emplace();
  machine.own_rows.emplace();
  machine.reordering.emplace();
  machine.direct_collectives.emplace().two_shot.emplace();
  machine.fused_norm_kernel.emplace().peer.emplace();
  return machine;
}

std::string unit_of(const std::string& section, const std::string& key) {
  for (const MachineNumber& number : machine_numbers(machine_of_all_sections()))
    if (number.section == section && number.key == key) return number.unit;
  throw InputError(section + "." + key, "expected a number of a machine profile");
}

}  // namespace

double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return std::strtod(text, nullptr);
}

ordered_json& section_of(ordered_json& profile, const std::string& name) {
  ordered_json* section = &profile;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = name.find('.', begin);
    const std::string key = name.substr(begin, end - begin);
    if (!section->contains(key)) throw InputError(name, "expected this key, it is missing");
    section = &(*section)[key];
  }
  return *section;
}

void set_number(ordered_json& profile, const std::string& section, const std::string& key, double value,
                const std::string& source, const std::string& note) {
  const std::string unit = unit_of(section, key);
  ordered_json& numbers = section_of(profile, section);
  if (!numbers.contains(key)) numbers[key] = {{"value", 0}, {"unit", unit}};  // was off
  ordered_json& number = numbers[key];
  if (unit == "bytes")  // whole ones
    number["value"] = std::llround(value);
  else
    number["value"] = rounded(value);
  number["source"] = source;
  number.erase("note");
  if (!note.empty()) number["note"] = note;
}

void set_curves(ordered_json& profile, const std::string& key, const std::vector<CollectiveCurve>& curves,
                const std::string& source) {
  const auto setting_of = [](const ordered_json& curve) {
    return std::tuple(curve.value("transport", std::string()), curve.at("collective").get<std::string>(),
                      curve.at("gpus").get<int>());
  };
  std::set<std::tuple<std::string, std::string, int>> measured;
  ordered_json result = ordered_json::array();
  for (const CollectiveCurve& curve : curves) {
    ordered_json points = ordered_json::array();
    for (const CurvePoint& point : curve.points) {
      points.push_back({point.bytes, rounded(point.kernel_us), rounded(point.alone_us)});
      if (curve.ctas > 0) points.back().push_back(point.ctas > 0 ? point.ctas : curve.ctas);
    }
    ordered_json written{{"collective", name_of(curve.kind)},
                         {"gpus", curve.gpus},
                         {"max_ctas", curve.max_ctas},
                         {"ctas", curve.ctas},
                         {"cluster", curve.cluster}};
    if (curve.transport != Transport::nccl) written["transport"] = name_of(curve.transport);
    if (curve.change_bytes > 0) written["change_bytes"] = curve.change_bytes;
    written["source"] = source;
    written["points"] = points;
    measured.insert(setting_of(written));
    result.push_back(std::move(written));
  }
  for (const ordered_json& curve : profile.value(key, ordered_json::array()))
    if (!measured.contains(setting_of(curve))) result.push_back(curve);
  profile[key] = result;
}

void set_ranges(ordered_json& profile, const std::vector<CalibratedRange>& ranges) {
  ordered_json result = ordered_json::array();
  for (const CalibratedRange& range : ranges)
    result.push_back({{"quantity", range.quantity}, {"low", range.low}, {"high", range.high}});
  if (profile.contains("calibrated"))
    for (const ordered_json& old : profile["calibrated"])
      if (std::none_of(ranges.begin(), ranges.end(),
                       [&](const CalibratedRange& range) { return range.quantity == old.at("quantity"); }))
        result.push_back(old);
  profile["calibrated"] = result;
}

void set_errors(ordered_json& profile, const ErrorBands& errors, const std::string& source) {
  ordered_json bands = ordered_json::array();
  std::set<std::string> measured;
  for (const ErrorBand& band : errors.bands) {
    measured.insert(band.stratum);
    bands.push_back({{"stratum", band.stratum},
                     {"from_us", band.from_us},
                     {"low", rounded(band.low)},
                     {"high", rounded(band.high)}});
  }
  const std::string condition(name_of(errors.condition));
  std::vector<ordered_json> result;
  for (ordered_json old : profile.at("errors")) {
    if (old.at("condition") == condition)
      std::erase_if(old.at("bands").get_ref<ordered_json::array_t&>(),
                    [&](const ordered_json& band) { return measured.contains(band.at("stratum")); });
    if (!old.at("bands").empty()) result.push_back(old);
  }
  result.push_back(
      {{"condition", condition}, {"growth", rounded(errors.growth)}, {"source", source}, {"bands", bands}});
  std::ranges::stable_sort(result, {}, [](const ordered_json& one) {
    return from_name<Condition>(one.at("condition").get<std::string>(), "errors.condition");
  });
  profile["errors"] = result;
}

void set_conditions(ordered_json& profile, const ordered_json& conditions) {
  ordered_json result;
  for (const auto& [key, value] : profile.items()) {
    if (key == "conditions") continue;
    if (key == "gpu") result["conditions"] = conditions;
    result[key] = value;
  }
  profile = std::move(result);
}

}  // namespace weft::calibration::evidence
