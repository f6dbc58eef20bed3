#include "sim/max_min.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace weft::sim {
namespace {

constexpr double relative_tolerance = 1e-12;

/// A resource while the unfrozen flows rise together.
struct Filling {
  double free = 0;     // capacity that frozen flows left
  double weight = 0;   // sum of coefficients of unfrozen flows
  int rising = 0;      // unfrozen flows: weight alone may keep a rounding error above 0
  double full_at = 0;  // level at which it is full, as of this round
  void find_full_at() {
    full_at = rising > 0 && weight > 0 ? std::max(free, 0.0) / weight : std::numeric_limits<double>::infinity();
  }
};

void freeze(const Demand& demand, double rate, std::vector<Filling>& resources) {
  for (const Use& use : demand.uses) {
    Filling& resource = resources[use.resource];
    resource.free -= rate * use.per_unit;
    resource.weight -= use.per_unit;
    --resource.rising;
  }
}

}  // namespace

std::vector<double> max_min_rates(const std::vector<double>& capacities, const std::vector<const Demand*>& demands) {
  std::vector<Filling> resources(capacities.size());
  for (std::size_t r = 0; r < capacities.size(); ++r) resources[r].free = capacities[r];
  std::vector<double> rates(demands.size(), 0.0);
  std::vector<std::size_t> rising(demands.size());
  for (std::size_t f = 0; f < demands.size(); ++f) {
    rising[f] = f;
    for (const Use& use : demands[f]->uses) {
      resources[use.resource].weight += use.per_unit;
      ++resources[use.resource].rising;
    }
  }

  std::vector<std::size_t> stopping;
  while (!rising.empty()) {
    double level = std::numeric_limits<double>::infinity();
    for (Filling& resource : resources) {
      resource.find_full_at();
      level = std::min(level, resource.full_at);
    }
    for (const std::size_t f : rising) level = std::min(level, demands[f]->cap);

    const double reached = level * (1 + relative_tolerance);
    const auto stops = [&](std::size_t f) {
      return demands[f]->cap <= reached ||
             std::any_of(demands[f]->uses.begin(), demands[f]->uses.end(),
                         [&](const Use& use) { return resources[use.resource].full_at <= reached; });
    };
    stopping.clear();
    std::copy_if(rising.begin(), rising.end(), std::back_inserter(stopping), stops);
    std::erase_if(rising, stops);
    for (const std::size_t f : stopping) {
      rates[f] = std::min(level, demands[f]->cap);
      freeze(*demands[f], rates[f], resources);
    }
  }
  return rates;
}

}  // namespace weft::sim
