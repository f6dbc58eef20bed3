#include "calibration/device/layer_kernel_checks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "models/base/e4m3.hpp"
#include "models/schedule/layout.hpp"

namespace weft::calibration::device {
namespace {

constexpr float epsilon_of_norm = 1e-6F;
/// Of norms and activations that compute in fp32, with at most 80 additions one after the other (2^-24 each), an
/// exponential, a root or a quotient of a few 2^-23, relative.
constexpr double error_of_fp32 = 0x1p-16;

std::vector<float> normed(std::vector<float> row) {
  double squares = 0;
  for (const float value : row) squares += static_cast<double>(value) * value;
  const double factor = 1 / std::sqrt(squares / static_cast<double>(row.size()) + epsilon_of_norm);
  for (float& value : row) value = static_cast<float>(value * factor);
  return row;
}

std::vector<float> activated(const std::vector<float>& gate_up) {
  std::vector<float> row(gate_up.size() / 2);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double gate = gate_up[i], up = gate_up[i + row.size()];
    row[i] = static_cast<float>(gate / (1 + std::exp(-gate)) * up);
  }
  return row;
}

}  // namespace

bool LayerKernelCheck::knows(MemoryKernel kernel) {
  using enum MemoryKernel;
  return kernel == quantize || kernel == rms_norm || kernel == add_rms_norm || kernel == swiglu;
}

bool LayerKernelCheck::is_consistent() const {
  const Buffer &a = buffer(meaning().a), &b = buffer(meaning().b);
  const std::int64_t columns_of_a = kernel_ == MemoryKernel::swiglu ? 2 * columns() : columns();
  const Layout& stored = a.layout;
  if (stored.kind != LayoutKind::row_major) return stored.rows == rows() && stored.columns == columns_of_a;
  const bool fits = a.rows == rows() && a.columns == columns_of_a;
  if (kernel_ == MemoryKernel::quantize) return fits && is_fp8();
  return fits && (kernel_ != MemoryKernel::add_rms_norm || (b.rows == rows() && b.columns == columns()));
}

/// What is quantized reaches beyond fp8's largest number, 448, and below its least normal one, 2^-6. Others are near 1.
Spread LayerKernelCheck::spread() const { return {.deviation = kernel_ == MemoryKernel::quantize ? 128.0F : 1.0F}; }

void LayerKernelCheck::fill_inputs() const {
  fill(meaning().a);
  if (kernel_ == MemoryKernel::add_rms_norm) fill(meaning().b);
}

std::vector<float> LayerKernelCheck::input_row(BufferId id, std::int64_t row) {
  const std::int64_t columns = buffer(id).columns;
  const Layout& layout = buffer(id).layout;
  if (layout.kind == LayoutKind::row_major) return values_again(id, rank(), row * columns, columns);
  std::vector<float> values;
  for (std::int64_t column = 0; column < layout.columns; column += columns) {
    const Element stored = storage_of(layout, ranks(), {row, column});
    std::ranges::copy(values_again(id, rank(), stored.row * columns, columns), std::back_inserter(values));
  }
  return values;
}

std::vector<float> LayerKernelCheck::row_again(std::int64_t row) {
  std::vector<float> values = input_row(meaning().a, row);
  if (kernel_ == MemoryKernel::swiglu) return activated(values);
  if (kernel_ == MemoryKernel::quantize) {
    std::ranges::transform(values, values.begin(), rounded_to_e4m3);
    return values;
  }
  if (kernel_ == MemoryKernel::add_rms_norm)
    std::ranges::transform(values, input_row(meaning().b, row), values.begin(), std::plus<>{});
  return normed(std::move(values));
}

void LayerKernelCheck::add_reference() {
  set_rows([this](std::int64_t row) { return row_again(row); });
}

/// Quantizing rounds once, to what the host rounds to. The others compute in fp32, and then round once.
ErrorBound LayerKernelCheck::bound() const {
  if (kernel_ == MemoryKernel::quantize) return {};
  if (!is_fp8()) return {static_cast<float>(bf16_rounding + error_of_fp32), 0};
  return {static_cast<float>(e4m3_rounding + error_of_fp32), static_cast<float>(e4m3_least_rounding)};
}

// --- The fused all-reduce ----------------------------------------------------------------------------------------

bool AllReduceNormCheck::is_consistent() const {
  const auto is_as_large = [&](const Buffer& one) { return one.rows == rows() && one.columns == columns(); };
  return is_as_large(buffer(meaning().a)) && is_as_large(buffer(meaning().b)) && rows() % ranks() == 0;
}

void AllReduceNormCheck::fill_inputs() const {
  fill(meaning().a);
  fill(meaning().b);
}

void AllReduceNormCheck::add_reference() {
  set_rows([this](std::int64_t row) {
    const int owner = static_cast<int>(row / (rows() / ranks()));
    std::vector<float> sum = values_again(meaning().b, owner, row * columns(), columns());
    for (int of = 0; of < ranks(); ++of)
      std::ranges::transform(sum, values_again(meaning().a, of, row * columns(), columns()), sum.begin(),
                             std::plus<>{});
    return normed(std::move(sum));
  });
}

/// Ranks are added up in any order: summands of a few deviations, of which little may be left.
ErrorBound AllReduceNormCheck::bound() const {
  return {static_cast<float>(bf16_rounding + error_of_fp32), static_cast<float>(ranks() * 0x1p-20)};
}

}  // namespace weft::calibration::device
