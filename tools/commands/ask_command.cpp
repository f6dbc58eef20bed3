// weft ask: which kernels the GEMM library of this machine would take, without running any.
#include <iostream>
#include <memory>
#include <sstream>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/gemm_choices.hpp"
#include "calibration/hardware.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "scenarios/workload.hpp"
#include "tools/commands/commands.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  std::string questions, out;
};

std::vector<MatrixSize> read_questions(const std::string& path) {
  std::ifstream file = evidence::open_lines(path, "lines \"m n k\"");
  std::vector<MatrixSize> sizes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream fields(line);
    MatrixSize size;
    std::string more;
    const auto is_extent = [](std::int64_t extent) { return 0 < extent && extent <= scenarios::max_extent; };
    if (!(fields >> size.m >> size.n >> size.k) || fields >> more || !is_extent(size.m) || !is_extent(size.n) ||
        !is_extent(size.k))
      throw InputError(path, "line " + std::to_string(number) + ": expected three sizes m n k, got \"" + line + "\"");
    sizes.push_back(size);
  }
  return sizes;
}

void run(const Options& options) {
  const std::vector<MatrixSize> sizes = read_questions(options.questions);
  require_writable(options.out);
  calibration::require_device_part();
  std::string lines;
  std::size_t kernels = 0;
  for (const calibration::LibraryAnswer& answer : calibration::ask_library(sizes)) {
    lines += answer.raw + "\n";
    if (answer.choice) ++kernels;
  }
  write_text_file(options.out, lines);
  std::cout << options.out << ": " << sizes.size() << " GEMMs, a kernel for " << kernels << "\n";
}

}  // namespace

void add_ask_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("ask", "Ask the GEMM library of this machine which kernels it would take");
  auto options = std::make_shared<Options>();
  command->add_option("QUESTIONS", options->questions, "Lines \"m n k\", as weft plan writes them")->required();
  command->add_option("--out", options->out, "Answers (JSON lines), as weft calibrate --library-answers reads them")
      ->required();
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
