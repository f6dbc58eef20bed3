// What the GEMM library answered, shape by shape: tens of thousands of answers, looked up for every GEMM of a schedule.
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// What the library answers when it is asked for one shape.
struct GemmChoice {
  std::int64_t m = 0, n = 0, k = 0;
  GemmKernel kernel;
};

/// Answers in ascending order of (m, n, k), fixed once made; copies share them and their index.
class GemmChoices {
 public:
  GemmChoices() : GemmChoices(std::vector<GemmChoice>{}) {}
  GemmChoices(std::initializer_list<GemmChoice> answers) : GemmChoices(std::vector<GemmChoice>(answers)) {}
  GemmChoices(std::vector<GemmChoice> answers);  // NOLINT(google-explicit-constructor): a list of answers is that

  std::size_t size() const { return answers().size(); }
  bool empty() const { return answers().empty(); }
  auto begin() const { return answers().begin(); }
  auto end() const { return answers().end(); }
  const std::vector<GemmChoice>& answers() const;

  /// The answer for exactly this shape, or nullptr.
  const GemmChoice* find(const MatrixSize& size) const;
  struct Near {
    const GemmChoice* choice;
    double squared_distance;  ///< of doublings of m, n and k, k counting half
  };
  /// The `count` answers (or all) that are nearest, nearest first; of equally near ones those of the smaller m, n, k.
  std::vector<Near> nearest(const MatrixSize& size, std::size_t count) const;

 private:
  struct Table;
  std::shared_ptr<const Table> table_;
};

}  // namespace weft
