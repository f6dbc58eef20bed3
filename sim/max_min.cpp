#include "sim/max_min.hpp"

#include <algorithm>
#include <limits>

namespace weft::sim {
namespace {

constexpr double relative_tolerance = 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Freezing flows at a level moves what their resources are full at upwards only, but for rounding, which is far less
/// than this: caps so far below the lowest of them stop no flow by a resource.
constexpr double rounding_margin = 1e-9;

}  // namespace

/// Lists for each resource its flows, in their order.
void MaxMin::begin(const std::vector<double>& capacities, const std::vector<const Demand*>& demands) {
  if (resources_.size() < capacities.size()) resources_.resize(capacities.size());
  open_.clear();
  by_cap_.clear();
  for (std::size_t f = 0; f < demands.size(); ++f) {
    by_cap_.emplace_back(demands[f]->cap, static_cast<int>(f));
    for (const Use& use : demands[f]->uses) {
      if (capacities[use.resource] == infinity) continue;
      Filling& resource = resources_[use.resource];
      if (resource.rising == 0) {
        open_.push_back(use.resource);
        resource.free = capacities[use.resource];
        resource.weight = 0;
        resource.flows.clear();
      }
      resource.flows.push_back(static_cast<int>(f));
      resource.weight += use.per_unit;
      ++resource.rising;
    }
  }
  std::sort(by_cap_.begin(), by_cap_.end());
  next_cap_ = 0;
  is_rising_.assign(demands.size(), true);
  rates_.assign(demands.size(), 0.0);
}

/// The cap of the flows that stop next if no resource is full before.
double MaxMin::least_cap() {
  while (next_cap_ < by_cap_.size() && !is_rising_[by_cap_[next_cap_].second]) ++next_cap_;
  return next_cap_ < by_cap_.size() ? by_cap_[next_cap_].first : infinity;
}

/// The lowest level at which one of the resources that flows still rise through is full.
double MaxMin::find_full() {
  std::erase_if(open_, [&](int r) { return resources_[r].rising == 0; });
  double lowest = infinity;
  for (const int r : open_) {
    Filling& resource = resources_[r];
    resource.full_at = resource.weight > 0 ? std::max(resource.free, 0.0) / resource.weight : infinity;
    lowest = std::min(lowest, resource.full_at);
  }
  return lowest;
}

void MaxMin::stop(int flow) {
  if (is_rising_[flow]) stopping_.push_back(flow);
  is_rising_[flow] = false;
}

void MaxMin::freeze(const Demand& demand, double rate, const std::vector<double>& capacities) {
  for (const Use& use : demand.uses) {
    if (capacities[use.resource] == infinity) continue;
    Filling& resource = resources_[use.resource];
    resource.free -= rate * use.per_unit;
    resource.weight -= use.per_unit;
    --resource.rising;
  }
}

const std::vector<double>& MaxMin::rates(const std::vector<double>& capacities,
                                         const std::vector<const Demand*>& demands) {
  begin(capacities, demands);
  double full = find_full();
  for (double cap = least_cap(); cap < infinity; cap = least_cap()) {
    const bool is_cap_first = cap < full * (1 - rounding_margin);
    if (!is_cap_first) full = find_full();
    const double level = std::min(cap, full), reached = level * (1 + relative_tolerance);
    stopping_.clear();
    for (std::size_t i = next_cap_; i < by_cap_.size() && by_cap_[i].first <= reached; ++i) stop(by_cap_[i].second);
    if (!is_cap_first)
      for (const int r : open_)
        if (resources_[r].full_at <= reached)
          for (const int f : resources_[r].flows) stop(f);
    std::sort(stopping_.begin(), stopping_.end());  // sums are rounded in the order of the flows
    for (const int f : stopping_) {
      rates_[f] = std::min(level, demands[f]->cap);
      freeze(*demands[f], rates_[f], capacities);
    }
  }
  return rates_;
}

std::vector<double> max_min_rates(const std::vector<double>& capacities, const std::vector<const Demand*>& demands) {
  return MaxMin().rates(capacities, demands);
}

}  // namespace weft::sim
