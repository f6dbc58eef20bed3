#include "sim/max_min.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace weft::sim {
namespace {

constexpr double relative_tolerance = 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Freezing flows at a level moves what their resources are full at upwards only, but for rounding, which is far less
/// than this: caps so far below the lowest of them stop no flow by a resource.
constexpr double rounding_margin = 1e-9;

}  // namespace

void MaxMin::begin(std::span<const double> capacities, std::span<const Demand> demands) {
  std::size_t uses = 0;
  for (const Demand& demand : demands) uses += demand.uses.size();
  if (shares_.size() < uses) shares_.resize(uses);
  if (filling_by_resource_.size() < capacities.size()) filling_by_resource_.resize(capacities.size());
  fillings_.clear();
  rates_.resize(demands.size());
  rising_.resize(demands.size());
  Share* share = shares_.data();
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Share* const first = share;
    for (const Use& use : demands[i].uses) {
      const double capacity = capacities[use.resource];
      if (capacity == infinity) continue;
      Filling& filling = filling_of(use.resource, capacity);
      filling.weight += use.per_unit;
      ++filling.rising;
      *share++ = {&filling, use.per_unit};
    }
    rising_[i] = {&rates_[i], demands[i].cap, {first, share}};
  }
}

inline MaxMin::Filling& MaxMin::filling_of(int resource, double capacity) {
  Filling& filling = filling_by_resource_[resource];
  if (filling.rising == 0) {
    filling = {.free = capacity};
    fillings_.push_back(&filling);
  }
  return filling;
}

/// The lowest level at which one of the resources that flows still rise through is full.
double MaxMin::find_full() {
  double lowest = infinity;
  for (Filling* filling : fillings_) {
    if (std::exchange(filling->has_changed, false)) {
      const bool is_open = filling->rising > 0 && filling->weight > 0;
      filling->full_at = is_open ? std::max(filling->free, 0.0) / filling->weight : infinity;
    }
    lowest = std::min(lowest, filling->full_at);
  }
  return lowest;
}

inline bool MaxMin::meets_full(const Rising& flow, double level) {
  for (const Share& share : flow.shares)
    if (share.filling->full_at <= level) return true;
  return false;
}

inline void MaxMin::freeze(const Rising& flow, double rate) {
  *flow.rate = rate;
  for (const auto& [filling, per_unit] : flow.shares) {
    filling->free -= rate * per_unit;
    filling->weight -= per_unit;
    --filling->rising;
    filling->has_changed = true;
  }
}

/// It rises to its cap or until the narrowest of its resources is full.
double MaxMin::rate_of_one(std::span<const double> capacities, PathUses uses, double cap) {
  double rate = cap;
  for (const Use& use : uses) {
    const double capacity = capacities[use.resource];
    if (capacity == infinity) continue;
    double weight = 0;
    for (const Use& other : uses)
      if (other.resource == use.resource) weight += other.per_unit;
    if (weight > 0) rate = std::min(rate, std::max(capacity, 0.0) / weight);
  }
  return rate;
}

const std::vector<double>& MaxMin::rates(std::span<const double> capacities, std::span<const Demand> demands) {
  if (demands.size() == 1) {
    rates_.assign(1, rate_of_one(capacities, demands.front().uses, demands.front().cap));
    return rates_;
  }
  begin(capacities, demands);
  double full = find_full();
  double cap = infinity;  // the least of those that still rise: they stop there if no resource is full before
  for (const Rising& flow : rising_) cap = std::min(cap, flow.cap);
  for (bool is_first = true; !rising_.empty(); is_first = false) {
    const bool is_cap_first = cap < full * (1 - rounding_margin);
    if (!is_cap_first && !is_first) full = find_full();
    const double level = std::min(cap, full), reached = std::max(level, level * (1 + relative_tolerance));
    cap = infinity;
    auto kept = rising_.begin();
    for (const Rising& flow : rising_) {
      if (flow.cap <= reached || (!is_cap_first && meets_full(flow, reached))) {
        freeze(flow, std::min(level, flow.cap));
      } else {
        cap = std::min(cap, flow.cap);
        *kept++ = flow;
      }
    }
    rising_.erase(kept, rising_.end());
  }
  return rates_;
}

}  // namespace weft::sim
