#include "sim/tiled_kernel.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>
#include <utility>

#include "models/base/units.hpp"
#include "models/schedule/layout.hpp"

namespace weft::sim {
namespace {

constexpr double shortest_transfer_us = 1e-3;  // links are what limits stores and fetches

}  // namespace

double TiledWork::waves() const {
  const std::int64_t whole = tiles / ctas, left = tiles % ctas;
  if (left == 0) return static_cast<double>(whole);
  if (scheduler != TileScheduler::stream_k) return static_cast<double>(whole + 1);
  return static_cast<double>(whole) + (last_wave > 0 ? last_wave : static_cast<double>(left) / ctas);
}

TiledKernel::TiledKernel(Engine& engine, SmPool& sms, FluidPool& pool, TiledWork&& work, TileGroups groups)
    : engine_(engine), sms_(sms), pool_(pool), work_(std::move(work)), groups_(groups), tail_(from_us(work_.tail_us)) {
  find_paths();
  find_groups();
}

void TiledKernel::find_paths() {
  path_ = pool_.add_path(work_.uses);
  store_paths_.clear();
  fetch_paths_.clear();
  std::optional<int> all_stores;
  if (work_.store_GBps > 0 && !work_.stores.empty()) all_stores = pool_.add_resource(bytes_per_us(work_.store_GBps));
  for (const TileStores& stores : work_.stores) {
    Uses uses = stores.uses;
    if (all_stores && stores.bytes_per_tile > 0) uses.push_back({*all_stores, static_cast<double>(stores.copies)});
    store_paths_.push_back(path_of(uses));
  }
  for (const TileFetch& fetch : work_.fetches) {
    Uses uses = fetch.uses;
    if (fetch.GBps > 0) uses.push_back({pool_.add_resource(bytes_per_us(fetch.GBps)), 1});
    fetch_paths_.push_back(path_of(uses));
  }
}

PathId TiledKernel::path_of(const Uses& uses) { return uses.empty() ? path_ : pool_.add_path(uses); }

void TiledKernel::change_work(TiledWork&& work) {
  assert(work.tiles == work_.tiles);
  adapt_work([&](TiledWork& own) { own = std::move(work); });
}

void TiledKernel::find_groups() {
  if (groups_.tiles.empty()) {
    group_tiles_.assign(1, work_.tiles);
  } else {
    const auto tiles = groups_of_first_tiles({groups_.tiles.begin(), groups_.tiles.end()}, work_.tiles);
    group_tiles_.assign(tiles.begin(), tiles.end());
  }
  group_first_.resize(group_tiles_.size());
  std::exclusive_scan(group_tiles_.begin(), group_tiles_.end(), group_first_.begin(), std::int64_t{0});
  for (std::size_t group = 0; group < group_tiles_.size(); ++group) {
    group_ends_.push_back({this, static_cast<int>(group)});
    const auto of_group = [&](const TileSignal& signal) { return signal.tile_group == static_cast<int>(group); };
    tells_.push_back(groups_.signals.empty() || std::ranges::any_of(groups_.signals, of_group));
  }
}

void TiledKernel::start(Activity& activity) {
  owner = activity_ = &activity;
  unplaced = work_.scheduler == TileScheduler::grid ? static_cast<int>(work_.tiles) : work_.ctas;
  next_tile_ = begins_with_own_tiles() ? std::min<std::int64_t>(work_.ctas, work_.tiles) : 0;
  done_tiles_ = placed_ctas_ = 0;
  all_known_ = {};
  fetched_ = multiplied_ = 0;
  fetched_first_ = false;
  group_left_ = group_tiles_;
  wait_for_groups();
  for (std::size_t group = 0; group < activity.tile_groups.size(); ++group)
    if (group_left_[group] == 0) activity.tile_groups[group].happen(engine_);
  if (work_.setup_us <= 0) return submit();
  engine_.after(from_us(work_.setup_us), waiter_for<&TiledKernel::submit>(this));
}

void TiledKernel::wait_for_groups() {
  group_waits_.clear();
  addend_waits_.clear();
  if (activity_->meeting != nullptr)
    activity_->meeting->all_began.call_when_happened(waiter_for<&TiledKernel::on_met>(this));
  for (std::size_t i = 0; i < activity_->tile_waits.size(); ++i) {
    Occurrence& release = *activity_->tile_waits[i];
    if (release.has_happened()) continue;
    const bool for_addend = !groups_.waits.empty() && groups_.waits[i].for_addend;
    (for_addend ? addend_waits_ : group_waits_)
        .emplace_back(groups_.waits.empty() ? 0 : groups_.waits[i].tile_group, &release);
    release.call_when_happened(for_addend ? waiter_for<&TiledKernel::resume_held>(this)
                                          : waiter_for<&TiledKernel::resume_stalled>(this));
  }
}

/// All ranks have begun: rows may be fetched, and tiles stored.
void TiledKernel::on_met() {
  if (!work_.fetches.empty()) engine_.after(from_us(work_.fetch_latency_us), waiter_for<&TiledKernel::fetch>(this));
  resume_held();
}

/// The next bytes, while tiles run that have theirs.
void TiledKernel::fetch() {
  if (fetched_ == work_.fetches.size()) return;
  const TileFetch& next = work_.fetches[fetched_];
  const double bytes = fetched_first_ ? next.bytes - next.first_bytes : next.first_bytes;
  pool_.start(bytes, bytes / shortest_transfer_us, fetch_paths_[fetched_], waiter_for<&TiledKernel::on_fetched>(this));
}

void TiledKernel::on_fetched() {
  const TileFetch& fetch_of = work_.fetches[fetched_];
  fetched_first_ = !fetched_first_ && fetch_of.first_bytes < fetch_of.bytes;
  if (!fetched_first_) {
    ++fetched_;
    engine_.after(from_us(fetch_of.share_after_last * work_.tile_us), waiter_for<&TiledKernel::on_multiplied>(this));
  }
  fetch();
  resume_stalled();
}

void TiledKernel::on_multiplied() {
  ++multiplied_;
  resume_held();
}

std::int64_t TiledKernel::first_tile_of(std::size_t fetch) const {
  return fetch < work_.fetches.size() ? work_.fetches[fetch].first_tile : work_.tiles;
}

void TiledKernel::on_placed(std::span<const int> sms) {
  activity_->first_cta_started.happen(engine_);
  if (unplaced == 0) activity_->all_ctas_started.happen(engine_);
  const int first_cta = placed_ctas_;
  placed_ctas_ += static_cast<int>(sms.size());
  Cohort& cohort = cohort_of(sms);
  begins_with_own_tiles() ? run_own_tiles(cohort, first_cta) : go_on(cohort);
}

bool TiledKernel::begins_with_own_tiles() const {
  return work_.scheduler == TileScheduler::static_persistent || work_.scheduler == TileScheduler::dynamic_persistent;
}

/// Tiles up to the first group that still waits for its counter.
std::int64_t TiledKernel::ready_tiles() const {
  std::int64_t ready = work_.tiles;
  for (const auto& [group, release] : group_waits_)
    if (!release->has_happened()) ready = std::min(ready, group_first_[group]);
  return std::min(ready, first_tile_of(fetched_ + (fetched_first_ ? 1 : 0)));
}

/// Gives CTAs that are free the next tiles; who finds none leaves.
void TiledKernel::go_on(Cohort& cohort) {
  const auto ctas = static_cast<std::int64_t>(cohort.sms.size());
  const std::int64_t left = work_.tiles - next_tile_;
  if (left == 0) return leave(cohort);
  const std::int64_t ready = std::min(ctas, ready_tiles() - next_tile_);
  const bool cuts_tiles = work_.scheduler == TileScheduler::stream_k && left < ctas;
  if (ready == 0 || (cuts_tiles && ready < left)) {
    stalled_.push_back({&cohort, -1});
    return;
  }

  const std::int64_t first = next_tile_;
  next_tile_ += ready;
  if (next_tile_ == work_.tiles && !begins_with_own_tiles()) {  // CTAs that hold no SM by now would find nothing to do
    sms_.withdraw(*this);
    activity_->all_ctas_started.happen(engine_);
  }
  if (cuts_tiles)
    return run(cohort, first, left,
               work_.last_wave > 0 ? work_.last_wave : static_cast<double>(left) / static_cast<double>(ctas));
  Cohort* others = ready < ctas ? &split(cohort, ready) : nullptr;
  run(cohort, first, ready, 1);
  if (others != nullptr) go_on(*others);
}

/// CTA i begins with tile i, whenever it comes, and goes on with i + ctas, i + 2 ctas, … or the next that is left: the
/// CTAs whose own tile does not exist leave.
void TiledKernel::run_own_tiles(Cohort& cohort, std::int64_t first) {
  const auto ctas = static_cast<std::int64_t>(cohort.sms.size());
  const std::int64_t exist = std::clamp<std::int64_t>(work_.tiles - first, 0, ctas);
  if (exist == 0) return leave(cohort);
  if (exist < ctas) leave(split(cohort, exist));
  const std::int64_t ready = std::clamp<std::int64_t>(ready_tiles() - first, 0, exist);
  if (ready == 0) {
    stalled_.push_back({&cohort, first});
    return;
  }
  if (ready < exist) stalled_.push_back({&split(cohort, ready), first + ready});
  run(cohort, first, ready, 1);
}

void TiledKernel::run(Cohort& cohort, std::int64_t first, std::int64_t count, double share_of_tile) {
  cohort.first = first;
  cohort.count = count;
  cohort.share_of_tile = share_of_tile;
  if (std::exchange(cohort.has_begun, true) || work_.start_us <= 0) return compute(cohort);
  engine_.after(from_us(work_.start_us), waiter_for<&Cohort::begin>(&cohort));
}

void TiledKernel::compute(Cohort& cohort) {
  const auto [bytes, rate] = flow_of(cohort);
  pool_.start(bytes, rate, path_, waiter_for<&Cohort::end>(&cohort));
}

/// Of its share of a tile on each of its CTAs.
TiledKernel::WaveFlow TiledKernel::flow_of(const Cohort& cohort) const {
  const double bytes = static_cast<double>(cohort.sms.size()) * work_.bytes_per_tile * cohort.share_of_tile;
  const double tile_us = work_.tile_us + store_hold_us(cohort) + addend_us(cohort) +
                         (fetched_ < work_.fetches.size() ? work_.fetch_hold_us : 0);
  return {bytes, bytes / (tile_us * cohort.share_of_tile) / (work_.slowdown != nullptr ? *work_.slowdown : 1)};
}

/// CTAs drift apart from tile to tile, so that fewer of them store at a time: the n-th tiles hold up 1 / n of the
/// first.
double TiledKernel::store_hold_us(const Cohort& cohort) const {
  if (cohort.stored_count == 0) return 0;
  const std::int64_t stored_before = cohort.first / work_.ctas;
  return work_.stores[cohort.stores].hold_us / static_cast<double>(std::max<std::int64_t>(1, stored_before));
}

double TiledKernel::addend_us(const Cohort& cohort) const {
  std::int64_t end = 0;
  for (const TileStores& stores : work_.stores)
    if (cohort.first < (end += stores.tiles)) return stores.addend_us;
  return 0;
}

void TiledKernel::on_cohort_end(Cohort& cohort) {
  if (is_amid_its_tiles(cohort)) return run_as_before(cohort);
  if (const std::int64_t summed = complete_tiles(cohort); summed < cohort.count) {
    if (summed == 0) return held_.push_back(&cohort);
    Cohort& others = split(cohort, summed);
    others.first = cohort.first + summed;
    others.count = std::exchange(cohort.count, summed) - summed;
    held_.push_back(&others);
  }
  work_.stores.empty() ? go_on_after(cohort) : store(cohort);
}

/// Its tiles stay where they are.
void TiledKernel::go_on_after(Cohort& cohort) {
  const std::int64_t first = cohort.first, count = cohort.count;
  take_next_tiles(cohort);
  count_done(first, count, tail_);
}

/// Of its tiles those before the first group whose addend, or the first one whose rows, have not come; none before all
/// ranks have begun.
std::int64_t TiledKernel::complete_tiles(const Cohort& cohort) const {
  if (activity_->meeting != nullptr && !activity_->meeting->all_began.has_happened()) return 0;
  std::int64_t end = std::clamp(first_tile_of(multiplied_), cohort.first, cohort.first + cohort.count);
  for (const auto& [group, release] : addend_waits_)
    if (!release->has_happened() && group_first_[group] + group_tiles_[group] > cohort.first)
      end = std::min(end, std::max(group_first_[group], cohort.first));
  return end - cohort.first;
}

void TiledKernel::resume_held() {
  for (Cohort* cohort : std::exchange(held_, {})) on_cohort_end(*cohort);
}

void TiledKernel::take_next_tiles(Cohort& cohort) {
  switch (work_.scheduler) {
    case TileScheduler::grid:
      leave(cohort);
      break;
    case TileScheduler::static_persistent:
      run_own_tiles(cohort, cohort.first + work_.ctas);
      break;
    case TileScheduler::dynamic_persistent:
    case TileScheduler::stream_k:
      go_on(cohort);
      break;
  }
}

/// What a CTA has computed leaves while it computes the next tile, and one tile's memory is all that it has for that.
void TiledKernel::store(Cohort& cohort) {
  if (cohort.stored_count > 0) {
    cohort.is_full = true;
    return;
  }
  std::int64_t first = 0;
  for (std::size_t i = 0; i < work_.stores.size(); first += work_.stores[i++].tiles) {
    const TileStores& stores = work_.stores[i];
    const std::int64_t common =
        std::min(cohort.first + cohort.count, first + stores.tiles) - std::max(cohort.first, first);
    if (common <= 0 || stores.bytes_per_tile <= 0) continue;
    if (cohort.stores_left++ == 0) cohort.stores = i;
    const double bytes = static_cast<double>(common) * stores.bytes_per_tile;
    pool_.start(bytes, bytes / shortest_transfer_us, store_paths_[i], waiter_for<&Cohort::end_stores>(&cohort));
  }
  if (cohort.stores_left == 0) return go_on_after(cohort);
  cohort.stored_first = cohort.first;
  cohort.stored_count = cohort.count;
  take_next_tiles(cohort);
}

void TiledKernel::on_stored(Cohort& cohort) {
  if (--cohort.stores_left > 0) return;
  count_done(cohort.stored_first, std::exchange(cohort.stored_count, 0),
             from_us(work_.tail_us + work_.stores[cohort.stores].latency_us));
  if (cohort.is_leaving) return leave(cohort);
  if (std::exchange(cohort.is_full, false)) store(cohort);
}

/// Does the cohort go on with as many of the next tiles, and nobody learns of those that it has done nor holds them up?
bool TiledKernel::is_amid_its_tiles(const Cohort& cohort) const {
  const bool takes_next =
      work_.scheduler == TileScheduler::dynamic_persistent || work_.scheduler == TileScheduler::stream_k;
  return takes_next && group_left_.size() == 1 && group_waits_.empty() && addend_waits_.empty() &&
         work_.fetches.empty() && work_.stores.empty() && activity_->meeting == nullptr &&
         cohort.count == static_cast<std::int64_t>(cohort.sms.size()) && next_tile_ + cohort.count < work_.tiles;
}

/// As often as it can, of which the last time is run here.
void TiledKernel::run_as_before(Cohort& cohort) {
  const auto [bytes, rate] = flow_of(cohort);
  const std::int64_t most = (work_.tiles - 1 - next_tile_) / cohort.count;
  const std::int64_t passed = pool_.start_and_end(bytes, rate, path_, most - 1);
  cohort.first = next_tile_ + passed * cohort.count;
  next_tile_ = cohort.first + cohort.count;
  done_tiles_ += (passed + 1) * cohort.count;
  group_left_.front() -= (passed + 1) * cohort.count;
  pool_.start(bytes, rate, path_, waiter_for<&Cohort::end>(&cohort));
}

/// A group is done when its last tile is: the mean end of the cohort plus the tail. A CTA of the kernel tells of it, so
/// the kernel ends no sooner.
void TiledKernel::count_done(std::int64_t first, std::int64_t count, Picoseconds tail) {
  done_tiles_ += count;
  for (std::size_t group = 0; group < group_left_.size(); ++group) {
    const std::int64_t group_end = group_first_[group] + group_tiles_[group];
    const std::int64_t overlap = std::min(first + count, group_end) - std::max(first, group_first_[group]);
    if (overlap <= 0) continue;
    group_left_[group] -= overlap;
    if (group_left_[group] > 0 || activity_->tile_groups.empty()) continue;
    const Picoseconds known = engine_.now() + tail + (tells_[group] ? from_us(work_.signal_us) : Picoseconds{});
    engine_.at(known, waiter_for<&GroupEnd::happen>(&group_ends_[group]));
    all_known_ = std::max(all_known_, known);
  }
  if (done_tiles_ < work_.tiles) return;
  const Picoseconds end = engine_.now() + tail + from_us(work_.epilogue_us);
  engine_.at(std::max(end, all_known_), waiter_for<&TiledKernel::end>(this));
}

void TiledKernel::resume_stalled() {
  for (const auto& [cohort, first] : std::exchange(stalled_, {}))
    first >= 0 ? run_own_tiles(*cohort, first) : go_on(*cohort);
}

TiledKernel::Cohort& TiledKernel::cohort_of(std::span<const int> sms) {
  if (idle_cohorts_.empty()) idle_cohorts_.push_back(cohorts_.emplace_back(std::make_unique<Cohort>()).get());
  Cohort& cohort = *idle_cohorts_.back();
  idle_cohorts_.pop_back();
  cohort.kernel = this;
  cohort.has_begun = false;
  cohort.sms = sms;
  return cohort;
}

/// All but the first CTAs become another cohort.
TiledKernel::Cohort& TiledKernel::split(Cohort& cohort, std::int64_t ctas) {
  Cohort& others = cohort_of(cohort.sms.subspan(static_cast<std::size_t>(ctas)));
  others.has_begun = cohort.has_begun;
  cohort.sms = cohort.sms.first(static_cast<std::size_t>(ctas));
  return others;
}

void TiledKernel::leave(Cohort& cohort) {
  cohort.is_leaving = cohort.stored_count > 0;
  if (cohort.is_leaving) return;
  sms_.release(*this, cohort.sms);
  idle_cohorts_.push_back(&cohort);
}

}  // namespace weft::sim
