// The order that a schedule guarantees: a graph of moments on all ranks over two consecutive iterations. See
// race_check.hpp for what counts as order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/schedule/counters.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Where a vector has what belongs to that id.
inline std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// What is known of each moment: a row of values, which whoever comes after it (or before) takes over.
template <class Value, class Combine>
class MomentTable {
 public:
  MomentTable(std::size_t moments, std::size_t columns, Value nothing)
      : columns_(columns), values_(moments * columns, nothing) {}
  const Value* row(int moment) const { return &values_[static_cast<std::size_t>(moment) * columns_]; }
  void add(int moment, std::size_t column, Value value) { combine(&row(moment)[column], &value, 1); }
  void take_over(int from, int into) { combine(row(into), row(from), columns_); }

 private:
  Value* row(int moment) { return &values_[static_cast<std::size_t>(moment) * columns_]; }
  static void combine(Value* into, const Value* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) into[i] = Combine()(into[i], from[i]);
  }
  std::size_t columns_;
  std::vector<Value> values_;
};

/// Moments are the start and end of every operation, and begin and end of every tile group of a GEMM, in each of two
/// iterations on each rank. An edge says that one moment comes before the other in every run.
class HappensBefore {
 public:
  /// `schedule` must outlive this.
  explicit HappensBefore(const Schedule& schedule);

  std::size_t moments() const { return first_target_.size() - 1; }
  /// Parts that begin and end on their own: tile groups of a GEMM, and its operands where groups that wait have read
  /// them before; one for everything else (of a fused all-reduce and norm, what it does between its two meetings).
  int parts(OperationId id) const;
  /// Do they begin and end at other moments than the operation?
  bool has_own_parts(OperationId id) const { return of(id).has_own_parts; }
  int begin(int iteration, int rank, OperationId id, int part) const;
  int end(int iteration, int rank, OperationId id, int part) const;

  /// Every moment takes over what those before it have, and `Table` makes of it.
  template <class Table>
  void carry_forward(Table& table) const {
    for (const int moment : sorted_)
      for (const int next : targets_of(moment)) table.take_over(moment, next);
  }
  /// The same from those after it.
  template <class Table>
  void carry_back(Table& table) const {
    for (auto moment = sorted_.rbegin(); moment != sorted_.rend(); ++moment)
      for (const int next : targets_of(*moment)) table.take_over(next, *moment);
  }

 private:
  struct Moments {
    int first = 0;  ///< start and end; then begin and end of each part
    int parts = 1;
    bool has_own_parts = false;
  };
  struct Targets {
    const int *first, *last;
    const int* begin() const { return first; }
    const int* end() const { return last; }
  };
  void number_moments();
  void order_rank(int iteration, int rank);
  void order_operation(int iteration, int rank, OperationId id);
  void order_counter(int iteration, int rank, CounterId id);
  void sort();

  const Moments& of(OperationId id) const { return moments_[static_cast<std::size_t>(id)]; }
  int block(int iteration, int rank) const { return (iteration * schedule_.gpus + rank) * block_size_; }
  int start_of(int iteration, int rank, OperationId id) const { return block(iteration, rank) + of(id).first; }
  int end_of(int iteration, int rank, OperationId id) const { return start_of(iteration, rank, id) + 1; }
  int end_of_iteration(int iteration, int rank) const { return block(iteration, rank); }
  int meeting(int iteration, OperationId id, bool second = false) const;
  /// After all signals that a counter gets in an iteration.
  int complete(int iteration, int rank, CounterId id) const;
  int moment_of(int iteration, int rank, const CounterSignal& signal) const;
  void edge(int from, int to) { edges_.emplace_back(from, to); }
  Targets targets_of(int moment) const {
    const int* const all = targets_.data();
    const auto at = static_cast<std::size_t>(moment);
    return {all + first_target_[at], all + first_target_[at + 1]};
  }

  const Schedule& schedule_;
  std::vector<CounterUse> uses_;
  std::vector<Moments> moments_;
  int block_size_ = 0;
  std::vector<std::pair<int, int>> edges_;  ///< until they are sorted
  std::vector<std::size_t> first_target_;   ///< by moment, and the end of the last one's
  std::vector<int> targets_;
  std::vector<int> sorted_;  ///< every moment after those that come before it
};

}  // namespace weft
