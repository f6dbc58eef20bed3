#include "sim/sm_pool.hpp"

#include <algorithm>

namespace weft::sim {

SmPool::SmPool(Engine& engine, const Gpu& gpu) : engine_(engine), gpu_(gpu) {
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
  grid.resident -= static_cast<int>(sms.size());
  request_dispatch();
}

void SmPool::withdraw(Grid& grid) {
  grid.unplaced = 0;
  if (std::erase(waiting_, &grid) > 0) request_dispatch();
}

int SmPool::busy_sms() const {
  return static_cast<int>(
      std::count_if(sms_.begin(), sms_.end(), [&](const Sm& sm) { return sm.slots < gpu_.ctas_per_sm; }));
}

int SmPool::capacity(const CtaShape& cta, int cluster) const {
  Sm empty{0, gpu_.threads_per_sm, gpu_.registers_per_sm, gpu_.ctas_per_sm, gpu_.shared_memory_per_sm};
  int per_sm = 0;
  for (; empty.fits(cta); ++per_sm) {
    --empty.slots;
    empty.threads -= cta.threads;
    empty.registers -= cta.registers;
    empty.shared_memory -= cta.shared_memory;
  }
  int total = 0;
  for (const auto& [first, sms_of_gpc] : gpc_range_) total += sms_of_gpc * per_sm / cluster * cluster;
  return total;
}

void SmPool::request_dispatch() {
  if (dispatch_requested_ || waiting_.empty()) return;
  dispatch_requested_ = true;
  engine_.at(engine_.now(), {on_dispatch, this}, Phase::dispatch);
}

void SmPool::dispatch() {
  dispatch_requested_ = false;
  while (!waiting_.empty()) {
    Grid& grid = *waiting_.front();
    std::vector<int> placed;
    while (grid.unplaced > 0 && place_cluster(grid, placed)) {
    }
    const bool complete = grid.unplaced == 0;
    if (complete) waiting_.erase(waiting_.begin());
    if (!placed.empty()) grid.on_placed(placed);
    if (!complete) return;
  }
}

bool SmPool::place_cluster(Grid& grid, std::vector<int>& placed) {
  const int wanted = std::min(grid.cluster, grid.unplaced);
  if (grid.most_sms > 0 && grid.resident + wanted > grid.most_sms) return false;
  for (const auto& [first, sms_of_gpc] : gpc_range_) {
    const std::size_t before = placed.size();
    for (int sm = first; sm < first + sms_of_gpc; ++sm) {
      if (!sms_[sm].fits(grid.cta)) continue;
      placed.push_back(sm);
      if (static_cast<int>(placed.size() - before) < wanted) continue;
      for (std::size_t i = before; i < placed.size(); ++i) occupy(sms_[placed[i]], grid.cta, -1);
      grid.unplaced -= wanted;
      grid.resident += wanted;
      return true;
    }
    placed.resize(before);
  }
  return false;
}

void SmPool::occupy(Sm& sm, const CtaShape& cta, int sign) {
  sm.slots += sign;
  sm.threads += sign * cta.threads;
  sm.registers += sign * cta.registers;
  sm.shared_memory += sign * cta.shared_memory;
}

}  // namespace weft::sim
