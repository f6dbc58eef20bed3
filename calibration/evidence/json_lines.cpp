#include "calibration/evidence/json_lines.hpp"

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/json_file.hpp"
#include "models/base/line_reader.hpp"
#include "models/base/names.hpp"

namespace weft::calibration::evidence {
namespace {

/// Throws std::ios_base::failure for what is not a whole gzip file.
std::string decompressed(std::istream& file) {
  boost::iostreams::filtering_istreambuf bytes;
  bytes.push(boost::iostreams::gzip_decompressor());
  bytes.push(file);
  return {std::istreambuf_iterator<char>(&bytes), {}};
}

}  // namespace

bool is_compressed(const std::filesystem::path& path) { return path.extension() == ".gz"; }

std::unique_ptr<std::istream> open_lines(const std::filesystem::path& path, const std::string& contents) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file || std::filesystem::is_directory(path))
    throw InputError(path.string(), "expected a readable file of " + contents);
  if (!is_compressed(path)) return file;
  try {
    return std::make_unique<std::istringstream>(decompressed(*file));
  } catch (const std::ios_base::failure&) {
    throw InputError(path.string(), "expected " + contents + " in a whole gzip file");
  }
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
