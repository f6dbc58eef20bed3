// Whatever bytes a file holds, its reader takes them or says in an InputError what it expected. No other exception, no
// crash, no hang: noise, files that end early, flipped bits, pieces that are missing or stand twice, wrong values.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>
#include <sstream>

#include "calibration/evidence/calibration_input.hpp"
#include "calibration/evidence/claims.hpp"
#include "calibration/evidence/json_lines.hpp"
#include "calibration/evidence/kernel_file.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "calibration/evidence/published_curves.hpp"
#include "models/base/input_error.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/trace_json.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/model_config.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/study/prediction_lines.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/compressed.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::tests {
namespace any_bytes_test {

namespace fs = std::filesystem;

constexpr int mutants_of_each = 250;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What is made of a file: the same in every run.
class Mutation {
 public:
  explicit Mutation(std::string whole) : whole_(std::move(whole)) {}

  std::string next() {
    switch (below(5)) {
      case 0:
        return noise();
      case 1:
        return whole_.substr(0, below(whole_.size()));
      case 2:
        return with_flipped_bits();
      case 3:
        return with_moved_piece();
      default:
        return with_another_value();
    }
  }

 private:
  std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

  std::string noise() {
    std::string bytes(below(400), '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }
  std::string with_flipped_bits() {
    std::string bytes = whole_;
    for (std::size_t flips = 1 + below(6); flips > 0; --flips)
      bytes[below(bytes.size())] ^= static_cast<char>(1 << below(8));
    return bytes;
  }
  /// A piece is left out, and may stand somewhere else instead.
  std::string with_moved_piece() {
    std::string bytes = whole_;
    const std::size_t begin = below(bytes.size());
    const std::string piece = bytes.substr(begin, 1 + below(80));
    bytes.erase(begin, piece.size());
    return below(2) == 0 ? bytes : bytes.insert(below(bytes.size() + 1), piece);
  }
  /// One of the numbers and words becomes something else; the file stays well-formed more often than not.
  std::string with_another_value() {
    static const std::vector<std::string> values{"0",     "-1",   "0.5",      "1e308",          "9007199254740991",
                                                 "1e999", "null", "true",     "4294967296",     "18446744073709551616",
                                                 "[]",    "{}",   "\"\"",     "\"\\u0000/..\"", "[[0, 1], {\"a\": []}]",
                                                 "7",     "64",   "\"gemm\"", "2147483647",     "-9223372036854775808"};
    const std::string of_words = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_+-.\"";
    std::size_t begin = whole_.find_first_of(of_words, below(whole_.size()));
    if (begin == std::string::npos) begin = 0;
    const std::size_t end = std::min(whole_.find_first_not_of(of_words, begin), whole_.size());
    return whole_.substr(0, begin) + values[below(values.size())] + whole_.substr(end);
  }

  std::string whole_;
  std::mt19937_64 random_{20261122};
};

struct Reader {
  std::string name;
  std::string whole;  ///< what it takes
  std::function<void(const fs::path&)> read;

  friend std::ostream& operator<<(std::ostream& out, const Reader& reader) { return out << reader.name; }
};

/// A file of the tree, or so many of its lines.
std::string file(const std::string& path, int lines = 1000) {
  const auto all = calibration::evidence::open_lines(fs::path(source_folder()) / path, "lines");
  std::string text, line;
  for (; lines > 0 && std::getline(*all, line); --lines) text += line + "\n";
  return text;
}

const Machine& small_machine() {
  static const Machine machine = read_machine(fs::path(source_folder()) / "tests/sim/test_machine.json");
  return machine;
}

void answer_lines(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  sim::SimulatedExecutor executor;
  scenarios::study::predict_lines(in, out, small_machine(), executor);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

const std::string library_answer = R"({"m": 4096, "n": 8192, "k": 2048, "tile_m": 128, "tile_n": 256, "tile_k": 64, )"
                                   R"("stages": 4, "split_k": 1, "cluster_m": 1, "cluster_n": 2, "waves": 3.9})";

std::vector<Reader> readers() {
  using namespace calibration::evidence;
  return {
      {"profile", file("calibration/machines/mi300x8-mesh.json"), [](const fs::path& path) { read_machine(path); }},
      {"cases", file("calibration/measurements/validation-cases/cases_2gpu.jsonl.gz", 20),
       [](const fs::path& path) { read_cases(path); }},
      {"lines_to_predict", file("calibration/measurements/validation-cases/cases_2gpu.jsonl.gz", 4), answer_lines},
      {"scenario", file("scenarios/gemm_reduce_scatter.json"),
       [](const fs::path& path) { scenarios::read_scenario(path); }},
      {"attention_scenario", file("scenarios/distributed_attention.json"),
       [](const fs::path& path) { scenarios::read_scenario(path); }},
      {"model", file("scenarios/models/llama-3.3-70b.config.json"),
       [](const fs::path& path) { scenarios::read_model_config(path); }},
      {"schedule", file("tests/schedules/flashoverlap_gemm_reduce_scatter.json"),
       [](const fs::path& path) { read_schedule(path); }},
      {"schedule_of_copies", file("tests/schedules/ficco_uniform_fused_2d.json"),
       [](const fs::path& path) { read_schedule(path); }},
      {"measurements", file("calibration/measurements/rulers-2026-11-21/weft.jsonl"),
       [](const fs::path& path) { read_measurements_and_kernels(path); }},
      {"kernels", file("calibration/measurements/h200x4-2026-11-21/pairs_2gpu.kernels.gz", 12),
       [](const fs::path& path) { read_kernel_file(path); }},
      {"compressed_kernels", compressed(file("calibration/measurements/h200x4-2026-11-21/pairs_2gpu.kernels.gz", 12)),
       [](const fs::path& path) {
         fs::rename(path, path.string() + ".gz");
         read_kernel_file(path.string() + ".gz");
       }},
      {"library_answers", library_answer,
       [](const fs::path& path) { read_library_answers(path, small_machine().gpu); }},
      {"gemm_table", file("tests/sim/test_machine.gemm_kernels.txt"),
       [](const fs::path& path) { read_gemm_choices(path); }},
      {"gemm_table_as_csv", file("tests/models/machine/gemm_kernels.csv", 40),
       [](const fs::path& path) { read_gemm_choices(path); }},
      {"trace", file("tests/tools/inputs/predicted.json"), [](const fs::path& path) { read_trace(path); }},
      {"claims", file("scenarios/published/magiattention.json"), [](const fs::path& path) { read_claims(path); }},
      {"published_curves", file("calibration/published/mi300x8-mesh.csv"),
       [](const fs::path& path) { published_curves({}, path); }},
  };
}

class AnyBytes : public testing::TestWithParam<Reader> {
 protected:
  /// What comes of reading these bytes that is not an InputError of one line.
  std::string wrong_end_of(const std::string& bytes) const {
    folder.write("file.json", bytes);
    try {
      GetParam().read(folder.path() / "file.json");
    } catch (const InputError& refusal) {
      return std::string_view(refusal.what()).find('\n') == std::string_view::npos ? "" : refusal.what();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

TEST_P(AnyBytes, AreReadOrRefused) {
  const std::string whole = GetParam().whole;
  folder.write("file.json", whole);
  EXPECT_NO_THROW(GetParam().read(folder.path() / "file.json"));
  Mutation mutation(whole);
  for (int i = 0; i < mutants_of_each; ++i) {
    const std::string bytes = mutation.next();
    EXPECT_EQ(wrong_end_of(bytes), "") << bytes;
  }
}

TEST_P(AnyBytes, OfNothingButBracketsAreRefused) {
  for (const std::string bracket : {"[", "{\"a\":", "[{\"a\":"}) {
    std::string bytes;
    for (int i = 0; i < 20'000; ++i) bytes += bracket;
    EXPECT_EQ(wrong_end_of(bytes), "") << bracket;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, AnyBytes, testing::ValuesIn(readers()),
                         [](const testing::TestParamInfo<Reader>& row) { return row.param.name; });

// A compiled table that is not what was compiled is passed over, and the text answers; a damaged shape is refused.
TEST(AnyBytesOfACompiledTable, AreTheTextsAnswersOrNone) {
  const TemporaryFolder folder;
  setenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str(), 1);
  folder.write("a.gemm_kernels.txt", "weft.gemm_kernels/1\nkernel 64x128x64 1x1 4 1\n512 256:1024 512:64\n#" +
                                         std::string(300'000, '-') + "\n");
  const fs::path table = folder.path() / "a.gemm_kernels.txt", compiled = folder.path() / "a.gemm_kernels.bin";
  compile_gemm_choices(table, compiled);
  const std::string expected = to_text(read_gemm_choices(table));
  Mutation mutation(text_of(compiled));
  int refused = 0;
  for (int i = 0; i < mutants_of_each; ++i) {
    const std::string bytes = mutation.next();
    folder.write("a.gemm_kernels.bin", bytes);
    try {
      EXPECT_EQ(to_text(read_gemm_choices(table)), expected) << testing::PrintToString(bytes);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, mutants_of_each);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace any_bytes_test
}  // namespace weft::tests
