#include "models/machine/gemm_choices.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/input_error.hpp"

namespace weft {
namespace {

using Kernel = GemmTable::Kernel;
using Shape = GemmTable::Shape;
using Shapes = std::span<const Shape>;

constexpr int axes = 3;  // m, n and k

template <class Size>
auto key_of(const Size& size) {
  return std::tuple<std::int64_t, std::int64_t, std::int64_t>(size.m, size.n, size.k);
}

/// Order along one axis; the other sizes decide between shapes that are equal there, so that no two are.
template <class A, class B>
bool is_before(const A& a, const B& b, int axis) {
  if (axis == 0) return std::tuple(a.m, a.n, a.k) < std::tuple(b.m, b.n, b.k);
  if (axis == 1) return std::tuple(a.n, a.k, a.m) < std::tuple(b.n, b.k, b.m);
  return std::tuple(a.k, a.m, a.n) < std::tuple(b.k, b.m, b.n);
}

int next(int axis) { return (axis + 1) % axes; }

/// Puts the shapes into the order of the tree.
void arrange(std::span<Shape> shapes, int axis = 0) {
  if (shapes.size() < 2) return;
  const auto middle = shapes.begin() + static_cast<std::ptrdiff_t>(shapes.size() / 2);
  std::nth_element(shapes.begin(), middle, shapes.end(),
                   [axis](const Shape& a, const Shape& b) { return is_before(a, b, axis); });
  arrange({shapes.begin(), middle}, next(axis));
  arrange({middle + 1, shapes.end()}, next(axis));
}

const Shape& checked(const Shape& shape) {
  if (shape.check != check_of(shape))
    throw InputError("",
                     "expected a compiled table of the GEMM library's kernels without damage; without the file "
                     "(*.gemm_kernels.bin) it is made again");
  return shape;
}

/// The node of a subtree that has one.
const Shape& root_of(Shapes shapes) { return checked(shapes[shapes.size() / 2]); }
Shapes below_root(Shapes shapes) { return shapes.first(shapes.size() / 2); }
Shapes above_root(Shapes shapes) { return shapes.subspan(shapes.size() / 2 + 1); }

/// Linear between powers of two: as good as the logarithm for telling neighbours, and the same on every machine. The
/// bits of a floating-point number are just that, exponent above fraction, and those of a size below 2^31 are all
/// exact.
double rough_log2(std::int64_t size) {
  constexpr int fraction_bits = std::numeric_limits<double>::digits - 1;
  constexpr std::int64_t zero = std::int64_t{1023} << fraction_bits;  // the bits of 1
  return static_cast<double>(std::bit_cast<std::int64_t>(static_cast<double>(size)) - zero) *
         (1.0 / static_cast<double>(std::int64_t{1} << fraction_bits));
}

using GridPoint = std::array<double, axes>;

/// The kernel hardly depends on k: a factor of four there is as near as a factor of two in m or n.
template <class Size>
GridPoint point_of(const Size& size) {
  return {rough_log2(size.m), rough_log2(size.n), rough_log2(size.k) / 2};
}

double square_of(const GridPoint& offset) {
  return offset[2] * offset[2] + (offset[1] * offset[1] + offset[0] * offset[0]);
}

/// Looks through the tree for the shapes that are nearest to one point.
class NearestShapes {
 public:
  struct Found {
    double squared_distance;
    const Shape* shape;
    bool operator<(const Found& other) const {
      return squared_distance != other.squared_distance ? squared_distance < other.squared_distance
                                                        : key_of(*shape) < key_of(*other.shape);
    }
  };

  NearestShapes(const GridPoint& here, std::size_t count) : here_(here), count_(count) { found_.reserve(count); }

  /// `offset`: how far the part of space that the shapes lie in is away along each axis.
  void search(Shapes shapes, int axis = 0, const GridPoint& offset = {}) {
    if (shapes.empty() || (found_.size() == count_ && square_of(offset) > found_.front().squared_distance)) return;
    const Shape& root = root_of(shapes);
    const GridPoint there = point_of(root);
    GridPoint between;
    for (std::size_t i = 0; i < axes; ++i) between[i] = here_[i] - there[i];
    add({square_of(between), &root});
    const auto along = static_cast<std::size_t>(axis);
    GridPoint beyond = offset;  // of the half that the point is not in; exact, as all coordinates are
    beyond[along] = between[along];
    const bool is_below = between[along] < 0;
    const Shapes below = below_root(shapes), above = above_root(shapes);
    search(is_below ? below : above, next(axis), offset);
    search(is_below ? above : below, next(axis), beyond);
  }

  /// Nearest first.
  std::vector<Found> found() && {
    std::sort_heap(found_.begin(), found_.end());
    return std::move(found_);
  }

 private:
  /// The farthest of those found stands at the front and makes room.
  void add(const Found& one) {
    if (found_.size() == count_) {
      if (!(one < found_.front())) return;
      std::pop_heap(found_.begin(), found_.end());
      found_.pop_back();
    }
    found_.push_back(one);
    std::push_heap(found_.begin(), found_.end());
  }

  GridPoint here_;
  std::size_t count_;
  std::vector<Found> found_;
};

/// Looks through the tree for the shapes of the same m and n whose k are next to one.
class ShapesAround {
 public:
  explicit ShapesAround(const MatrixSize& size) : size_(size) {}

