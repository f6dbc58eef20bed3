#include "sim/max_min.hpp"

#include <limits>

namespace weft::sim {
namespace {

constexpr double relative_tolerance = 1e-12;

/// Level at which resource r is full if all unfrozen flows rise together from where they are.
struct Filling {
  std::vector<double> free;    // capacity that frozen flows left
  std::vector<double> weight;  // sum of coefficients of unfrozen flows

  double full_at(std::size_t resource) const {
    if (weight[resource] <= 0) return std::numeric_limits<double>::infinity();
    return free[resource] / weight[resource];
  }
};

}  // namespace

std::vector<double> max_min_rates(const std::vector<double>& capacities, const std::vector<const Demand*>& demands) {
  Filling filling{capacities, std::vector<double>(capacities.size(), 0.0)};
  for (const Demand* demand : demands)
    for (const Use& use : demand->uses) filling.weight[use.resource] += use.per_unit;

  std::vector<double> rates(demands.size(), -1.0);
  for (std::size_t frozen = 0; frozen < demands.size();) {
    double level = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < capacities.size(); ++r) level = std::min(level, filling.full_at(r));
    for (std::size_t f = 0; f < demands.size(); ++f)
      if (rates[f] < 0) level = std::min(level, demands[f]->cap);
    level = std::max(level, 0.0);

    const double reached = level * (1 + relative_tolerance);
    std::vector<bool> full(capacities.size());
    for (std::size_t r = 0; r < capacities.size(); ++r) full[r] = filling.full_at(r) <= reached;
    for (std::size_t f = 0; f < demands.size(); ++f) {
      if (rates[f] >= 0) continue;
      bool stops = demands[f]->cap <= reached;
      for (const Use& use : demands[f]->uses) stops = stops || full[use.resource];
      if (!stops) continue;
      rates[f] = std::min(level, demands[f]->cap);
      ++frozen;
      for (const Use& use : demands[f]->uses) {
        filling.free[use.resource] -= rates[f] * use.per_unit;
        filling.weight[use.resource] -= use.per_unit;
        if (filling.weight[use.resource] < relative_tolerance * use.per_unit) filling.weight[use.resource] = 0;
      }
    }
  }
  return rates;
}

}  // namespace weft::sim
