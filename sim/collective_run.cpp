#include "sim/collective_run.hpp"

#include <algorithm>

namespace weft::sim {

CollectiveRun::CollectiveRun(Engine& engine, FluidPool& pool, const CollectiveTiming& timing, const CtaShape& cta,
                             int ranks, std::vector<Use> uses)
    : engine_(engine), pool_(pool), timing_(timing), cta_(cta), uses_(std::move(uses)), ranks_(ranks) {}

void CollectiveRun::arrive(Activity& activity, SmPool& sms, double crowded_us) {
  RankGrid& grid = grids_.emplace_back();
  grid.arrived = engine_.now();
  grid.crowded_us = crowded_us;
  grid.run = this;
  grid.activity = &activity;
  grid.sms = &sms;
  grid.cta = cta_;
  grid.cluster = timing_.cluster;
  grid.priority = activity.priority;
  grid.unplaced = timing_.ctas;
  sms.submit(grid);
}

void CollectiveRun::RankGrid::on_placed(const std::vector<int>& placed) {
  activity->first_cta_started.happen(run->engine_);
  if (run->engine_.now() > arrived) run->crowded_us_ = std::max(run->crowded_us_, crowded_us);
  held.insert(held.end(), placed.begin(), placed.end());
  if (unplaced == 0) activity->all_ctas_started.happen(run->engine_);
  run->start_complete_channels();
}

void CollectiveRun::start_complete_channels() {
  if (static_cast<int>(grids_.size()) < ranks_) return;
  int complete = timing_.ctas;
  for (const RankGrid& grid : grids_) complete = std::min(complete, static_cast<int>(grid.held.size()));
  if (complete == started_) return;
  Batch& batch = batches_.emplace_back(Batch{this, started_, complete - started_});
  started_ = complete;
  engine_.after(from_us(timing_.latency_us * slowdown_ + crowded_us_), {[](void* context) {
                                                                          auto* ready = static_cast<Batch*>(context);
                                                                          ready->run->transfer(*ready);
                                                                        },
                                                                        &batch});
}

double CollectiveRun::rate_of(const Batch& batch) const {
  return timing_.port_bytes * batch.count / timing_.ctas / timing_.transfer_us / slowdown_;
}

void CollectiveRun::transfer(Batch& batch) {
  const double bytes = timing_.port_bytes * batch.count / timing_.ctas;
  if (bytes <= 0 || timing_.transfer_us <= 0) return end(batch);
  batch.flow = pool_.start(bytes, {rate_of(batch), uses_},
                           {[](void* context) {
                              auto* done = static_cast<Batch*>(context);
                              done->run->end(*done);
                            },
                            &batch});
}

void CollectiveRun::set_slowdown(double slowdown) {
  if (slowdown == slowdown_) return;
  slowdown_ = slowdown;
  for (const Batch& batch : batches_)
    if (batch.flow >= 0) pool_.set_cap(batch.flow, rate_of(batch));
}

void CollectiveRun::end(Batch& batch) {
  batch.flow = -1;
  ended_ += batch.count;
  for (RankGrid& grid : grids_) {
    const auto first = grid.held.begin() + batch.first;
    grid.sms->release(grid, std::vector<int>(first, first + batch.count));
    if (ended_ == timing_.ctas) grid.activity->end.happen(engine_);
  }
}

}  // namespace weft::sim
