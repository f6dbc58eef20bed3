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

void MaxMin::begin(const std::vector<double>& capacities, std::span<const Demand> demands) {
  numbers_.resize(capacities.size(), -1);
  fillings_.clear();
  shares_.clear();
  rising_.clear();
  for (const Demand& demand : demands) {
    Rising flow{static_cast<int>(rising_.size()), demand.cap, shares_.size(), 0};
    for (const Use& use : demand.uses) {
      if (capacities[use.resource] == infinity) continue;
      const int number = filling_of(use.resource, capacities[use.resource]);
      fillings_[number].weight += use.per_unit;
      ++fillings_[number].rising;
      shares_.push_back({number, use.per_unit});
    }
    flow.last_share = shares_.size();
    rising_.push_back(flow);
  }
  for (const Filling& filling : fillings_) numbers_[filling.resource] = -1;
  rates_.assign(demands.size(), 0.0);
}

int MaxMin::filling_of(int resource, double capacity) {
  int& number = numbers_[resource];
  if (number < 0) {
    number = static_cast<int>(fillings_.size());
    fillings_.push_back({resource, capacity});
  }
  return number;
}

/// The cap of the flows that stop next if no resource is full before.
double MaxMin::least_cap() const {
  double least = infinity;
  for (const Rising& flow : rising_) least = std::min(least, flow.cap);
  return least;
}

/// The lowest level at which one of the resources that flows still rise through is full.
double MaxMin::find_full() {
  double lowest = infinity;
  for (Filling& filling : fillings_) {
    const bool is_open = filling.rising > 0 && filling.weight > 0;
    filling.full_at = is_open ? std::max(filling.free, 0.0) / filling.weight : infinity;
    lowest = std::min(lowest, filling.full_at);
  }
  return lowest;
}

bool MaxMin::meets_full(const Rising& flow, double level) const {
  for (std::size_t i = flow.first_share; i < flow.last_share; ++i)
    if (fillings_[shares_[i].filling].full_at <= level) return true;
  return false;
}

void MaxMin::freeze(const Rising& flow, double rate) {
  rates_[flow.flow] = rate;
  for (std::size_t i = flow.first_share; i < flow.last_share; ++i) {
    Filling& filling = fillings_[shares_[i].filling];
    filling.free -= rate * shares_[i].per_unit;
    filling.weight -= shares_[i].per_unit;
    --filling.rising;
  }
}

/// It rises to its cap or until the narrowest of its resources is full.
const std::vector<double>& MaxMin::rate_of_one(const std::vector<double>& capacities, const Demand& demand) {
  double rate = demand.cap;
  for (const Use& use : demand.uses) {
    const double capacity = capacities[use.resource];
    if (capacity == infinity) continue;
    double weight = 0;
    for (const Use& other : demand.uses)
      if (other.resource == use.resource) weight += other.per_unit;
    if (weight > 0) rate = std::min(rate, std::max(capacity, 0.0) / weight);
  }
  rates_.assign(1, rate);
  return rates_;
}

const std::vector<double>& MaxMin::rates(const std::vector<double>& capacities, std::span<const Demand> demands) {
  if (demands.size() == 1) return rate_of_one(capacities, demands.front());
  begin(capacities, demands);
  double full = find_full();
  for (bool is_first = true; !rising_.empty(); is_first = false) {
    const double cap = least_cap();
    const bool is_cap_first = cap < full * (1 - rounding_margin);
    if (!is_cap_first && !is_first) full = find_full();
    const double level = std::min(cap, full), reached = level * (1 + relative_tolerance);
    std::erase_if(rising_, [&](const Rising& flow) {
      const bool stops = flow.cap <= reached || (!is_cap_first && meets_full(flow, reached));
      if (stops) freeze(flow, std::min(level, flow.cap));
      return stops;
    });
  }
  return rates_;
}

std::vector<double> max_min_rates(const std::vector<double>& capacities, std::span<const Demand> demands) {
  return MaxMin().rates(capacities, demands);
}

}  // namespace weft::sim
