// The order that a schedule guarantees: a graph of moments on all ranks over two consecutive iterations. See
// race_check.hpp for what counts as order.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// One bit per moment and listed moment.
class MomentSets {
 public:
  MomentSets(int moments, std::size_t listed)
      : words_((listed + 63) / 64), bits_(static_cast<std::size_t>(moments) * words_, 0) {}
  bool has(int moment, std::size_t index) const { return word(moment, index) >> (index % 64) & 1; }
  void insert(int moment, std::size_t index) { word(moment, index) |= std::uint64_t{1} << (index % 64); }
  void insert_all_of(int from, int into);

 private:
  std::uint64_t& word(int moment, std::size_t index) {
    return bits_[static_cast<std::size_t>(moment) * words_ + index / 64];
  }
  std::uint64_t word(int moment, std::size_t index) const {
    return bits_[static_cast<std::size_t>(moment) * words_ + index / 64];
  }
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Moments are the start and end of every operation, and begin and end of every tile group of a GEMM, in each of two
/// iterations on each rank. An edge says that one moment comes before the other in every run.
class HappensBefore {
 public:
  explicit HappensBefore(const Schedule& schedule);

  /// Parts that begin and end on their own: tile groups of a GEMM, one for everything else (of a fused all-reduce and
  /// norm, what it does between its two meetings).
  int parts(OperationId id) const;
  int begin(int iteration, int rank, OperationId id, int part) const;
  int end(int iteration, int rank, OperationId id, int part) const;

  /// Of every moment: which of the listed moments come before it or are it.
  MomentSets before(const std::vector<int>& listed) const;
  /// Of every moment: which of the listed moments come after it or are it.
  MomentSets after(const std::vector<int>& listed) const;

 private:
  struct Moments {
    int first = 0;  ///< start and end; then begin and end of each part
    int parts = 1;
    bool has_own_parts = false;
  };
  void number_moments();
  void order_rank(int iteration, int rank);
  void order_operation(int iteration, int rank, OperationId id);
  void order_counters(int iteration, int rank);
  void sort();

  const Moments& moments(OperationId id) const { return moments_[static_cast<std::size_t>(id)]; }
  int block(int iteration, int rank) const { return (iteration * schedule_.gpus + rank) * block_size_; }
  int start_of(int iteration, int rank, OperationId id) const { return block(iteration, rank) + moments(id).first; }
  int end_of(int iteration, int rank, OperationId id) const { return start_of(iteration, rank, id) + 1; }
  int end_of_iteration(int iteration, int rank) const { return block(iteration, rank); }
  int meeting(int iteration, OperationId id, bool second = false) const;
  void edge(int from, int to) { successors_[static_cast<std::size_t>(from)].push_back(to); }

  const Schedule& schedule_;
  std::vector<Moments> moments_;
  int block_size_ = 0;
  std::vector<std::vector<int>> successors_;
  std::vector<int> sorted_;  ///< every moment after those that come before it
};

}  // namespace weft
