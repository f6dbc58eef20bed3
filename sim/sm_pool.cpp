#include "sim/sm_pool.hpp"

#include <algorithm>

namespace weft::sim {

SmPool::SmPool(Engine& engine, SmLayout& layout)
    : engine_(engine),
      layout_(layout),
      kinds_{{layout.empty_sm(), layout.sms()}},
      kind_of_(layout.sms(), 0),
      candidates_(layout.gpcs()),
      candidate_sms_(layout.sms()) {}

void SmPool::submit(Grid& grid) {
  const auto behind = std::upper_bound(waiting_.begin(), waiting_.end(), grid.priority,
                                       [](int priority, const Grid* other) { return priority < other->priority; });
  waiting_.insert(behind, &grid);
  request_dispatch();
}

void SmPool::release(Grid& grid, std::span<const int> sms) {
  take_room(sms, grid.cta, -1);
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
  int busy = 0;
  for (const Kind& kind : kinds_)
    if (load(kind) > 0) busy += kind.sms;
  return busy;
}

void SmPool::request_dispatch() {
  if (dispatch_requested_ || waiting_.empty()) return;
  dispatch_requested_ = true;
  engine_.at(engine_.now(), waiter_for<&SmPool::dispatch>(this), Phase::dispatch);
}

void SmPool::dispatch() {
  dispatch_requested_ = false;
  for (std::size_t next = 0; next < waiting_.size();) {
    Grid& grid = *waiting_[next];
    place(grid);
    const bool at_own_limit = allowed(grid) == 0;
    const bool complete = grid.unplaced == 0;
    if (complete) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    if (!placed_.empty()) grid.on_placed(placed_);  // may withdraw the grid
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

void SmPool::place(Grid& grid) {
  placed_.clear();
  const int most = allowed(grid);
  if (most == 0) return;
  is_placed_at_once(grid, most) ? place_at_once(grid, most) : place_round_by_round(grid, most);
  const auto placed = static_cast<int>(placed_.size());
  residents_ += placed;
  if (grid.resident == 0 && placed > 0) holding_.push_back(&grid);
  grid.unplaced -= placed;
  grid.resident += placed;
}

/// On an empty GPU all rounds are the same: single CTAs, or whole clusters of which an SM holds one CTA.
bool SmPool::is_placed_at_once(const Grid& grid, int most) const {
  return residents_ == 0 && (grid.cluster == 1 || (most % grid.cluster == 0 && layout_.empty_sm().ctas(grid.cta) == 1));
}

/// What place_round_by_round() comes to there: every SM of the round gets as many, or one less.
void SmPool::place_at_once(const Grid& grid, int most) {
  const std::span<const int> round = layout_.round_of(grid.cluster);
  const auto width = static_cast<int>(round.size());
  const int ctas = std::min(most, layout_.empty_sm().ctas(grid.cta) * width);
  if (ctas == 0) return;
  for (int left = ctas; left > 0; left -= width)
    placed_.insert(placed_.end(), round.begin(), round.begin() + std::min(left, width));
  const int each = ctas / width, one_more = ctas % width;
  if (one_more > 0) take_room(round.first(one_more), grid.cta, each + 1);
  if (each > 0) take_room(round.subspan(one_more), grid.cta, each);
}

/// Round after round over the SMs, the emptiest first, so that CTAs spread before they double up: SMs with more
/// residents come in when no emptier ones can take any.
/// Clusters go round the GPCs, one to each in turn, to the emptiest SMs first.
void SmPool::place_round_by_round(const Grid& grid, int most) {
  const int full = layout_.empty_sm().slots;
  find_fitting(grid.cta);
  for (int most_load = least_load(0); most_load < full && static_cast<int>(placed_.size()) < most;) {
    find_candidates(most_load);
    const std::size_t before = placed_.size();
    for (bool some_placed = true; some_placed;) {
      some_placed = false;
      for (Candidates& candidates : candidates_) some_placed |= place_cluster(grid, most, candidates);
    }
    take_room(std::span(placed_).subspan(before), grid.cta, 1);
    find_fitting(grid.cta);
    most_load = placed_.size() > before ? std::max(most_load + 1, least_load(0)) : least_load(most_load + 1);
  }
}

void SmPool::find_fitting(const CtaShape& cta) {
  for (Kind& kind : kinds_) kind.is_fitting = kind.sms > 0 && kind.room.fits(cta);
}

/// Resident CTAs, at least `from`, on the emptiest SMs that can take one such CTA more; as many as an SM can have where
/// there are none.
int SmPool::least_load(int from) const {
  int least = layout_.empty_sm().slots;
  for (const Kind& kind : kinds_)
    if (kind.is_fitting && load(kind) >= from) least = std::min(least, load(kind));
  return least;
}

/// SMs with at most so many residents that can take one such CTA more.
void SmPool::find_candidates(int most_load) {
  for (int gpc = 0; gpc < layout_.gpcs(); ++gpc)
    candidates_[gpc].next = candidates_[gpc].end = &candidate_sms_[layout_.first_sm(gpc)];
  for (int now = least_load(0); now <= most_load; now = least_load(now + 1))
    for (int sm = 0; sm < layout_.sms(); ++sm)
      if (const Kind& kind = kinds_[kind_of_[sm]]; kind.is_fitting && load(kind) == now)
        *candidates_[layout_.gpc_of(sm)].end++ = sm;
}

bool SmPool::place_cluster(const Grid& grid, int most, Candidates& candidates) {
  const int wanted = std::min(grid.cluster, most - static_cast<int>(placed_.size()));
  if (wanted == 0 || wanted > candidates.end - candidates.next) return false;
  placed_.insert(placed_.end(), candidates.next, candidates.next + wanted);
  candidates.next += wanted;
  return true;
}

/// Each of the SMs takes so many CTAs; below 0: they leave.
void SmPool::take_room(std::span<const int> sms, const CtaShape& cta, int ctas) {
  for (std::size_t begin = 0, end = 0; begin < sms.size(); begin = end) {
    const int from = kind_of_[sms[begin]];
    const int to = kind_with(kinds_[from].room.without(cta, ctas));
    for (; end < sms.size() && kind_of_[sms[end]] == from; ++end) kind_of_[sms[end]] = to;
    kinds_[from].sms -= static_cast<int>(end - begin);
    kinds_[to].sms += static_cast<int>(end - begin);
  }
}

/// The kind of SMs that have this room: a new one takes the place of one that no SM is of any more.
int SmPool::kind_with(const SmRoom& room) {
  const auto is_alike = [&](const Kind& kind) { return kind.sms > 0 && kind.room == room; };
  auto found = std::find_if(kinds_.begin(), kinds_.end(), is_alike);
  if (found == kinds_.end())
    found = std::find_if(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.sms == 0; });
  if (found == kinds_.end()) found = kinds_.insert(found, Kind{});
  found->room = room;
  return static_cast<int>(found - kinds_.begin());
}

}  // namespace weft::sim
