#define BOOST_ALLOW_DEPRECATED_HEADERS  // of Boost by Boost
#include "models/machine/gemm_choices.hpp"

#include <algorithm>
#include <bit>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/geometry/strategies/strategies.hpp>
#include <iterator>
#include <mutex>
#include <tuple>
#include <utility>

namespace weft {
namespace {

namespace geometry = boost::geometry;
using Point3 = geometry::model::point<double, 3, geometry::cs::cartesian>;
using Place = std::pair<Point3, std::size_t>;  // position in the answers

/// Linear between powers of two: as good as the logarithm for telling neighbours, and the same on every machine.
double rough_log2(std::int64_t size) {
  const int exponent = std::bit_width(static_cast<std::uint64_t>(size)) - 1;
  const std::int64_t power = std::int64_t{1} << exponent;
  return exponent + static_cast<double>(size - power) / static_cast<double>(power);
}

/// The kernel hardly depends on k: a factor of four there is as near as a factor of two in m or n.
template <class Size>
Point3 point_of(const Size& size) {
  return {rough_log2(size.m), rough_log2(size.n), rough_log2(size.k) / 2};
}

template <class Size>
auto key_of(const Size& size) {
  return std::tie(size.m, size.n, size.k);
}

}  // namespace

struct GemmChoices::Table {
  using Places = geometry::index::rtree<Place, geometry::index::linear<16>>;

  explicit Table(std::vector<GemmChoice> choices) : answers(std::move(choices)) {
    const auto is_less = [](const GemmChoice& a, const GemmChoice& b) { return key_of(a) < key_of(b); };
    if (!std::is_sorted(answers.begin(), answers.end(), is_less)) std::sort(answers.begin(), answers.end(), is_less);
  }
  /// Made when they are first asked for: most shapes are among the answers, and the tree takes longer than reading
  /// them.
  const Places& places() const {
    std::call_once(are_placed_, [this] {
      std::vector<Place> places;
      places.reserve(answers.size());
      for (std::size_t i = 0; i < answers.size(); ++i) places.emplace_back(point_of(answers[i]), i);
      places_ = {places.begin(), places.end()};  // packed at once
    });
    return places_;
  }

  std::vector<GemmChoice> answers;

 private:
  mutable std::once_flag are_placed_;
  mutable Places places_;
};

GemmChoices::GemmChoices(std::vector<GemmChoice> answers) : table_(std::make_shared<Table>(std::move(answers))) {}

const std::vector<GemmChoice>& GemmChoices::answers() const { return table_->answers; }

const GemmChoice* GemmChoices::find(const MatrixSize& size) const {
  const auto found =
      std::lower_bound(begin(), end(), size, [](const GemmChoice& a, const auto& b) { return key_of(a) < key_of(b); });
  return found != end() && key_of(*found) == key_of(size) ? &*found : nullptr;
}

std::vector<GemmChoices::Near> GemmChoices::nearest(const MatrixSize& size, std::size_t count) const {
  if (answers().empty() || count == 0) return {};
  const Point3 here = point_of(size);
  std::vector<std::pair<double, std::size_t>> found;
  // The tree gives equally near ones in any order: all that tie with the last one are needed.
  for (std::size_t asked = 2 * count;; asked *= 2) {
    std::vector<Place> places;
    table_->places().query(geometry::index::nearest(here, static_cast<unsigned>(asked)), std::back_inserter(places));
    found.clear();
    for (const Place& place : places)
      found.emplace_back(geometry::comparable_distance(here, place.first), place.second);
    std::sort(found.begin(), found.end());
    if (found.size() < asked || found.back().first > found[count - 1].first) break;
  }
  std::vector<Near> nearest;
  for (std::size_t i = 0; i < std::min(count, found.size()); ++i)
    nearest.push_back({&answers()[found[i].second], found[i].first});
  return nearest;
}

}  // namespace weft
