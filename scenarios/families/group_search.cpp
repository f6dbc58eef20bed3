#include "scenarios/families/group_search.hpp"

#include <algorithm>
#include <limits>

#include "models/base/division.hpp"

namespace weft::scenarios::families {
namespace {

constexpr std::int64_t most_units_of_algorithm_1 = 10, most_units = 256;

std::int64_t unit_of_algorithm_1(const Waves& waves) { return divided_up(waves.count(), most_units_of_algorithm_1); }

std::int64_t finest_unit(const Waves& waves) {
  const std::int64_t coarsest = unit_of_algorithm_1(waves);
  std::int64_t unit = 1;
  while (coarsest % unit != 0 || divided_up(waves.count(), unit) > most_units) ++unit;
  return unit;
}

/// A GEMM in units of some waves, all but the last of which are whole.
class Units {
 public:
  Units(const Waves& waves, std::int64_t waves_of_unit, const TransferTime& transfer_time)
      : waves_(waves), waves_of_unit_(waves_of_unit), count_(divided_up(waves.count(), waves_of_unit)) {
    for (std::int64_t units = 0; units < count_; ++units) {
      group_time_.push_back(transfer_time(tiles_of(units), true));
      last_group_time_.push_back(transfer_time(waves.tiles - tiles_of(units), false));
    }
  }

  std::int64_t count() const { return count_; }
  std::int64_t waves_of_unit() const { return waves_of_unit_; }
  int waves_of(std::int64_t units) const { return static_cast<int>(units * waves_of_unit_); }
  int waves_after(std::int64_t units) const { return static_cast<int>(waves_.count() - units * waves_of_unit_); }
  double compute_time(std::int64_t waves) const { return static_cast<double>(waves) * waves_.wave_us; }
  /// Of a group that is not the last one.
  double group_time(std::int64_t units) const { return group_time_[static_cast<std::size_t>(units)]; }
  /// Of all that follows the first `units`.
  double last_group_time(std::int64_t units) const { return last_group_time_[static_cast<std::size_t>(units)]; }
  double end_of_one_group() const {
    return compute_time(divided_up(waves_.tiles, waves_.tiles_of_wave_alone)) + last_group_time(0);
  }

 private:
  std::int64_t tiles_of(std::int64_t units) const { return units * waves_of_unit_ * waves_.tiles_of_wave; }

  const Waves& waves_;
  std::int64_t waves_of_unit_, count_;
  std::vector<double> group_time_, last_group_time_;  // by units of the group; by units before it
};

/// Tries every partition, smallest groups first.
class Algorithm1 {
 public:
  explicit Algorithm1(const Units& units) : units_(units) {}

  std::vector<int> best() {
    add_group(0, 0, 0);
    return best_;
  }

 private:
  /// The groups so far hold `done` units; the last of them has been sent at `sent`.
  void add_group(std::int64_t done, double computed, double sent) {
    for (std::int64_t units = 1; done + units < units_.count(); ++units) {
      const double ready = computed + units_.compute_time(units_.waves_of(units));
      groups_.push_back(units_.waves_of(units));
      add_group(done + units, ready, std::max(ready, sent) + units_.group_time(units));
      groups_.pop_back();
    }
    groups_.push_back(units_.waves_after(done));
    const double ready = computed + units_.compute_time(groups_.back());
    keep_if_best(groups_.size() == 1 ? units_.end_of_one_group()
                                     : std::max(ready, sent) + units_.last_group_time(done));
    groups_.pop_back();
  }

  void keep_if_best(double end) {
    const bool starts_late = groups_.size() > 5 && groups_.front() > units_.waves_of(2);
    if (starts_late || (!best_.empty() && end >= best_end_)) return;
    best_end_ = end;
    best_ = groups_;
  }

  const Units& units_;
  std::vector<int> groups_, best_;
  double best_end_ = 0;
};

/// For each number of groups and of units in them: when the best grouping has been sent.
class SoonestSent {
 public:
  explicit SoonestSent(const Units& units) : units_(units) {
    std::vector<double> nothing(static_cast<std::size_t>(units.count()), std::numeric_limits<double>::infinity());
    nothing[0] = 0;
    sent_.push_back(std::move(nothing));
    last_units_.emplace_back();
  }

