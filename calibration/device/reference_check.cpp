#include "calibration/device/reference_check.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "calibration/device/attention_check.hpp"
#include "calibration/device/kernel_checks.hpp"
#include "calibration/device/layer_check.hpp"
#include "calibration/device/layer_kernel_checks.hpp"
#include "calibration/device/sampled_result.hpp"
#include "calibration/device/schedule_error.hpp"
#include "models/schedule/row_order.hpp"

namespace weft::calibration::device {
namespace {

using GemmPlace = ResultForm::GemmPlace;

/// Of a product, a collective, or both.
class ReferenceCheck : public SampledResult {
 public:
  ReferenceCheck(const Program& program, const Meaning& meaning, const ResultForm& form, const RankView& ranks,
                 Resources& resources)
      : SampledResult(program, meaning, ranks, resources),
        form_(form),
        order_{form.collective,
               meaning.rows_of_rank.empty() ? full_rows() : meaning.m,
               meaning.chunks,
               ranks.ranks(),
               meaning.own_rows_first,
               meaning.rows_of_rank,
               !meaning.rows_of_rank.empty() && form.gemm == GemmPlace::after} {}

  bool is_consistent() const override {
    const Buffer &a = buffer(meaning().a), &b = buffer(meaning().b);
    const bool sizes_fit =
        form_.gemm == GemmPlace::none ? a.columns == columns() : a.columns == b.columns && b.rows == columns();
    return sizes_fit && meaning().chunks > 0 && order_.divides() && stored_rows() == needed_rows();
  }
  bool has_gemm() const { return form_.gemm != GemmPlace::none; }

  void fill_inputs() const override {
    fill(meaning().a);
    if (has_gemm()) fill(meaning().b);
  }

 protected:
  /// Where a row of the result comes from: rows whose sum it is, in the order of the ranks.
  virtual std::vector<RowSource> sources(std::int64_t row) const { return order_.sources(rank(), row); }
  /// Of the result's buffer.
  virtual std::int64_t needed_rows() const { return order_.receivers_differ ? most_rows() : order_.result_rows(); }
  std::int64_t rows() const override { return order_.result_rows_of(rank()); }
  /// Of the ranks where they differ.
  std::int64_t most_rows() const { return *std::ranges::max_element(meaning().rows_of_rank); }

 private:
  void add_reference() override {
    for (int source = 0; source < ranks(); ++source) add_contributions(source);
  }

  /// The collective's m: its input has all rows, except where it gathers them.
  std::int64_t full_rows() const {
    const std::int64_t rows = buffer(meaning().a).rows;
    return form_.collective == CollectiveKind::all_gather ? rows * ranks() : rows;
  }

  /// Adds what rank `source` contributes to the sampled rows.
  void add_contributions(int source) {
    std::vector<std::int32_t> slot_of;
    std::vector<std::int64_t> source_rows;
    for (std::size_t slot = 0; slot < sampled().size(); ++slot)
      for (const RowSource& row : sources(sampled()[slot]))
        if (row.rank == source) {
          slot_of.push_back(static_cast<std::int32_t>(slot));
          source_rows.push_back(row.row);
        }
    if (slot_of.empty()) return;
    const std::int64_t inner = buffer(meaning().a).columns;
    auto* rows = scratch(rows_scratch_, slots() * inner);
    for (std::size_t i = 0; i < source_rows.size(); ++i)
      make_again(rows + static_cast<std::int64_t>(i) * inner, meaning().a, source, source_rows[i] * inner, inner);
    add_reference_rows(sums(), columns(), rows, upload(slot_of), static_cast<std::int64_t>(slot_of.size()), inner,
                       factor(source), stream());
  }

  /// B as the GEMM that saw rank `source`'s rows had it.
  const void* factor(int source) {
    if (form_.gemm == GemmPlace::none) return nullptr;
    const Buffer& b = buffer(meaning().b);
    auto* data = scratch(factor_scratch_, b.rows * b.columns);
    make_again(data, meaning().b, form_.gemm == GemmPlace::before ? source : rank(), 0, b.rows * b.columns);
    return data;
  }

  std::uint16_t* scratch(std::uint16_t*& kept, std::int64_t count) {
    if (kept == nullptr) kept = allocate<std::uint16_t>(count);
    return kept;
  }

  /// Null where the operation adds to nothing that is stored.
  static const Slice* accumulated_into(const Work& work) {
    return match(
        work, [](const Gemm& gemm) { return gemm.addend == gemm.c ? &gemm.c : nullptr; },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Signal, Wait, Barrier, Delay> auto&) -> const Slice* { return nullptr; });
  }

  /// How often a sum so far is stored on the way: once for each GEMM that adds its k slice to the same part of a
  /// buffer.
  double stored_partial_sums() const {
    std::ptrdiff_t most = 0;
    for (const Operation& operation : schedule().operations)
      if (const Slice* sum = accumulated_into(operation.work))
        most = std::max(most, std::ranges::count_if(schedule().operations, [&](const Operation& other) {
                          const Slice* also = accumulated_into(other.work);
                          return also != nullptr && *also == *sum;
                        }));
    return static_cast<double>(most);
  }

