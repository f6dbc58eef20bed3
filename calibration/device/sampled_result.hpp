// Some rows of what a schedule computed, element by element against a reference of the same inputs in fp32.
#pragma once

#include <functional>
#include <vector>

#include "calibration/device/reference_check.hpp"
#include "models/schedule/layout.hpp"

namespace weft::calibration::device {

/// Half a unit in the last place of 8 significant bits, relative.
inline constexpr double bf16_rounding = 0x1p-8;
/// Absolute, of what an element of a product of inputs of N(0, 1) has gone through before it is rounded for good: its
/// intermediate values (k slices, split-K), `stored` times in bf16, stay below 6 sqrt(k). Of the fp32 accumulation,
/// 2^-22 k sqrt(k) is allowed.
double error_of_product(std::int64_t k, double stored = 1);

/// Every buffer, so that what nobody computes is no number.
void set_to_nan(const Program& program);
/// One iteration from what has been filled. Every rank calls it; nobody goes on before all have ended.
void run_once(const Program& program, const Launcher& launcher, RankView& ranks);

class SampledResult {
 public:
  SampledResult(const Program& program, const Meaning& meaning, const RankView& ranks, Resources& resources);
  virtual ~SampledResult() = default;

  /// Do the buffers have the sizes that the meaning needs?
  virtual bool is_consistent() const = 0;
  /// Those of this rank.
  virtual void fill_inputs() const = 0;
  /// After the schedule has run on these inputs.
  CheckResult compare();

 protected:
  /// sums() of the sampled rows.
  virtual void add_reference() = 0;
  virtual ErrorBound bound() const = 0;
  /// Rows that are looked at in any case.
  virtual std::vector<std::int64_t> rows_at_edges() const { return {0, rows() - 1}; }

  const Program& program() const { return program_; }
  const Schedule& schedule() const { return program_.schedule(); }
  const Meaning& meaning() const { return meaning_; }
  const Buffer& buffer(BufferId id) const { return schedule().buffers[static_cast<std::size_t>(id)]; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  cudaStream_t stream() const { return program_.origin(); }
  /// Of the matrix that the result's layout stores; of the result, those that are this rank's.
  std::int64_t stored_rows() const { return is_row_major() ? result().rows : result().layout.rows; }
  virtual std::int64_t rows() const { return stored_rows(); }
  std::int64_t columns() const { return is_row_major() ? result().columns : result().layout.columns; }

  const Buffer& result() const { return buffer(meaning_.result); }
  bool is_row_major() const { return result().layout.kind == LayoutKind::row_major; }
  /// Where an element of the result lies in its buffer.
  virtual Element place_of(const Element& of_result) const { return storage_of(result().layout, ranks_, of_result); }

  Arena& arena() const { return arena_; }
  /// The sampled rows of the result; their position is their slot.
  const std::vector<std::int64_t>& sampled() const { return rows_; }
  std::int64_t slots() const { return static_cast<std::int64_t>(rows_.size()); }
  const ReferenceSums& sums() const { return sums_; }

  /// Of the inputs. Where fp8 takes part they are whole numbers, hardly any beyond 5, which it holds exactly. So are
  /// then the sums of their products: below 6.5 sqrt(k), which the tensor cores' 14 bits hold up to k = 2^20. What is
  /// left of errors is the result's rounding, and one wrong factor shows.
  virtual Spread spread() const;

  /// This rank's input.
  void fill(BufferId id) const;
  /// Elements `first` to `first` + `count` - 1 of rank `of`'s input, as that one has filled it.
  void make_again(void* data, BufferId id, int of, std::int64_t first, std::int64_t count) const;

  /// The same on the host.
  std::vector<float> values_again(BufferId id, int of, std::int64_t first, std::int64_t count);

  /// Of bf16 or fp8 on the device, once what was enqueued has ended.
  std::vector<float> values_on_host(const void* data, DataType dtype, std::int64_t count) const;

  template <class Element>
  Element* allocate(std::int64_t count) {
    return static_cast<Element*>(arena_.allocate(count * static_cast<Bytes>(sizeof(Element))));
  }
  float* zeros(std::int64_t count);
  /// Instead of what add_reference_rows() adds up: of slot after slot.
  void set_sums(const std::vector<float>& sum, const std::vector<float>& magnitude);
  /// The same of the sampled rows, where their values are their magnitudes.
  void set_rows(const std::function<std::vector<float>(std::int64_t)>& row_again);
  template <class Element>
  Element* upload(const std::vector<Element>& values) {
    auto* data = allocate<Element>(static_cast<std::int64_t>(values.size()));
    WEFT_CHECK(cudaMemcpyAsync(data, values.data(), values.size() * sizeof(Element), cudaMemcpyHostToDevice, stream()));
    program_.wait();
    return data;
  }

 private:
  std::int64_t columns_of_part() const { return is_row_major() ? columns() : result().layout.tile_columns; }
  std::int64_t stored_at(std::int64_t row, std::int64_t column) const;
  void sample_rows();
  CheckResult worst_element();
  template <class Element>
  Element download(const Element* data);
  float stored_value(std::int64_t element);

  const Program& program_;
  const Meaning& meaning_;
  int rank_, ranks_;
  Arena& arena_;
  std::vector<std::int64_t> rows_;
  ReferenceSums sums_;
};

}  // namespace weft::calibration::device
