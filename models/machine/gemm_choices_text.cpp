#include "models/machine/gemm_choices_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/schedule/kernel_sizes.hpp"

namespace weft {
namespace {

using Kernel = GemmTable::Kernel;
using Shape = GemmTable::Shape;

constexpr std::string_view format = "weft.gemm_kernels/2", format_of_whole_numbers = "weft.gemm_kernels/1";
constexpr std::string_view columns = "m,n,k,tile_m,tile_n,tile_k,cluster_m,cluster_n,stages,split_k";

/// Takes a line apart from left to right.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  bool is_done() const { return rest_.empty(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// A positive integer below 2^31.
  bool take(std::int32_t& number) {
    const auto [stopped, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc{} || number < 1) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stopped - rest_.data()));
    return true;
  }
  bool take_behind(std::string_view word, std::int32_t& number) { return take(word) && take(number); }

 private:
  std::string_view rest_;
};

class TextReader {
 public:
  explicit TextReader(std::string_view text) : rest_(text) {}

  GemmChoices read() && {
    const std::string_view title = next_line();
    if (title != format && title != format_of_whole_numbers && title != columns) fail('"' + std::string(format) + '"');
    has_steps_ = title == format;
    for (std::string_view line = next_line(); !line.empty(); line = next_line())
      title == columns ? read_columns(Line(line)) : read_line(Line(line));
    require_one_answer_each();
    return GemmChoices(std::move(kernels_), std::move(shapes_));
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError("line " + std::to_string(number_), "expected " + expected);
  }

  /// The next one that says something; empty at the end.
  std::string_view next_line() {
    while (!rest_.empty()) {
      const std::string_view line = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
      ++number_;
      if (!line.empty() && line[0] != '#') return line;
    }
    return {};
  }

  void read_line(Line line) { line.take("kernel ") ? read_kernel(line) : read_shapes(line); }

  void read_kernel(Line line) {
    Kernel kernel{};
    if (!line.take(kernel.tile_m) || !line.take_behind("x", kernel.tile_n) || !line.take_behind("x", kernel.tile_k) ||
        !line.take_behind(" ", kernel.cluster_m) || !line.take_behind("x", kernel.cluster_n) ||
        !line.take_behind(" ", kernel.stages) || !line.take_behind(" ", kernel.split_k) || !line.is_done())
      fail("\"kernel TILE_MxTILE_NxTILE_K CLUSTER_MxCLUSTER_N STAGES SPLIT_K\" of positive integers");
    kernel_ = position_of(kernel);
    n_ = 0;
  }

  /// The next number of a list after `number`.
  bool advance(Line& line, std::int32_t& number) const {
    std::int32_t read = 0;
    if (!line.take(read) || (has_steps_ && read > std::numeric_limits<std::int32_t>::max() - number)) return false;
    number = has_steps_ ? number + read : read;
    return true;
  }

  void read_shapes(Line line) {
    if (kernels_.empty()) fail("a line \"kernel …\" before the first shape");
    bool is_good = advance(line, n_) && !line.is_done();
    Shape shape{.m = 0, .n = n_, .k = 0, .kernel = kernel_};
    while (is_good && !line.is_done()) {
      shape.k = 0;
      is_good = line.take(" ") && advance(line, shape.m) && line.take(":") && advance(line, shape.k);
      shapes_.push_back(shape);
      for (; is_good && line.take(","); shapes_.push_back(shape)) is_good = advance(line, shape.k);
    }
    if (!is_good) fail("\"N M:K,K M:K …\" of positive integers below 2^31");
  }

  void read_columns(Line line) {
    Shape shape{};
    Kernel kernel{};
    bool is_good = line.take(shape.m);
    for (std::int32_t* number : {&shape.n, &shape.k, &kernel.tile_m, &kernel.tile_n, &kernel.tile_k, &kernel.cluster_m,
                                 &kernel.cluster_n, &kernel.stages, &kernel.split_k})
      is_good = is_good && line.take_behind(",", *number);
    if (!is_good || !line.is_done()) fail("ten positive integers");
    shape.kernel = position_of(kernel);
    shapes_.push_back(shape);
  }

