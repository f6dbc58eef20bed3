#include "sim/tiled_kernel.hpp"

#include <algorithm>
#include <numeric>

#include "models/schedule/facts.hpp"
#include "models/schedule/layout.hpp"

namespace weft::sim {

TiledKernel::TiledKernel(Engine& engine, SmPool& sms, FluidPool& pool, Activity& activity, TiledWork work)
    : engine_(engine),
      sms_(sms),
      pool_(pool),
      activity_(activity),
      work_(std::move(work)),
      path_(pool.add_path(work_.uses)) {
  unplaced = work_.scheduler == TileScheduler::grid ? static_cast<int>(work_.tiles) : work_.ctas;
  next_tile_ = begins_with_own_tiles() ? std::min<std::int64_t>(work_.ctas, work_.tiles) : 0;
  const TileGroups groups = tile_groups(activity.operation->work);
  group_left_ = groups.tiles.empty() ? std::vector{work_.tiles}
                                     : groups_of_first_tiles({groups.tiles.begin(), groups.tiles.end()}, work_.tiles);
  group_first_.resize(group_left_.size());
  std::exclusive_scan(group_left_.begin(), group_left_.end(), group_first_.begin(), std::int64_t{0});
  owner = &activity;
  for (std::size_t i = 0; i < activity.tile_waits.size(); ++i) {
    Occurrence& release = *activity.tile_waits[i];
    if (release.has_happened()) continue;
    group_waits_.emplace_back(groups.waits.empty() ? 0 : groups.waits[i].tile_group, &release);
    release.call_when_happened({[](void* kernel) { static_cast<TiledKernel*>(kernel)->resume_stalled(); }, this});
  }
}

void TiledKernel::start() {
  for (std::size_t group = 0; group < activity_.tile_groups.size(); ++group)
    if (group_left_[group] == 0) activity_.tile_groups[group].happen(engine_);
  if (work_.setup_us <= 0) return sms_.submit(*this);
  engine_.after(from_us(work_.setup_us), {[](void* context) {
                                            auto* kernel = static_cast<TiledKernel*>(context);
                                            kernel->sms_.submit(*kernel);
                                          },
                                          this});
}

void TiledKernel::on_placed(const std::vector<int>& sms) {
  activity_.first_cta_started.happen(engine_);
  if (unplaced == 0) activity_.all_ctas_started.happen(engine_);
  const int first_cta = placed_ctas_;
  placed_ctas_ += static_cast<int>(sms.size());
  begins_with_own_tiles() ? run_own_tiles(sms, first_cta, first_cta) : go_on(sms, first_cta);
}

bool TiledKernel::begins_with_own_tiles() const {
  return work_.scheduler == TileScheduler::static_persistent || work_.scheduler == TileScheduler::dynamic_persistent;
}

/// Tiles up to the first group that still waits for its counter.
std::int64_t TiledKernel::ready_tiles() const {
  std::int64_t ready = work_.tiles;
  for (const auto& [group, release] : group_waits_)
    if (!release->has_happened()) ready = std::min(ready, group_first_[group]);
  return ready;
}

/// Gives CTAs that are free the next tiles; who finds none leaves.
void TiledKernel::go_on(std::vector<int> sms, int first_cta) {
  const auto ctas = static_cast<std::int64_t>(sms.size());
  const std::int64_t left = work_.tiles - next_tile_;
  if (left == 0) return leave(sms);
  const std::int64_t ready = std::min(ctas, ready_tiles() - next_tile_);
  if (ready == 0) {
    stalled_.push_back({std::move(sms), first_cta, -1});
    return;
  }

  const std::int64_t first = next_tile_;
  next_tile_ += ready;
  if (next_tile_ == work_.tiles && !begins_with_own_tiles()) {  // CTAs that hold no SM by now would find nothing to do
    sms_.withdraw(*this);
    activity_.all_ctas_started.happen(engine_);
  }
  if (work_.scheduler == TileScheduler::stream_k && left < ctas && ready == left)
    return run(std::move(sms), first_cta, first, ready, static_cast<double>(left) / static_cast<double>(ctas));
  std::vector<int> others(sms.begin() + static_cast<std::ptrdiff_t>(ready), sms.end());
  sms.resize(static_cast<std::size_t>(ready));
  run(std::move(sms), first_cta, first, ready, 1);
  if (!others.empty()) go_on(std::move(others), first_cta + static_cast<int>(ready));
}

/// CTA i begins with tile i, whenever it comes, and goes on with i + ctas, i + 2 ctas, … or the next that is left: the
/// CTAs whose own tile does not exist leave.
void TiledKernel::run_own_tiles(std::vector<int> sms, int first_cta, std::int64_t first) {
  const std::int64_t exist = std::clamp<std::int64_t>(work_.tiles - first, 0, static_cast<std::int64_t>(sms.size()));
  if (exist < static_cast<std::int64_t>(sms.size()))
    leave(std::vector<int>(sms.begin() + static_cast<std::ptrdiff_t>(exist), sms.end()));
  const std::int64_t ready = std::clamp<std::int64_t>(ready_tiles() - first, 0, exist);
  const auto stalled = sms.begin() + static_cast<std::ptrdiff_t>(ready);
  if (ready < exist)
    stalled_.push_back({{stalled, sms.begin() + static_cast<std::ptrdiff_t>(exist)},
                        first_cta + static_cast<int>(ready),
                        first + ready});
  sms.erase(stalled, sms.end());
  if (ready > 0) run(std::move(sms), first_cta, first, ready, 1);
}

void TiledKernel::run(std::vector<int> sms, int first_cta, std::int64_t first, std::int64_t count,
                      double share_of_tile) {
  ++waves_;
  Cohort* cohort = free_cohort();
  const double bytes = static_cast<double>(sms.size()) * work_.bytes_per_tile;
  *cohort = {this, first, count, first_cta, std::move(sms)};
  const double cap = bytes / work_.tile_us / (work_.slowdown != nullptr ? *work_.slowdown : 1);
  pool_.start(bytes * share_of_tile, cap, path_,
              {[](void* context) {
                 auto* ended = static_cast<Cohort*>(context);
                 ended->kernel->on_cohort_end(ended);
               },
               cohort});
}

void TiledKernel::on_cohort_end(Cohort* cohort) {
  std::vector<int> sms = std::move(cohort->sms);
  const std::int64_t first = cohort->first, count = cohort->count;
  const int first_cta = cohort->first_cta;
  idle_cohorts_.push_back(cohort);
  switch (work_.scheduler) {
    case TileScheduler::grid:
      leave(sms);
      break;
    case TileScheduler::static_persistent:
      run_own_tiles(std::move(sms), first_cta, first + work_.ctas);
      break;
    case TileScheduler::dynamic_persistent:
    case TileScheduler::stream_k:
      go_on(std::move(sms), first_cta);
      break;
  }
  count_done(first, count);
}

/// A group is done when its last tile is: the mean end of the cohort plus the tail.
void TiledKernel::count_done(std::int64_t first, std::int64_t count) {
  done_tiles_ += count;
  const Picoseconds tail = from_us(work_.tail_us);
  for (std::size_t group = 0; group < group_left_.size(); ++group) {
    const std::int64_t group_end = group + 1 < group_first_.size() ? group_first_[group + 1] : work_.tiles;
    const std::int64_t overlap = std::min(first + count, group_end) - std::max(first, group_first_[group]);
    if (overlap <= 0) continue;
    group_left_[group] -= overlap;
    if (group_left_[group] > 0 || activity_.tile_groups.empty()) continue;
    group_ends_.push_back({this, static_cast<int>(group)});
    engine_.after(tail, {[](void* context) {
                           const auto* end = static_cast<GroupEnd*>(context);
                           end->kernel->activity_.tile_groups[end->group].happen(end->kernel->engine_);
                         },
                         &group_ends_.back()});
  }
  if (done_tiles_ < work_.tiles) return;
  engine_.after(tail + from_us(work_.epilogue_us), {[](void* context) {
                                                      auto* kernel = static_cast<TiledKernel*>(context);
                                                      kernel->activity_.end.happen(kernel->engine_);
                                                    },
                                                    this});
}

void TiledKernel::resume_stalled() {
  for (auto& [sms, first_cta, first] : std::exchange(stalled_, {}))
    if (first >= 0)
      run_own_tiles(std::move(sms), first_cta, first);
    else
      go_on(std::move(sms), first_cta);
}

void TiledKernel::leave(const std::vector<int>& sms) { sms_.release(*this, sms); }

TiledKernel::Cohort* TiledKernel::free_cohort() {
  if (idle_cohorts_.empty()) return &cohorts_.emplace_back();
  Cohort* cohort = idle_cohorts_.back();
  idle_cohorts_.pop_back();
  return cohort;
}

}  // namespace weft::sim