  /// Groupings into one group more than before; they leave at least one unit for the group after them.
  void add_group() {
    const auto count = static_cast<std::size_t>(units_.count());
    const std::vector<double> before = sent_.back();
    std::vector<double> sent(count, std::numeric_limits<double>::infinity());
    std::vector<std::int64_t> last_units(count, 0);
    for (std::size_t end = sent_.size(); end < count; ++end) {
      const double computed = units_.compute_time(units_.waves_of(static_cast<std::int64_t>(end)));
      for (std::size_t begin = sent_.size() - 1; begin < end; ++begin) {
        const auto units = static_cast<std::int64_t>(end - begin);
        const double time = std::max(computed, before[begin]) + units_.group_time(units);
        if (time < sent[end]) sent[end] = time, last_units[end] = units;
      }
    }
    sent_.push_back(std::move(sent));
    last_units_.push_back(std::move(last_units));
  }

  struct Whole {
    double end = std::numeric_limits<double>::infinity();
    std::vector<int> groups;
  };
  /// The best grouping of the whole GEMM into those groups and a last one.
  Whole with_last_group() const {
    if (sent_.size() == 1) return {units_.end_of_one_group(), {units_.waves_after(0)}};
    const double computed = units_.compute_time(units_.waves_after(0));
    Whole whole;
    std::int64_t before_last = 0;
    for (std::int64_t units = static_cast<std::int64_t>(sent_.size()) - 1; units < units_.count(); ++units) {
      const double sent = sent_.back()[static_cast<std::size_t>(units)];
      const double end = std::max(computed, sent) + units_.last_group_time(units);
      if (end < whole.end) whole.end = end, before_last = units;
    }
    whole.groups = {units_.waves_after(before_last)};
    for (std::size_t groups = sent_.size() - 1; groups > 0; --groups) {
      const std::int64_t units = last_units_[groups][static_cast<std::size_t>(before_last)];
      whole.groups.insert(whole.groups.begin(), units_.waves_of(units));
      before_last -= units;
    }
    return whole;
  }

 private:
  const Units& units_;
  std::vector<std::vector<double>> sent_;              // [groups][units]
  std::vector<std::vector<std::int64_t>> last_units_;  // of the last of those groups
};

/// No grouping into so many groups ends sooner.
double least_end(const Units& units, std::int64_t groups) {
  double group = std::numeric_limits<double>::infinity(), last = units.last_group_time(0);
  for (std::int64_t i = 1; i < units.count(); ++i) {
    group = std::min(group, units.group_time(i));
    last = std::min(last, units.last_group_time(i));
  }
  return units.compute_time(units.waves_of_unit()) + static_cast<double>(groups - 1) * group + last;
}

}  // namespace

double predicted_end(const Waves& waves, const std::vector<int>& groups, const TransferTime& transfer_time) {
  if (groups.size() == 1) return Units(waves, waves.count(), transfer_time).end_of_one_group();
  std::int64_t waves_done = 0;
  double sent = 0;
  for (std::size_t i = 0; i + 1 < groups.size(); ++i) {
    waves_done += groups[i];
    sent = std::max(static_cast<double>(waves_done) * waves.wave_us, sent) +
           transfer_time(groups[i] * waves.tiles_of_wave, true);
  }
  return std::max(static_cast<double>(waves.count()) * waves.wave_us, sent) +
         transfer_time(waves.tiles - waves_done * waves.tiles_of_wave, false);
}

std::vector<int> algorithm_1_groups(const Waves& waves, const TransferTime& transfer_time) {
  return Algorithm1(Units(waves, unit_of_algorithm_1(waves), transfer_time)).best();
}

std::vector<std::vector<int>> best_groupings(const Waves& waves, const TransferTime& transfer_time, std::size_t count) {
  const Units units(waves, finest_unit(waves), transfer_time);
  SoonestSent soonest(units);
  std::vector<SoonestSent::Whole> best;  // sorted by end; of equally good ones fewer groups first
  for (std::int64_t groups = 1; groups <= units.count(); ++groups) {
    if (best.size() == count && least_end(units, groups) >= best.back().end) break;
    if (groups > 1) soonest.add_group();
    SoonestSent::Whole whole = soonest.with_last_group();
    const auto place = std::upper_bound(best.begin(), best.end(), whole.end,
                                        [](double end, const auto& other) { return end < other.end; });
    best.insert(place, std::move(whole));
    if (best.size() > count) best.pop_back();
  }
  std::vector<std::vector<int>> groupings;
  for (SoonestSent::Whole& whole : best) groupings.push_back(std::move(whole.groups));
  return groupings;
}

}  // namespace weft::scenarios::families
