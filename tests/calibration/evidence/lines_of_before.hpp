// Lines of measurement files from before there were kernel files: a case with kernels had a second line with
// everything, and each kernel repeated all of its launch.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/measurement_json.hpp"
#include "scenarios/case_json.hpp"

namespace weft::calibration::evidence {

inline std::vector<nlohmann::json> lines_in(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  for_each_json_line(path, [&](const nlohmann::json& line, int) { lines.push_back(line); });
  return lines;
}

inline Measurement measurement_of(nlohmann::json line) {
  line.erase("case"), line.erase("kernels");
  JsonObject object(line);
  Measurement measurement = measurement_from(object);
  object.finish();
  return measurement;
}

inline void write_as_now(const std::vector<nlohmann::json>& before, const std::filesystem::path& path) {
  MeasurementFileWriter file(
      path, std::ranges::any_of(before, [](const nlohmann::json& line) { return line.contains("kernels"); }));
  for (const nlohmann::json& line : before) {
    if (line.contains("conditions")) {
      file.add(conditions_from(JsonObject(line["conditions"])));
      continue;
    }
    const scenarios::Case request = scenarios::case_from_json(line["case"]);
    if (line.contains("error")) {
      file.add_error(request, line["error"]);
    } else if (line.contains("kernels")) {
      std::vector<KernelRecord> kernels;
      for (const nlohmann::json& kernel : line["kernels"]) kernels.push_back(kernel_from(JsonObject(kernel)));
      file.add_kernels(request, kernels);
    } else {
      file.add(request, measurement_of(line));
    }
  }
}

/// The lines of a run: cases as they were measured, then each that has kernels again with them.
inline std::vector<nlohmann::json> as_before(const std::filesystem::path& path) {
  std::vector<nlohmann::json> with_kernels, lines;
  for (const MeasuredCase& one : read_measurements_and_kernels(path)) {
    if (one.kernels.empty()) continue;
    nlohmann::json line{{"case", scenarios::to_json(one.request)}, {"run", one.run}};
    line.update(to_json(static_cast<const Measurement&>(one)));
    for (const KernelRecord& kernel : one.kernels) line["kernels"].push_back(to_json(kernel));
    with_kernels.push_back(line);
  }
  int runs = 0;
  const auto finish_run = [&] {
    for (nlohmann::json line : with_kernels)
      if (line["run"] == path.string() + " " + std::to_string(runs)) line.erase("run"), lines.push_back(line);
    ++runs;
  };
  for (const nlohmann::json& line : lines_in(path)) {
    if (line.contains("conditions")) finish_run();
    lines.push_back(line);
  }
  finish_run();
  return lines;
}

}  // namespace weft::calibration::evidence
