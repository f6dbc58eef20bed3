#include "calibration/evidence/json_lines.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/gzip_file.hpp"
#include "models/base/json_file.hpp"
#include "models/base/line_reader.hpp"
#include "models/base/names.hpp"

namespace weft::calibration::evidence {

std::unique_ptr<std::istream> open_lines(const std::filesystem::path& path, const std::string& contents) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file || std::filesystem::is_directory(path))
    throw InputError(path.string(), "expected a readable file of " + contents);
  if (!is_compressed(path)) return file;
  return std::make_unique<std::istringstream>(read_gzip_file(path, contents));
}

void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const nlohmann::json& line, int number)>& read) {
  const std::unique_ptr<std::istream> file = open_lines(path, "JSON lines");
  LineReader lines(*file);
  int number = 1;
  for (std::vector<std::string> next; !(next = lines.next(1)).empty(); ++number) {
    const std::string& line = next.front();
    const std::string where = path.string() + ": line " + std::to_string(number);
    try {
      if (line.find_first_not_of(" \t\r") != std::string::npos) read(parse_json(line), number);
    } catch (const InputError& error) {
      throw error.in_file(where);
    } catch (const nlohmann::json::exception&) {  // readers of what this program wrote trust it
      throw InputError(where, "expected a line that weft wrote, got another one");
    }
  }
}

}  // namespace weft::calibration::evidence