  /// fp8 is only moved, or multiplied without an error of its own (see spread()).
  /// bf16 rounds by up to 2^-8 of the value: each contribution when a GEMM stores it, and the sum so far each time a
  /// rank's or a k slice's is added. Sums on the way may be larger than what is left of them. Rows that are only moved
  /// must be equal.
  ErrorBound bound() const override {
    const bool sums =
        form_.collective == CollectiveKind::all_reduce || form_.collective == CollectiveKind::reduce_scatter;
    const double summands = sums ? ranks() : 0, products = has_gemm() ? std::max(1.0, summands) : 0;
    const double of_one_product = error_of_product(buffer(meaning().a).columns, std::max(1.0, stored_partial_sums()));
    return {static_cast<float>((summands + (has_gemm() ? 1 : 0)) * bf16_rounding),
            static_cast<float>(products * of_one_product)};
  }

  ResultForm form_;
  RowOrder order_;
  std::uint16_t *rows_scratch_ = nullptr, *factor_scratch_ = nullptr;
};

/// Of tiles from senders that differ: rows `rank`, rank + W, … of each of them, where their group's exchange puts them.
class PoolsCheck : public ReferenceCheck {
 public:
  using ReferenceCheck::ReferenceCheck;

 private:
  std::vector<RowSource> sources(std::int64_t row) const override { return {source(row)}; }
  std::int64_t needed_rows() const override { return most_rows(); }
  Element place_of(const Element& of_result) const override {
    const auto [sender, row] = source(of_result.row);
    return place_after_exchange(result().layout, meaning().rows_of_rank, sender, rank(), {row, of_result.column});
  }
  RowSource source(std::int64_t row) const {
    int sender = 0;
    for (; row >= rows_from(sender); ++sender) row -= rows_from(sender);
    return {sender, rank() + row * ranks()};
  }
  std::int64_t rows_from(int sender) const {
    return meaning().rows_of_rank[static_cast<std::size_t>(sender)] / ranks();
  }
};

bool has_known_types(const Schedule& schedule, const Meaning& meaning) {
  const auto is_known = [&](BufferId id) {
    const DataType type = schedule.buffers[static_cast<std::size_t>(id)].dtype;
    return type == DataType::bf16 || type == DataType::fp8;
  };
  return is_known(meaning.a) && is_known(meaning.b) && is_known(meaning.result);
}

using Check = std::unique_ptr<SampledResult>;

/// Empty where the buffers do not have the sizes that it needs.
template <class Kind, class... Further>
Check consistent(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources,
                 Further&... further) {
  auto check = std::make_unique<Kind>(program, meaning, ranks, resources, further...);
  return check->is_consistent() ? std::move(check) : nullptr;
}

std::unique_ptr<ReferenceCheck> reference_check(const Program& program, const Meaning& meaning, const ResultForm& form,
                                                const RankView& ranks, Resources& resources) {
  const Buffer& result = program.schedule().buffers[static_cast<std::size_t>(meaning.result)];
  if (!meaning.rows_of_rank.empty() && result.layout.kind != LayoutKind::row_major)
    return std::make_unique<PoolsCheck>(program, meaning, form, ranks, resources);
  return std::make_unique<ReferenceCheck>(program, meaning, form, ranks, resources);
}

/// Empty where it cannot be checked.
Check make_check(const Program& program, const Meaning& meaning, RankView& ranks, Resources& resources,
                 const Reference* reference) {
  if (!has_known_types(program.schedule(), meaning)) return nullptr;
  if (meaning.layer)
    return reference == nullptr ? nullptr
                                : consistent<LayerCheck>(program, meaning, ranks, resources, ranks, *reference);
  if (meaning.attention) return consistent<AttentionCheck>(program, meaning, ranks, resources);
  if (meaning.op == "grouped_gemm") return consistent<GroupedGemmCheck>(program, meaning, ranks, resources);
  if (meaning.op == "all_reduce_norm") return consistent<AllReduceNormCheck>(program, meaning, ranks, resources);
  for (const auto& [kernel, name] : NamesOf<MemoryKernel>::names)
    if (meaning.op == name)
      return LayerKernelCheck::knows(kernel)
                 ? consistent<LayerKernelCheck>(program, meaning, ranks, resources, kernel)
                 : consistent<MemoryKernelCheck>(program, meaning, ranks, resources, kernel);
  const auto form = result_form(meaning.op);
  if (!form) return nullptr;
  auto check = reference_check(program, meaning, *form, ranks, resources);
  if (check->is_consistent()) return check;
  // A collective alone may move any shape, in place or not; a GEMM's sizes leave no choice.
  if (!check->has_gemm()) return nullptr;
  throw ScheduleError("meaning: the buffers a, b and result do not have the sizes of \"" + meaning.op + "\"");
}

/// One for each result of the schedule; none where any of them cannot be checked.
std::vector<Check> make_checks(const Program& program, RankView& ranks, Resources& resources,
                               const Reference* reference) {
  const auto& meaning = program.schedule().meaning;
  if (!meaning) return {};
  std::vector<Meaning const*> meanings{&*meaning};
  for (const Meaning& further : meaning->also) meanings.push_back(&further);
  std::vector<Check> checks;
  for (const Meaning* one : meanings) {
    checks.push_back(make_check(program, *one, ranks, resources, reference));
    if (!checks.back()) return {};
  }
  return checks;
}

}  // namespace

std::optional<CheckResult> check_result(const Program& program, const Launcher& launcher, RankView& ranks,
                                        Resources& resources, const Reference* reference) {
  const std::vector<Check> checks = make_checks(program, ranks, resources, reference);
  if (checks.empty()) return std::nullopt;
  set_to_nan(program);
  for (const Check& check : checks) check->fill_inputs();
  run_once(program, launcher, ranks);
  std::vector<CheckResult> results;
  for (const Check& check : checks) results.push_back(check->compare());
  return *std::ranges::max_element(results, {}, &CheckResult::ratio);
}

}  // namespace weft::calibration::device
