#include "calibration/device/kernel_checks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace weft::calibration::device {
namespace {

/// Of the grouped GEMM that writes all of `result`; empty where there is none.
std::vector<std::int64_t> groups_of(const Schedule& schedule, BufferId result) {
  std::vector<std::int64_t> group_rows;
  for (const Operation& operation : schedule.operations)
    match(
        operation.work,
        [&](const GroupedGemm& gemm) {
          if (gemm.c.buffer == result) group_rows = gemm.group_rows;
        },
        [](const OneOf<Gemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                       Signal, Wait, Barrier, Delay> auto&) {});
  return group_rows;
}

}  // namespace

// --- Grouped GEMMs -----------------------------------------------------------------------------------------------

GroupedGemmCheck::GroupedGemmCheck(const Program& program, const Meaning& meaning, const RankView& ranks,
                                   Resources& resources)
    : SampledResult(program, meaning, ranks, resources), group_rows_(groups_of(schedule(), meaning.result)) {}

bool GroupedGemmCheck::is_consistent() const {
  const Buffer &a = buffer(meaning().a), &b = buffer(meaning().b);
  std::int64_t in_groups = 0;
  for (const std::int64_t of_group : group_rows_) in_groups += of_group;
  return in_groups == rows() && a.rows == rows() && a.columns == b.columns &&
         b.rows == columns() * static_cast<std::int64_t>(group_rows_.size());
}

void GroupedGemmCheck::fill_inputs() const {
  fill(meaning().a);
  fill(meaning().b);
}

std::vector<std::int64_t> GroupedGemmCheck::rows_at_edges() const {
  std::vector<std::int64_t> edges;
  std::int64_t first = 0;
  for (const std::int64_t of_group : group_rows_) {
    if (of_group > 0) edges.insert(edges.end(), {first, first + of_group - 1});
    first += of_group;
  }
  return edges;
}

void GroupedGemmCheck::add_reference() {
  const std::int64_t inner = buffer(meaning().a).columns;
  rows_scratch_ = allocate<std::uint16_t>(slots() * inner);
  weights_scratch_ = allocate<std::uint16_t>(columns() * inner);
  std::int64_t first = 0;
  for (std::size_t group = 0; group < group_rows_.size(); ++group) {
    add_group(static_cast<std::int64_t>(group), first, group_rows_[group]);
    first += group_rows_[group];
  }
}

void GroupedGemmCheck::add_group(std::int64_t group, std::int64_t first_row, std::int64_t rows) {
  const std::int64_t inner = buffer(meaning().a).columns, weights = columns() * inner;
  std::vector<std::int32_t> slot_of;
  for (std::size_t slot = 0; slot < sampled().size(); ++slot) {
    const std::int64_t row = sampled()[slot];
    if (row < first_row || row >= first_row + rows) continue;
    make_again(rows_scratch_ + static_cast<std::int64_t>(slot_of.size()) * inner, meaning().a, rank(), row * inner,
               inner);
    slot_of.push_back(static_cast<std::int32_t>(slot));
  }
  if (slot_of.empty()) return;
  make_again(weights_scratch_, meaning().b, rank(), group * weights, weights);
  add_reference_rows(sums(), columns(), rows_scratch_, upload(slot_of), static_cast<std::int64_t>(slot_of.size()),
                     inner, weights_scratch_, stream());
}

ErrorBound GroupedGemmCheck::bound() const {
  return {static_cast<float>(bf16_rounding), static_cast<float>(error_of_product(buffer(meaning().a).columns))};
}

// --- Memory-bound kernels ----------------------------------------------------------------------------------------

bool MemoryKernelCheck::is_consistent() const {
  const Buffer &a = buffer(meaning().a), &b = buffer(meaning().b);
  if (kernel_ == MemoryKernel::top_k) return a.rows == rows() && columns() <= a.columns;
  if (a.columns != columns()) return false;
  if (kernel_ == MemoryKernel::gather) return rows() % a.rows == 0;
  return kernel_ == MemoryKernel::weighted_sum && b.rows == rows() && a.rows == rows() * b.columns;
}

void MemoryKernelCheck::fill_inputs() const {
  fill(meaning().a);
  if (kernel_ == MemoryKernel::weighted_sum) fill(meaning().b);
}

std::vector<float> MemoryKernelCheck::input_row(BufferId id, std::int64_t row) {
  const std::int64_t columns = buffer(id).columns;
  return values_again(id, rank(), row * columns, columns);
}

MemoryKernelCheck::Row MemoryKernelCheck::row_again(std::int64_t row) {
  if (kernel_ == MemoryKernel::top_k) return largest(row);
  if (kernel_ == MemoryKernel::weighted_sum) return weighted_sum(row);
  const std::vector<float> moved = input_row(meaning().a, row % buffer(meaning().a).rows);
  return {moved, moved};
}

MemoryKernelCheck::Row MemoryKernelCheck::largest(std::int64_t row) {
  std::vector<float> values = input_row(meaning().a, row);
  std::ranges::sort(values, std::greater<>{});
  values.resize(static_cast<std::size_t>(columns()));
  return {values, values};
}

MemoryKernelCheck::Row MemoryKernelCheck::weighted_sum(std::int64_t row) {
  const std::vector<float> weights = input_row(meaning().b, row);
  const auto count = static_cast<std::size_t>(columns());
  Row total{std::vector<float>(count), std::vector<float>(count)};
  for (std::size_t block = 0; block < weights.size(); ++block) {
    const std::vector<float> values = input_row(meaning().a, static_cast<std::int64_t>(block) * rows() + row);
    for (std::size_t column = 0; column < count; ++column) {
      const float summand = weights[block] * values[column];
      total.sum[column] += summand;
      total.magnitude[column] += std::abs(summand);
    }
  }
  return total;
}

void MemoryKernelCheck::add_reference() {
  Row all;
  for (const std::int64_t row : sampled()) {
    const Row one = row_again(row);
    all.sum.insert(all.sum.end(), one.sum.begin(), one.sum.end());
    all.magnitude.insert(all.magnitude.end(), one.magnitude.begin(), one.magnitude.end());
  }
  set_sums(all.sum, all.magnitude);
}

/// What is only moved must be equal. A sum is rounded once, and each of its steps in fp32.
ErrorBound MemoryKernelCheck::bound() const {
  if (kernel_ != MemoryKernel::weighted_sum) return {};
  const auto summands = static_cast<double>(buffer(meaning().b).columns);
  return {static_cast<float>(bf16_rounding + summands * 0x1p-22), 0};
}

}  // namespace weft::calibration::device
