#include "calibration/evidence/measurement_file.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "scenarios/case_json.hpp"

namespace weft::calibration::evidence {

std::ifstream open_lines(const std::filesystem::path& path, const std::string& contents) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw InputError(path.string(), "expected a readable file of " + contents);
  return file;
}

void for_each_json_line(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& read) {
  std::ifstream file = open_lines(path, "JSON lines");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = path.string() + ": line " + std::to_string(number);
    try {
      if (line.find_first_not_of(" \t\r") != std::string::npos) read(parse_json(line));
    } catch (const InputError& error) {
      throw error.in_file(where);
    } catch (const nlohmann::json::exception& error) {  // readers of what this program wrote trust it
      throw InputError(where, std::string("expected a line that weft wrote: ") + error.what());
    }
  }
}

std::vector<MeasuredCase> read_measurements(const std::filesystem::path& path) {
  std::vector<MeasuredCase> measured;
  std::map<std::string, std::size_t> position;
  int runs = 0;
  for_each_json_line(path, [&](const nlohmann::json& line) {
    if (line.contains("conditions")) ++runs;
    if (line.contains("conditions") || line.contains("error")) return;
    JsonObject object(line);
    const JsonValue request = object.at("case");
    MeasuredCase one{scenarios::case_from_json(request.json()),
                     object.number("time_us", 0),
                     {},
                     request.json().dump(),
                     path.string() + " " + std::to_string(runs)};
    for (const JsonValue& repeat : object.list_or_empty("repeats_us")) one.repeats_us.push_back(repeat.number(0));
    // A run that also records kernels writes each case twice: the times first, everything later.
    const auto [known, is_new] = position.try_emplace(one.text, measured.size());
    if (is_new)
      measured.push_back(std::move(one));
    else
      measured[known->second] = std::move(one);
  });
  return measured;
}

std::vector<MeasuredCase> read_measurements(const std::vector<std::string>& paths) {
  std::vector<MeasuredCase> measured;
  for (const std::string& path : paths)
    for (MeasuredCase& one : read_measurements(std::filesystem::path(path))) measured.push_back(std::move(one));
  if (measured.empty()) throw InputError(paths.front(), "expected a measured case, got none");
  return measured;
}

std::vector<scenarios::Case> read_cases(const std::filesystem::path& path) {
  std::vector<scenarios::Case> cases;
  for_each_json_line(path, [&](const nlohmann::json& line) { cases.push_back(scenarios::case_from_json(line)); });
  return cases;
}

std::string lines_of(const std::vector<scenarios::Case>& cases) {
  std::string lines;
  for (const scenarios::Case& one : cases) lines += scenarios::to_json(one).dump() + "\n";
  return lines;
}

}  // namespace weft::calibration::evidence
