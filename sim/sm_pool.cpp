#include "sim/sm_pool.hpp"

#include <algorithm>

namespace weft::sim {

SmPool::SmPool(Engine& engine, const Gpu& gpu) : engine_(engine), gpu_(gpu), candidates_(gpu.gpc_sms.size()) {
  for (int gpc = 0; gpc < static_cast<int>(gpu.gpc_sms.size()); ++gpc) {
    gpc_range_.emplace_back(static_cast<int>(sms_.size()), gpu.gpc_sms[gpc]);
    sms_.resize(sms_.size() + gpu.gpc_sms[gpc],
                Sm{gpc, gpu.threads_per_sm, gpu.registers_per_sm, gpu.ctas_per_sm, gpu.shared_memory_per_sm});
  }
}

void SmPool::submit(Grid& grid) {
  const auto behind = std::upper_bound(waiting_.begin(), waiting_.end(), grid.priority,
                                       [](int priority, const Grid* other) { return priority < other->priority; });
  waiting_.insert(behind, &grid);
  request_dispatch();
}

void SmPool::release(Grid& grid, const std::vector<int>& sms) {
  for (const int sm : sms) occupy(sms_[sm], grid.cta, +1);
  residents_ -= static_cast<int>(sms.size());
  grid.resident -= static_cast<int>(sms.size());
  if (grid.resident == 0) std::erase(holding_, &grid);
  request_dispatch();
}

void SmPool::withdraw(Grid& grid) {
  grid.unplaced = 0;
  if (std::erase(waiting_, &grid) > 0) request_dispatch();
}

const Grid* SmPool::what_holds_back(const Grid& grid) const {
  if (!waiting_.empty() && waiting_.front() != &grid) return waiting_.front();
  const auto other = std::find_if(holding_.begin(), holding_.end(), [&](const Grid* one) { return one != &grid; });
  return other == holding_.end() ? nullptr : *other;
}

int SmPool::busy_sms() const {
  return static_cast<int>(std::count_if(sms_.begin(), sms_.end(), [&](const Sm& sm) { return resident(sm) > 0; }));
}

int SmPool::ctas_of_empty_sm(const CtaShape& cta) const {
  Sm empty{0, gpu_.threads_per_sm, gpu_.registers_per_sm, gpu_.ctas_per_sm, gpu_.shared_memory_per_sm};
  int ctas = 0;
  for (; empty.fits(cta); ++ctas) occupy(empty, cta, -1);
  return ctas;
}

int SmPool::capacity(const CtaShape& cta, int cluster) const {
  const int per_sm = ctas_of_empty_sm(cta);
  int total = 0;
  for (const auto& [first, sms_of_gpc] : gpc_range_)
    if (sms_of_gpc >= cluster) total += sms_of_gpc * per_sm / cluster * cluster;
  return total;
}

void SmPool::request_dispatch() {
  if (dispatch_requested_ || waiting_.empty()) return;
  dispatch_requested_ = true;
  engine_.at(engine_.now(), {on_dispatch, this}, Phase::dispatch);
}

void SmPool::dispatch() {
  dispatch_requested_ = false;
  for (std::size_t next = 0; next < waiting_.size();) {
    Grid& grid = *waiting_[next];
    const std::vector<int> placed = place(grid);
    const bool at_own_limit = allowed(grid) == 0;
    const bool complete = grid.unplaced == 0;
    if (complete) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    if (!placed.empty()) grid.on_placed(placed);  // may withdraw the grid
    if (complete || grid.unplaced == 0) continue;
    if (!at_own_limit) return;
    ++next;
  }
}

/// CTAs that the grid's own limit, at least one cluster, lets it place now.
int SmPool::allowed(const Grid& grid) {
  if (grid.most_sms == 0) return grid.unplaced;
  return std::min(grid.unplaced, (std::max(grid.most_sms, grid.cluster) - grid.resident) / grid.cluster * grid.cluster);
}

std::vector<int> SmPool::place(Grid& grid) {
  std::vector<int> placed;
  const int most = allowed(grid);
  if (most == 0) return placed;
  is_placed_at_once(grid, most) ? place_at_once(grid, most, placed) : place_round_by_round(grid, most, placed);
  residents_ += static_cast<int>(placed.size());
  if (grid.resident == 0 && !placed.empty()) holding_.push_back(&grid);
  grid.unplaced -= static_cast<int>(placed.size());
  grid.resident += static_cast<int>(placed.size());
  return placed;
}

/// On an empty GPU all rounds are the same: single CTAs, or whole clusters of which an SM holds one CTA.
bool SmPool::is_placed_at_once(const Grid& grid, int most) const {
  return residents_ == 0 && (grid.cluster == 1 || (most % grid.cluster == 0 && ctas_of_empty_sm(grid.cta) == 1));
}

/// What place_round_by_round() comes to there: every SM of the round gets as many, or one less.
void SmPool::place_at_once(const Grid& grid, int most, std::vector<int>& placed) {
  const std::vector<int>& round = round_of(grid.cluster);
  const auto width = static_cast<int>(round.size());
  const int ctas = std::min(most, ctas_of_empty_sm(grid.cta) * width);
  placed.reserve(static_cast<std::size_t>(ctas));
  for (int left = ctas; left > 0; left -= width)
    placed.insert(placed.end(), round.begin(), round.begin() + std::min(left, width));
  for (int i = 0; i < std::min(ctas, width); ++i) occupy(sms_[round[i]], grid.cta, -((ctas - i - 1) / width + 1));
}

const std::vector<int>& SmPool::round_of(int cluster) {
  const auto [known, is_new] = rounds_.try_emplace(cluster);
  std::vector<int>& round = known->second;
  if (is_new)
    for (int place = 0, before = -1; before != static_cast<int>(round.size()); place += cluster) {
      before = static_cast<int>(round.size());
      for (const auto& [first, sms_of_gpc] : gpc_range_)
        for (int i = 0; i < cluster && place + cluster <= sms_of_gpc; ++i) round.push_back(first + place + i);
    }
  return round;
}

/// Round after round over the SMs, the emptiest first, so that CTAs spread before they double up.
/// Clusters go round the GPCs, one to each in turn, to the emptiest SMs first.
void SmPool::place_round_by_round(const Grid& grid, int most, std::vector<int>& placed) {
  find_fitting(grid.cta);
  for (int load = least_load(); load < gpu_.ctas_per_sm && static_cast<int>(placed.size()) < most;
       load = std::max(load + 1, least_load())) {
    find_candidates(load);
    for (bool some_placed = true; some_placed;) {
      some_placed = false;
      for (std::vector<int>& candidates : candidates_) some_placed |= place_cluster(grid, most, candidates, placed);
    }
    std::erase_if(fitting_, [&](int sm) { return !sms_[sm].fits(grid.cta); });
  }
}

/// SMs that can take one such CTA more, the last of each GPC first.
void SmPool::find_fitting(const CtaShape& cta) {
  fitting_.clear();
  for (const auto& [first, sms_of_gpc] : gpc_range_)
    for (int sm = first + sms_of_gpc - 1; sm >= first; --sm)
      if (sms_[sm].fits(cta)) fitting_.push_back(sm);
}

/// Resident CTAs on the emptiest of those; as many as an SM can have where there is none.
int SmPool::least_load() const {
  int least = gpu_.ctas_per_sm;
  for (const int sm : fitting_) least = std::min(least, resident(sms_[sm]));
  return least;
}

/// Those of each GPC with at most `load` resident CTAs, the emptiest last.
void SmPool::find_candidates(int load) {
  for (std::vector<int>& candidates : candidates_) candidates.clear();
  for (const int sm : fitting_)
    if (resident(sms_[sm]) <= load) candidates_[sms_[sm].gpc].push_back(sm);
  const auto fuller = [&](int a, int b) { return resident(sms_[a]) > resident(sms_[b]); };
  for (std::vector<int>& candidates : candidates_)
    if (!std::is_sorted(candidates.begin(), candidates.end(), fuller))
      std::stable_sort(candidates.begin(), candidates.end(), fuller);
}

bool SmPool::place_cluster(const Grid& grid, int most, std::vector<int>& candidates, std::vector<int>& placed) {
  const int wanted = std::min(grid.cluster, most - static_cast<int>(placed.size()));
  if (wanted == 0 || wanted > static_cast<int>(candidates.size())) return false;
  for (int i = 0; i < wanted; ++i) {
    occupy(sms_[candidates.back()], grid.cta, -1);
    placed.push_back(candidates.back());
    candidates.pop_back();
  }
  return true;
}

/// `change` CTAs more fit: below 0, so many have come.
void SmPool::occupy(Sm& sm, const CtaShape& cta, int change) {
  sm.slots += change;
  sm.threads += change * cta.threads;
  sm.registers += change * cta.registers;
  sm.shared_memory += change * cta.shared_memory;
}

}  // namespace weft::sim
