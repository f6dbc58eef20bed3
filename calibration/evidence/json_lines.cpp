#include "calibration/evidence/json_lines.hpp"

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "models/base/names.hpp"

namespace weft::calibration::evidence {

std::ifstream open_lines(const std::filesystem::path& path, const std::string& contents) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw InputError(path.string(), "expected a readable file of " + contents);
  return file;
}

void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const nlohmann::json& line, int number)>& read) {
  std::ifstream file = open_lines(path, "JSON lines");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = path.string() + ": line " + std::to_string(number);
    try {
      if (line.find_first_not_of(" \t\r") != std::string::npos) read(parse_json(line), number);
    } catch (const InputError& error) {
      throw error.in_file(where);
    } catch (const nlohmann::json::exception& error) {  // readers of what this program wrote trust it
      throw InputError(where, std::string("expected a line that weft wrote: ") + error.what());
    }
  }
}

}  // namespace weft::calibration::evidence
