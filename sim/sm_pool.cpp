#include "sim/sm_pool.hpp"

#include <algorithm>

namespace weft::sim {

SmPool::SmPool(Engine& engine, SmPlacement& placement)
    : engine_(engine), placement_(placement), state_(placement.nobody()) {}

void SmPool::submit(Grid& grid) {
  const auto behind = std::upper_bound(waiting_.begin(), waiting_.end(), grid.priority,
                                       [](int priority, const Grid* other) { return priority < other->priority; });
  waiting_.insert(behind, &grid);
  request_dispatch();
}

void SmPool::release(Grid& grid, std::span<const int> sms) {
  placement_.leave(state_, sms, grid.cta);
  grid.resident -= static_cast<int>(sms.size());
  if (grid.resident == 0) {
    std::erase(holding_, &grid);
    grid.lists.clear();
  }
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
  for (const SmOccupancy::Kind& kind : state_->occupancy.kinds)
    if (kind.room != placement_.layout().empty_sm()) busy += kind.sms;
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
    const std::span<const int> placed = place(grid);
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

std::span<const int> SmPool::place(Grid& grid) {
  const int most = allowed(grid);
  if (most == 0) return {};
  const SmListPointer list = placement_.place(state_, grid.cta, grid.cluster, most);
  const auto placed = static_cast<int>(list->sms.size());
  if (placed == 0) return {};
  if (grid.resident == 0) holding_.push_back(&grid);
  if (grid.lists.empty() || grid.lists.back() != list) grid.lists.push_back(list);
  grid.unplaced -= placed;
  grid.resident += placed;
  return list->sms;
}

}  // namespace weft::sim
