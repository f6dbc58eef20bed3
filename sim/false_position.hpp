// Where a function that changes its sign once is zero, by few calls: each costs a simulation.
#pragma once

#include <cmath>

namespace weft::sim {

/// By false position, in which an end that stays once more counts for half (the Illinois rule).
class FalsePosition {
 public:
  struct End {
    double at = 0, value = 0;
  };
  /// The values are of opposite signs.
  FalsePosition(End positive, End negative) : positive_(positive), negative_(negative) {}

  /// Where the line between both ends crosses zero.
  double next() const {
    return std::lerp(positive_.at, negative_.at, positive_.value / (positive_.value - negative_.value));
  }
  void see(End one) {
    const double weight = one.value * before_ > 0 ? 0.5 : 1;
    (one.value > 0 ? negative_ : positive_).value *= weight;
    (one.value > 0 ? positive_ : negative_) = one;
    before_ = one.value;
  }
  double negative() const { return negative_.at; }
  double width() const { return std::abs(positive_.at - negative_.at); }

 private:
  End positive_, negative_;
  double before_ = 0;  // the last value seen
};

}  // namespace weft::sim
