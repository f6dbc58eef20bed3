#include "calibration/evidence/json_lines.hpp"

#include <algorithm>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/json_file.hpp"
#include "models/base/line_reader.hpp"
#include "models/base/names.hpp"
#include "models/base/text_file.hpp"

namespace weft::calibration::evidence {
namespace {

/// At least one byte more than may be read where the file holds more. Throws std::ios_base::failure for what is not a
/// whole gzip file.
std::string decompressed(std::istream& file) {
  constexpr std::size_t bytes_at_once = 1 << 20;
  boost::iostreams::filtering_istreambuf bytes;
  bytes.push(boost::iostreams::gzip_decompressor());
  bytes.push(file);
  std::string text;
  for (std::streamsize got = 1; got > 0 && text.size() <= most_bytes_read;) {
    const std::size_t before = text.size();
    text.resize(before + bytes_at_once);
    got = std::max<std::streamsize>(bytes.sgetn(text.data() + before, bytes_at_once), 0);
    text.resize(before + static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

bool is_compressed(const std::filesystem::path& path) { return path.extension() == ".gz"; }

std::unique_ptr<std::istream> open_lines(const std::filesystem::path& path, const std::string& contents) {
  auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*file || std::filesystem::is_directory(path))
    throw InputError(path.string(), "expected a readable file of " + contents);
  if (!is_compressed(path)) return file;
  try {
    std::string text = decompressed(*file);
    if (text.size() > most_bytes_read)  // a few KB can become as much as one likes
      throw InputError(path.string(), "expected at most " + std::to_string(most_bytes_read >> 20) + " MB of " +
                                          contents + ", got more");
    return std::make_unique<std::istringstream>(std::move(text));
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
