// weft ask: which kernels the GEMM library of this machine would take, without running any.
#include <iostream>

#include "calibration/evidence/library_questions.hpp"
#include "calibration/gemm_choices.hpp"
#include "models/base/text_file.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct AskOptions {
  std::string questions, out, dtype{name_of(DataType::bf16)};
};

void run_ask(const AskOptions& options) {
  const std::vector<MatrixSize> sizes = evidence::read_library_questions(options.questions);
  const auto factors = from_name<DataType>(options.dtype, "--dtype");
  require_writable(options.out);
  std::string lines;
  std::size_t kernels = 0;
  for (const calibration::LibraryAnswer& answer : calibration::ask_library(sizes, factors)) {
    lines += answer.raw + "\n";
    if (answer.choice) ++kernels;
  }
  write_text_file(options.out, lines);
  std::cout << options.out << ": " << sizes.size() << " GEMMs, a kernel for " << kernels << "\n";
}

}  // namespace

void add_ask_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "ask", "Ask the GEMM library of this machine which kernels it would take", run_ask);
  reads(command.add_option("QUESTIONS", options.questions, "Lines \"m n k\", as weft plan writes them"))->required();
  writes(
      command.add_option("--out", options.out, "Answers (JSON lines), as weft calibrate --library-answers reads them"))
      ->required();
  command.add_option("--dtype", options.dtype, "Type of both factors; weft calibrate reads answers of bf16")
      ->check(CLI::IsMember({name_of(DataType::bf16), name_of(DataType::fp8)}))
      ->capture_default_str();
}

}  // namespace weft::tools::commands
