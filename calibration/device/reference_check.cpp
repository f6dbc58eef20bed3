#include "calibration/device/reference_check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "calibration/device/schedule_error.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/row_order.hpp"

namespace weft::calibration::device {
namespace {

constexpr std::uint64_t check_seed = 2;
constexpr std::int64_t sampled_rows = 64;
constexpr double bf16_rounding = 0x1p-8;  // half a unit in the last place of 8 significant bits, relative

using GemmPlace = ResultForm::GemmPlace;

class ReferenceCheck {
 public:
  ReferenceCheck(const Program& program, const Meaning& meaning, const ResultForm& form, const RankView& ranks,
                 Resources& resources)
      : program_(program),
        schedule_(program.schedule()),
        meaning_(meaning),
        form_(form),
        rank_(ranks.rank()),
        ranks_(ranks.ranks()),
        arena_(resources.arena),
        order_{form.collective, full_rows(), meaning_.chunks, ranks_, meaning_.own_rows_first},
        stream_(program.origin()) {}

  /// Do the buffers have the sizes that the meaning needs?
  bool is_consistent() const {
    const Buffer &a = buffer(meaning_.a), &b = buffer(meaning_.b);
    const bool sizes_fit =
        form_.gemm == GemmPlace::none ? a.columns == columns() : a.columns == b.columns && b.rows == columns();
    return sizes_fit && meaning_.chunks > 0 && order_.divides() && rows() == order_.result_rows();
  }
  bool has_gemm() const { return form_.gemm != GemmPlace::none; }

  void fill_inputs() const {
    fill(meaning_.a);
    if (has_gemm()) fill(meaning_.b);
  }

  CheckResult compare() {
    sample_rows();
    sums_ = {zeros(slots() * columns()), zeros(slots() * columns())};
    for (int source = 0; source < ranks_; ++source) add_contributions(source);
    return worst_element();
  }

 private:
  const Buffer& buffer(BufferId id) const { return schedule_.buffers[static_cast<std::size_t>(id)]; }
  const Buffer& result() const { return buffer(meaning_.result); }
  /// Of the matrix that the result's layout stores.
  bool is_row_major() const { return result().layout.kind == LayoutKind::row_major; }
  std::int64_t rows() const { return is_row_major() ? result().rows : result().layout.rows; }
  std::int64_t columns() const { return is_row_major() ? result().columns : result().layout.columns; }
  std::int64_t columns_of_part() const { return is_row_major() ? columns() : result().layout.tile_columns; }
  std::int64_t slots() const { return static_cast<std::int64_t>(rows_.size()); }
  /// The collective's m: its input has all rows, except where it gathers them.
  std::int64_t full_rows() const {
    const std::int64_t rows = buffer(meaning_.a).rows;
    return form_.collective == CollectiveKind::all_gather ? rows * ranks_ : rows;
  }
  void fill(BufferId id) const {
    const Buffer& of = buffer(id);
    fill_normal(program_.buffer(id), of.dtype, 0, of.rows * of.columns, data_key(check_seed, id, rank_), stream_);
  }

  template <class Element>
  Element* allocate(std::int64_t count) {
    return static_cast<Element*>(arena_.allocate(count * static_cast<Bytes>(sizeof(Element))));
  }
  float* zeros(std::int64_t count) {
    auto* data = allocate<float>(count);
    WEFT_CHECK(cudaMemsetAsync(data, 0, static_cast<std::size_t>(count) * sizeof(float), stream_));
    return data;
  }
  template <class Element>
  Element* upload(const std::vector<Element>& values) {
    auto* data = allocate<Element>(static_cast<std::int64_t>(values.size()));
    WEFT_CHECK(cudaMemcpyAsync(data, values.data(), values.size() * sizeof(Element), cudaMemcpyHostToDevice, stream_));
    program_.wait();
    return data;
  }

  /// The first and the last row, and a random sample of the others: different ones on each rank.
  void sample_rows() {
    std::mt19937_64 random(static_cast<std::uint64_t>(rank_));
    std::set<std::int64_t> chosen{0, rows() - 1};
    std::uniform_int_distribution<std::int64_t> any_row(0, rows() - 1);
    while (static_cast<std::int64_t>(chosen.size()) < std::min(sampled_rows, rows())) chosen.insert(any_row(random));
    rows_.assign(chosen.begin(), chosen.end());
  }

