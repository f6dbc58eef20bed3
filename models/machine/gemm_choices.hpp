// What the GEMM library answered, shape by shape: hundreds of thousands of answers, looked up for every GEMM of a
// schedule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// What the library answers when it is asked for one shape. The answer says nothing about the tile scheduler.
struct GemmChoice {
  std::int64_t m = 0, n = 0, k = 0;
  GemmKernel kernel;
};

/// Power of two that divides a number of elements of bf16, up to a line of 128 bytes: where rows begin, and how tiles
/// end, the library goes by.
constexpr std::int64_t alignment_of(std::int64_t elements) {
  constexpr std::int64_t line = 64;
  return std::min(elements & -elements, line);
}

/// That a table can number.
constexpr std::size_t most_kernels = std::size_t{1} << 16;

/// Answers as they lie in memory and in a compiled file (gemm_choices_file.hpp): plain integers, each kernel once.
struct GemmTable {
  struct Kernel {
    std::int32_t tile_m, tile_n, tile_k, cluster_m, cluster_n, stages, split_k;
    auto operator<=>(const Kernel&) const = default;
  };
  struct Shape {
    std::int32_t m, n, k;
    std::uint16_t kernel;     ///< position in `kernels`
    std::uint16_t check = 0;  ///< check_of() the rest
  };
  std::span<const Kernel> kernels;  ///< at most `most_kernels`
  /// A k-d tree without pointers: the shape in the middle of a range is the node, its halves are the subtrees, and the
  /// levels divide by m, n and k in turn.
  std::span<const Shape> shapes;
};

/// Looked at with each shape that a search comes by, so that a file of millions need not be read whole to be trusted.
std::uint16_t check_of(const GemmTable::Shape& shape);

/// Answers to distinct shapes, fixed once made; copies share them.
class GemmChoices {
 public:
  GemmChoices() = default;
  GemmChoices(std::initializer_list<GemmChoice> answers) : GemmChoices(std::vector<GemmChoice>(answers)) {}
  /// In any order; of several answers to one shape the first counts. Sizes are below 2^31.
  GemmChoices(std::vector<GemmChoice> answers);  // NOLINT(google-explicit-constructor): a list of answers is that
  /// The shapes in any order, each once; reorders them and sets their checks.
  GemmChoices(std::vector<GemmTable::Kernel> kernels, std::vector<GemmTable::Shape> shapes);
  /// A table that lies elsewhere, for as long as `owner` lives. Where it is damaged, what looks at a damaged shape
  /// throws InputError.
  GemmChoices(const GemmTable& table, std::shared_ptr<const void> owner) : table_(table), owner_(std::move(owner)) {}

  const GemmTable& table() const { return table_; }
  std::size_t size() const { return table_.shapes.size(); }
  bool empty() const { return table_.shapes.empty(); }
  /// All of them, in the order of the table.
  std::vector<GemmTable::Shape> shapes() const;
  /// All of them in ascending order of (m, n, k).
  std::vector<GemmChoice> answers() const;

  /// The kernel for exactly this shape.
  std::optional<GemmKernel> find(const MatrixSize& size) const;
  struct Near {
    GemmChoice choice;
    double squared_distance;  ///< of doublings of m, n and k, k counting half
  };
  struct Around {
    std::optional<GemmChoice> below, above;
  };
  /// Of the answers for the same m and n, and for another k of the same alignment_of(), that of the next smaller k and
  /// that of the next larger one.
  Around around(const MatrixSize& size) const;
  /// The `count` answers (or all) that are nearest, nearest first; of equally near ones those of the smaller m, n, k.
  std::vector<Near> nearest(const MatrixSize& size, std::size_t count) const;

 private:
  GemmChoice choice_at(const GemmTable::Shape& shape) const;

  GemmTable table_;
  std::shared_ptr<const void> owner_;
};

}  // namespace weft
