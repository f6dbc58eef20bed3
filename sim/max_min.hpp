// Max-min fair sharing of resources among flows: a pure function.
//
// Given capacities C_r and flows f with a cap and coefficients a_rf (how much of resource r one unit of rate of f
// uses), it finds the rates x_f with
//     sum over f of a_rf x_f <= C_r     for every r,          0 <= x_f <= cap_f,
// such that no rate can grow without a smaller or equal one shrinking. Example: one link of 100, flows A (cap 20) and
// B, C (no cap), all with coefficient 1: A gets 20, B and C get 40 each.
//
// Progressive filling: all unfrozen rates rise together; the first cap or resource that is reached freezes the flows
// that it concerns. Flows of one call should measure their rates in one unit (here: bytes per us), since "equal" means
// equal rates. A resource of infinite capacity limits nobody and costs nothing.
#pragma once

#include <boost/container/small_vector.hpp>
#include <limits>
#include <span>
#include <vector>

namespace weft::sim {

/// The limit of a resource that holds no flow back.
inline constexpr double unlimited = std::numeric_limits<double>::infinity();

/// A resource whose flows together want less than this share of it holds none of them back, whatever rounding did to
/// their sum and does to the rates.
inline constexpr double surely_enough = 1 - 1e-6;

/// A resource of so many times its capacity holds no flow back.
inline constexpr double more_than_enough = 1e6;

struct Use {
  int resource = 0;
  double per_unit = 1;  ///< a_rf; 0: occupies the resource and takes nothing of it
  bool operator==(const Use&) const = default;
};

/// What a unit of a flow takes of which resources.
using Uses = boost::container::small_vector<Use, 4>;

/// What the flows of one path take.
using PathUses = std::span<const Use>;

struct Demand {
  double cap = 0;  ///< largest rate; must be finite and positive
  PathUses uses;
};

/// Finds rates, again and again: nothing but memory is kept from one call to the next. Resources are looked at only in
/// rounds in which one of them may be full, not where flows stop at their caps.
class MaxMin {
 public:
  /// In the order of `demands`, valid until the next call. Deterministic: the order of operations depends on nothing
  /// but the arguments.
  const std::vector<double>& rates(std::span<const double> capacities, std::span<const Demand> demands);
  /// The rate of a flow that meets no other.
  static double rate_of_one(std::span<const double> capacities, PathUses uses, double cap);

 private:
  /// A resource while the unfrozen flows rise together.
  struct Filling {
    int rising = 0;           // unfrozen flows: weight alone may keep a rounding error above 0
    double free = 0;          // capacity that frozen flows left
    double weight = 0;        // sum of coefficients of unfrozen flows
    double full_at = 0;       // level at which it is full, as of the last find_full()
    bool has_changed = true;  // since then
  };
  /// What a flow takes of one of them.
  struct Share {
    Filling* filling = nullptr;
    double per_unit = 0;
  };
  struct Rising {
    double* rate = nullptr;
    double cap = 0;
    std::span<const Share> shares;
  };

  void begin(std::span<const double> capacities, std::span<const Demand> demands);
  Filling& filling_of(int resource, double capacity);
  double find_full();
  static bool meets_full(const Rising& flow, double level);
  static void freeze(const Rising& flow, double rate);

  std::vector<Filling> filling_by_resource_;  // no flow rises through any between calls
  std::vector<Filling*> fillings_;            // that flows of this call use and that can be full
  std::vector<Share> shares_;                 // flow by flow
  std::vector<Rising> rising_;                // in the order of the flows, since sums are rounded in it
  std::vector<double> rates_;
};

}  // namespace weft::sim