  /// Adds what rank `source` contributes to the sampled rows.
  void add_contributions(int source) {
    std::vector<std::int32_t> slot_of;
    std::vector<std::int64_t> source_rows;
    for (std::size_t slot = 0; slot < rows_.size(); ++slot)
      for (const RowSource& row : order_.sources(rank_, rows_[slot]))
        if (row.rank == source) {
          slot_of.push_back(static_cast<std::int32_t>(slot));
          source_rows.push_back(row.row);
        }
    if (slot_of.empty()) return;
    const std::int64_t inner = buffer(meaning_.a).columns;
    auto* rows = scratch(rows_scratch_, static_cast<std::int64_t>(rows_.size()) * inner);
    for (std::size_t i = 0; i < source_rows.size(); ++i)
      fill_normal(rows + static_cast<std::int64_t>(i) * inner, DataType::bf16, source_rows[i] * inner, inner,
                  data_key(check_seed, meaning_.a, source), stream_);
    add_reference_rows(sums_, columns(), rows, upload(slot_of), static_cast<std::int64_t>(slot_of.size()), inner,
                       factor(source), stream_);
  }

  /// B as the GEMM that saw rank `source`'s rows had it.
  const void* factor(int source) {
    if (form_.gemm == GemmPlace::none) return nullptr;
    const Buffer& b = buffer(meaning_.b);
    auto* data = scratch(factor_scratch_, b.rows * b.columns);
    fill_normal(data, DataType::bf16, 0, b.rows * b.columns,
                data_key(check_seed, meaning_.b, form_.gemm == GemmPlace::before ? source : rank_), stream_);
    return data;
  }

  std::uint16_t* scratch(std::uint16_t*& kept, std::int64_t count) {
    if (kept == nullptr) kept = allocate<std::uint16_t>(count);
    return kept;
  }

  /// Null where the operation adds to nothing that is stored.
  static const Slice* accumulated_into(const Work& work) {
    return match(
        work, [](const Gemm& gemm) { return gemm.accumulate ? &gemm.c : nullptr; },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Signal, Wait, Barrier, Delay> auto&) -> const Slice* { return nullptr; });
  }

  /// How often a sum so far is stored on the way: once for each GEMM that adds its k slice to the same part of a
  /// buffer.
  double stored_partial_sums() const {
    std::ptrdiff_t most = 0;
    for (const Operation& operation : schedule_.operations)
      if (const Slice* sum = accumulated_into(operation.work))
        most = std::max(most, std::ranges::count_if(schedule_.operations, [&](const Operation& other) {
                          const Slice* also = accumulated_into(other.work);
                          return also != nullptr && *also == *sum;
                        }));
    return static_cast<double>(most);
  }

  /// bf16 rounds by up to 2^-8 of the value: each contribution when a GEMM stores it, and the sum so far each time a
  /// rank's or a k slice's is added. Sums on the way may be larger than what is left of them: with inputs of N(0, 1), a
  /// product's intermediate values (k slices, split-K) stay below 6 sqrt(k). Of the fp32 accumulation, 2^-22 k sqrt(k)
  /// is allowed. Rows that are only moved must be equal.
  ErrorBound bound() const {
    const bool sums =
        form_.collective == CollectiveKind::all_reduce || form_.collective == CollectiveKind::reduce_scatter;
    const double summands = sums ? ranks_ : 0, products = has_gemm() ? std::max(1.0, summands) : 0;
    const auto k = static_cast<double>(buffer(meaning_.a).columns);
    const double stored = std::max(1.0, stored_partial_sums());
    const double of_one_product = std::sqrt(k) * (6 * stored * bf16_rounding + 0x1p-22 * k);
    return {static_cast<float>((summands + (has_gemm() ? 1 : 0)) * bf16_rounding),
            static_cast<float>(products * of_one_product)};
  }

  /// Where an element of the result lies in its buffer.
  std::int64_t stored_at(std::int64_t row, std::int64_t column) const {
    const Element place = storage_of(result().layout, ranks_, {row, column});
    return place.row * result().columns + place.column;
  }

