#include "calibration/evidence/library_questions.hpp"

#include <sstream>

#include "calibration/evidence/measurement_file.hpp"
#include "models/base/input_error.hpp"
#include "models/base/line_reader.hpp"
#include "models/base/text.hpp"

namespace weft::calibration::evidence {

std::string text_of(const std::vector<MatrixSize>& questions) {
  std::string lines;
  for (const auto& [m, n, k] : questions)
    lines += std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) + "\n";
  return lines;
}

std::vector<MatrixSize> read_library_questions(const std::string& path) {
  const std::unique_ptr<std::istream> file = open_lines(path, "lines \"m n k\"");
  std::vector<MatrixSize> sizes;
  LineReader lines(*file);
  int number = 1;
  for (std::vector<std::string> next; !(next = lines.next(1)).empty(); ++number) {
    const std::string& line = next.front();
    std::istringstream fields(line);
    MatrixSize size;
    std::string more;
    const auto is_extent = [](std::int64_t extent) { return 0 < extent && extent <= scenarios::max_extent; };
    if (!(fields >> size.m >> size.n >> size.k) || fields >> more || !is_extent(size.m) || !is_extent(size.n) ||
        !is_extent(size.k))
      throw InputError(
          path, "line " + std::to_string(number) + ": expected three sizes m n k, got \"" + shown_name(line) + "\"");
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace weft::calibration::evidence