  void search(Shapes shapes, int axis = 0) {
    if (shapes.empty()) return;
    const Shape& shape = root_of(shapes);
    consider(shape);
    const bool is_below = is_before(size_, shape, axis);
    for (const bool below : {is_below, !is_below})
      if (below ? is_before(with_k(below_ != nullptr ? below_->k : 0), shape, axis)
                : is_before(shape, with_k(above_ != nullptr ? above_->k : std::numeric_limits<std::int32_t>::max()),
                            axis))
        search(below ? below_root(shapes) : above_root(shapes), next(axis));
  }

  const Shape* below() const { return below_; }
  const Shape* above() const { return above_; }

 private:
  MatrixSize with_k(std::int64_t k) const { return {size_.m, size_.n, k}; }
  void consider(const Shape& shape) {
    if (shape.m != size_.m || shape.n != size_.n || alignment_of(shape.k) != alignment_of(size_.k)) return;
    if (shape.k < size_.k && (below_ == nullptr || shape.k > below_->k)) below_ = &shape;
    if (shape.k > size_.k && (above_ == nullptr || shape.k < above_->k)) above_ = &shape;
  }

  MatrixSize size_;
  const Shape *below_ = nullptr, *above_ = nullptr;
};

Kernel packed(const GemmKernel& kernel) {
  return {kernel.tile_m,    kernel.tile_n, kernel.tile_k, kernel.cluster_m,
          kernel.cluster_n, kernel.stages, kernel.split_k};
}

GemmKernel unpacked(const Kernel& kernel) {
  return {.tile_m = kernel.tile_m,
          .tile_n = kernel.tile_n,
          .tile_k = kernel.tile_k,
          .cluster_m = kernel.cluster_m,
          .cluster_n = kernel.cluster_n,
          .stages = kernel.stages,
          .split_k = kernel.split_k};
}

}  // namespace

std::uint16_t check_of(const GemmTable::Shape& shape) {
  return static_cast<std::uint16_t>(XXH3_64bits(&shape, offsetof(Shape, check)));
}

GemmChoices::GemmChoices(std::vector<GemmTable::Kernel> kernels, std::vector<GemmTable::Shape> shapes) {
  arrange(shapes);
  for (Shape& shape : shapes) shape.check = check_of(shape);
  const auto owned =
      std::make_shared<const std::pair<std::vector<Kernel>, std::vector<Shape>>>(std::move(kernels), std::move(shapes));
  table_ = {owned->first, owned->second};
  owner_ = owned;
}

GemmChoices::GemmChoices(std::vector<GemmChoice> answers) {
  const auto is_less = [](const GemmChoice& a, const GemmChoice& b) { return key_of(a) < key_of(b); };
  const auto is_same = [](const GemmChoice& a, const GemmChoice& b) { return key_of(a) == key_of(b); };
  std::stable_sort(answers.begin(), answers.end(), is_less);
  answers.erase(std::unique(answers.begin(), answers.end(), is_same), answers.end());
  std::map<Kernel, std::uint16_t> positions;
  for (const GemmChoice& answer : answers) positions.emplace(packed(answer.kernel), 0);
  std::vector<Kernel> kernels;
  for (auto& [kernel, position] : positions) {
    position = static_cast<std::uint16_t>(kernels.size());
    kernels.push_back(kernel);
  }
  std::vector<Shape> shapes;
  shapes.reserve(answers.size());
  for (const GemmChoice& answer : answers)
    shapes.push_back({static_cast<std::int32_t>(answer.m), static_cast<std::int32_t>(answer.n),
                      static_cast<std::int32_t>(answer.k), positions.at(packed(answer.kernel))});
  *this = GemmChoices(std::move(kernels), std::move(shapes));
}

GemmChoice GemmChoices::choice_at(const GemmTable::Shape& shape) const {
  if (shape.kernel >= table_.kernels.size())
    throw InputError("", "expected a compiled table of the GEMM library's kernels that has each kernel it names");
  return {shape.m, shape.n, shape.k, unpacked(table_.kernels[shape.kernel])};
}

std::vector<Shape> GemmChoices::shapes() const {
  std::ranges::for_each(table_.shapes, checked);
  return {table_.shapes.begin(), table_.shapes.end()};
}

std::vector<GemmChoice> GemmChoices::answers() const {
  std::vector<GemmChoice> all;
  all.reserve(size());
  for (const Shape& shape : table_.shapes) all.push_back(choice_at(checked(shape)));
  std::sort(all.begin(), all.end(), [](const GemmChoice& a, const GemmChoice& b) { return key_of(a) < key_of(b); });
  return all;
}

std::optional<GemmKernel> GemmChoices::find(const MatrixSize& size) const {
  int axis = 0;
  for (Shapes range = table_.shapes; !range.empty(); axis = next(axis)) {
    const Shape& shape = root_of(range);
    if (key_of(shape) == key_of(size)) return choice_at(shape).kernel;
    range = is_before(size, shape, axis) ? below_root(range) : above_root(range);
  }
  return std::nullopt;
}

GemmChoices::Around GemmChoices::around(const MatrixSize& size) const {
  ShapesAround search(size);
  search.search(table_.shapes);
  Around around;
  if (search.below() != nullptr) around.below = choice_at(*search.below());
  if (search.above() != nullptr) around.above = choice_at(*search.above());
  return around;
}

std::vector<GemmChoices::Near> GemmChoices::nearest(const MatrixSize& size, std::size_t count) const {
  if (count == 0) return {};
  NearestShapes search(point_of(size), count);
  search.search(table_.shapes);
  std::vector<Near> near;
  for (const auto& [squared_distance, shape] : std::move(search).found())
    near.push_back({choice_at(*shape), squared_distance});
  return near;
}

}  // namespace weft