  CheckResult worst_element() {
    std::vector<std::int64_t> starts;
    for (const std::int64_t row : rows_)
      for (std::int64_t column = 0; column < columns(); column += columns_of_part())
        starts.push_back(stored_at(row, column));
    const void* got = program_.buffer(meaning_.result);
    auto* worst = allocate<unsigned long long>(1);
    WEFT_CHECK(cudaMemsetAsync(worst, 0, sizeof *worst, stream_));
    compare_parts({got, upload(starts), slots(), columns() / columns_of_part(), columns_of_part()}, sums_, bound(),
                  worst, stream_);
    const auto packed = download(worst);
    const auto element = static_cast<std::int64_t>(packed & 0xffffffffU);
    CheckResult found;
    found.ratio = std::bit_cast<float>(static_cast<std::uint32_t>(packed >> 32));
    found.row = rows_[static_cast<std::size_t>(element / columns())];
    found.column = element % columns();
    found.error_bound = bound().relative * download(sums_.magnitude + element) + bound().absolute;
    const auto stored = download(static_cast<const std::uint16_t*>(got) + stored_at(found.row, found.column));
    found.max_error = std::abs(std::bit_cast<float>(std::uint32_t{stored} << 16) - download(sums_.sum + element));
    return found;
  }

  template <class Element>
  Element download(const Element* data) {
    Element value{};
    WEFT_CHECK(cudaMemcpyAsync(&value, data, sizeof value, cudaMemcpyDeviceToHost, stream_));
    program_.wait();
    return value;
  }

  const Program& program_;
  const Schedule& schedule_;
  const Meaning& meaning_;
  ResultForm form_;
  int rank_, ranks_;
  Arena& arena_;
  RowOrder order_;
  cudaStream_t stream_;
  std::vector<std::int64_t> rows_;  ///< sampled rows of the result; their position is their slot
  ReferenceSums sums_;
  std::uint16_t *rows_scratch_ = nullptr, *factor_scratch_ = nullptr;
};

bool is_bf16(const Buffer& buffer) { return buffer.dtype == DataType::bf16; }

std::optional<ResultForm> checkable_form(const Schedule& schedule, const Meaning& meaning) {
  if (!meaning.rows_of_rank.empty()) return std::nullopt;
  for (const BufferId id : {meaning.a, meaning.b, meaning.result})
    if (!is_bf16(schedule.buffers[static_cast<std::size_t>(id)])) return std::nullopt;
  return result_form(meaning.op);
}

/// One for each result of the schedule; none where any of them cannot be checked.
std::vector<ReferenceCheck> make_checks(const Program& program, const RankView& ranks, Resources& resources) {
  const Schedule& schedule = program.schedule();
  if (!schedule.meaning) return {};
  std::vector<Meaning const*> meanings{&*schedule.meaning};
  for (const Meaning& further : schedule.meaning->also) meanings.push_back(&further);
  std::vector<ReferenceCheck> checks;
  for (const Meaning* meaning : meanings) {
    const auto form = checkable_form(schedule, *meaning);
    if (!form) return {};
    checks.emplace_back(program, *meaning, *form, ranks, resources);
    if (checks.back().is_consistent()) continue;
    // A collective alone may move any shape, in place or not; a GEMM's sizes leave no choice.
    if (!checks.back().has_gemm()) return {};
    throw ScheduleError("meaning: the buffers a, b and result do not have the sizes of \"" + meaning->op + "\"");
  }
  return checks;
}

void set_to_nan(const Program& program) {
  for (std::size_t id = 0; id < program.schedule().buffers.size(); ++id) {
    const Buffer& buffer = program.schedule().buffers[id];
    WEFT_CHECK(cudaMemsetAsync(program.buffer(static_cast<BufferId>(id)), 0xFF,
                               static_cast<std::size_t>(buffer.rows * buffer.columns * bytes_of(buffer.dtype)),
                               program.origin()));
  }
}

}  // namespace

std::optional<CheckResult> check_result(const Program& program, const Launcher& launcher, RankView& ranks,
                                        Resources& resources) {
  std::vector<ReferenceCheck> checks = make_checks(program, ranks, resources);
  if (checks.empty()) return std::nullopt;
  set_to_nan(program);
  for (const ReferenceCheck& check : checks) check.fill_inputs();
  program.wait();
  ranks.barrier();
  launcher.launch();
  program.wait();
  ranks.barrier();
  std::vector<CheckResult> results;
  for (ReferenceCheck& check : checks) results.push_back(check.compare());
  return *std::ranges::max_element(results, {}, &CheckResult::ratio);
}

}  // namespace weft::calibration::device