  std::uint16_t position_of(const Kernel& kernel) {
    if (const auto size = impossible_size({kernel.tile_m, kernel.tile_n, kernel.tile_k, kernel.cluster_m,
                                           kernel.cluster_n, kernel.stages, kernel.split_k}))
      fail("a " + std::string(size->key) + " of 1 to " + std::to_string(size->most));
    const auto [known, is_new] = positions_.try_emplace(kernel, static_cast<std::uint16_t>(kernels_.size()));
    if (is_new) kernels_.push_back(kernel);
    if (kernels_.size() > most_kernels) fail("at most " + std::to_string(most_kernels) + " different kernels");
    return known->second;
  }

  void require_one_answer_each() {
    const auto key = [](const Shape& shape) { return std::tuple(shape.m, shape.n, shape.k); };
    std::sort(shapes_.begin(), shapes_.end(), [&](const Shape& a, const Shape& b) { return key(a) < key(b); });
    const auto twice = std::adjacent_find(shapes_.begin(), shapes_.end(),
                                          [&](const Shape& a, const Shape& b) { return key(a) == key(b); });
    if (twice != shapes_.end())
      throw InputError(
          "m = " + std::to_string(twice->m) + ", n = " + std::to_string(twice->n) + ", k = " + std::to_string(twice->k),
          "expected one kernel for each shape, got two");
  }

  std::string_view rest_;
  int number_ = 0;            ///< of the line that was read last
  bool has_steps_ = false;    ///< from number to number, and not the numbers themselves
  std::uint16_t kernel_ = 0;  ///< position of the kernel whose shapes follow
  std::int32_t n_ = 0;        ///< of its last line
  std::vector<Kernel> kernels_;
  std::map<Kernel, std::uint16_t> positions_;
  std::vector<Shape> shapes_;
};

std::string heading_of(const Kernel& kernel) {
  const auto text = [](std::int32_t number) { return std::to_string(number); };
  return "kernel " + text(kernel.tile_m) + "x" + text(kernel.tile_n) + "x" + text(kernel.tile_k) + " " +
         text(kernel.cluster_m) + "x" + text(kernel.cluster_n) + " " + text(kernel.stages) + " " + text(kernel.split_k);
}

}  // namespace

GemmChoices gemm_choices_from_text(std::string_view text) { return TextReader(text).read(); }

std::string to_text(const GemmChoices& choices) {
  const auto& kernels = choices.table().kernels;
  std::vector<Shape> shapes = choices.shapes();
  std::sort(shapes.begin(), shapes.end(), [&](const Shape& a, const Shape& b) {
    return std::tie(kernels[a.kernel], a.n, a.m, a.k) < std::tie(kernels[b.kernel], b.n, b.m, b.k);
  });
  std::string text(format);
  text +=
      "\n# kernel TILE_MxTILE_NxTILE_K CLUSTER_MxCLUSTER_N STAGES SPLIT_K, then its shapes: N M:K,K M:K, each by so "
      "much "
      "larger than the one before it\n";
  const Shape* before = nullptr;
  for (const Shape& shape : shapes) {
    const bool is_new_kernel = before == nullptr || kernels[before->kernel] != kernels[shape.kernel];
    const bool is_new_line = is_new_kernel || before->n != shape.n;
    if (before != nullptr && is_new_line) text += '\n';
    if (is_new_kernel) text += heading_of(kernels[shape.kernel]) + '\n';
    if (is_new_line) text += std::to_string(shape.n - (is_new_kernel ? 0 : before->n));
    const bool is_new_m = is_new_line || before->m != shape.m;
    text += is_new_m ? ' ' + std::to_string(shape.m - (is_new_line ? 0 : before->m)) + ':' : ",";
    text += std::to_string(shape.k - (is_new_m ? 0 : before->k));
    before = &shape;
  }
  return shapes.empty() ? text : text + '\n';
}

}  // namespace weft
