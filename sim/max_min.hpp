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
// equal rates.
#pragma once

#include <vector>

namespace weft::sim {

struct Use {
  int resource = 0;
  double per_unit = 1;  ///< a_rf > 0
  bool operator==(const Use&) const = default;
};

struct Demand {
  double cap = 0;  ///< largest rate; must be finite and positive
  std::vector<Use> uses;
};

/// Rates in the order of `demands`. Deterministic: the order of operations depends on nothing but the arguments.
std::vector<double> max_min_rates(const std::vector<double>& capacities, const std::vector<const Demand*>& demands);

}  // namespace weft::sim
