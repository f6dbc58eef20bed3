#include "sim/collective_run.hpp"

#include <algorithm>
#include <utility>

namespace weft::sim {

CollectiveRun::CollectiveRun(Engine& engine, FluidPool& pool, const CollectiveTiming& timing, const CtaShape& cta,
                             int ranks, const Transfers& transfers)
    : engine_(engine),
      pool_(pool),
      timing_(timing),
      channels_(std::max(1, timing.ctas)),
      cta_(cta),
      transfers_(transfers),
      ranks_(ranks) {
  grids_.reserve(static_cast<std::size_t>(ranks));
}

CollectiveRun::RankGrid& CollectiveRun::add_rank(Activity& activity) {
  RankGrid& grid = grids_.emplace_back();
  grid.arrived = engine_.now();
  grid.run = this;
  grid.activity = &activity;
  return grid;
}

void CollectiveRun::arrive(Activity& activity) {
  constexpr int no_sm = -1;
  add_rank(activity).on_placed({&no_sm, 1});
}

void CollectiveRun::arrive(Activity& activity, SmPool& sms, double crowded_us) {
  RankGrid& grid = add_rank(activity);
  grid.crowded_us = crowded_us;
  grid.sms = &sms;
  grid.owner = &activity;
  grid.cta = cta_;
  grid.cluster = timing_.cluster;
  grid.priority = activity.priority;
  grid.unplaced = timing_.ctas;
  sms.submit(grid);
}

void CollectiveRun::RankGrid::on_placed(std::span<const int> placed) {
  activity->first_cta_started.happen(run->engine_);
  if (run->engine_.now() > arrived) run->crowded_us_ = std::max(run->crowded_us_, crowded_us);
  held.insert(held.end(), placed.data(), placed.data() + placed.size());
  if (unplaced == 0) activity->all_ctas_started.happen(run->engine_);
  run->start_complete_channels();
}

void CollectiveRun::start_complete_channels() {
  if (static_cast<int>(grids_.size()) < ranks_) return;
  int complete = channels_;
  for (const RankGrid& grid : grids_) complete = std::min(complete, static_cast<int>(grid.held.size()));
  if (complete == started_) return;
  Batch& batch = batches_.emplace_back(Batch{this, started_, complete - started_, {}});
  started_ = complete;
  batch.latency_us = timing_.latency_us + crowded_us_ / slowdown_;
  wait_for_latency(batch);
}

/// Of the latency that is left, at the present slowdown.
void CollectiveRun::wait_for_latency(Batch& batch) {
  batch.since = engine_.now();
  batch.due = batch.since + from_us(batch.latency_us * slowdown_);
  engine_.after(batch.due - batch.since, waiter_for<&Batch::start>(&batch));
}

void CollectiveRun::Batch::start() {
  if (is_started || run->engine_.now() < due) return;  // the slowdown has changed since this was planned
  is_started = true;
  run->start(*this);
}

double CollectiveRun::rate_of(const Share& share) const {
  const Transfer& transfer = *share.transfer;
  return transfer.bytes * share.batch->count / channels_ / transfer.alone_us / slowdown_;
}

void CollectiveRun::start(Batch& batch) {
  batch.shares.reserve(transfers_.size());
  for (const Transfer& transfer : transfers_) batch.shares.push_back({&batch, &transfer});
  for (Share& share : batch.shares) {
    const double bytes = share.transfer->bytes * batch.count / channels_;
    if (bytes <= 0 || share.transfer->alone_us <= 0) {
      end(share);
      continue;
    }
    share.flow = pool_.start(bytes, rate_of(share), share.transfer->path, waiter_for<&Share::end>(&share));
  }
  end_ranks(batch, nullptr);
}

void CollectiveRun::set_slowdown(double slowdown) {
  if (slowdown == slowdown_) return;
  const double before = std::exchange(slowdown_, slowdown);
  for (Batch& batch : batches_) {
    if (!batch.is_started) {
      batch.latency_us = std::max(0.0, batch.latency_us - to_us(engine_.now() - batch.since) / before);
      wait_for_latency(batch);
    }
    for (const Share& share : batch.shares)
      if (share.flow >= 0) pool_.set_cap(share.flow, rate_of(share));
  }
}

bool CollectiveRun::has_ended() const {
  return static_cast<int>(grids_.size()) == ranks_ &&
         std::ranges::all_of(grids_, [&](const RankGrid& grid) { return grid.ended == channels_; }) &&
         std::ranges::all_of(batches_,
                             [](const Batch& batch) { return std::ranges::all_of(batch.shares, &Share::has_ended); });
}

void CollectiveRun::end(Share& share) {
  share.flow = -1;
  share.has_ended = true;
  end_ranks(*share.batch, share.transfer);
}

/// Frees the batch's channels on the ranks of `ended` for which it was the last transfer; null: on those that have
/// none.
void CollectiveRun::end_ranks(Batch& batch, const Transfer* ended) {
  for (RankGrid& grid : grids_) {
    const int rank = grid.activity->rank;
    if (ended != nullptr && !ended->involves(rank)) continue;
    const auto is_open = [&](const Share& share) {
      return share.transfer->involves(rank) && (ended == nullptr || !share.has_ended);
    };
    if (std::any_of(batch.shares.begin(), batch.shares.end(), is_open)) continue;
    if (grid.sms != nullptr)
      grid.sms->release(grid, std::span(grid.held.data() + batch.first, static_cast<std::size_t>(batch.count)));
    grid.ended += batch.count;
    if (grid.ended == channels_) grid.activity->finish(engine_);
  }
}

const Grid* CollectiveRun::grid_of(int rank) const {
  const auto found =
      std::find_if(grids_.begin(), grids_.end(), [&](const RankGrid& grid) { return grid.activity->rank == rank; });
  return found == grids_.end() ? nullptr : &*found;
}

int CollectiveRun::missing_rank(const Activity& activity) const {
  if (grid_of(activity.rank)->unplaced > 0) return activity.rank;
  for (int rank = 0; rank < ranks_; ++rank)
    if (const Grid* grid = grid_of(rank); grid == nullptr || grid->unplaced > 0) return rank;
  return -1;
}

}  // namespace weft::sim
