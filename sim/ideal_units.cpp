#include "sim/ideal_units.hpp"

#include <numeric>

namespace weft::sim {

IdealUnits::IdealUnits(Engine& engine, FluidPool& pool, int ranks) : engine_(engine), pool_(pool) {
  for (int rank = 0; rank < ranks; ++rank) {
    computes_.push_back(pool.add_resource(1));
    transfers_.push_back(pool.add_resource(1));
  }
}

void IdealUnits::restart() {
  runs_.clear();
  meetings_.clear();
}

void IdealUnits::start(Activity& activity, double duration_us) {
  const Work& work = activity.operation->work;
  const auto new_run = [&](Uses uses) -> Run& {
    return runs_.emplace_back(Run{this, {&activity}, duration_us, std::move(uses)});
  };
  const Facts of_work = facts(work);
  if (tile_groups(work).count > 0) return start_gemm(new_run({{computes_[activity.rank], 1.0}}));
  if (!of_work.is_collective) {
    const bool is_transfer = of_work.role == Role::communication;
    return go_on(new_run({{(is_transfer ? transfers_ : computes_)[activity.rank], 1.0}}));
  }
  Run*& meeting = meetings_[{activity.iteration, activity.id}];
  if (meeting == nullptr)
    meeting = &new_run({});
  else
    meeting->activities.push_back(&activity);
  meeting->uses.push_back({transfers_[activity.rank], 1.0});
  if (meeting->activities.size() == transfers_.size()) go_on(*meeting);
}

/// The kernel of a GEMM is there from the start, whatever its tiles wait for.
void IdealUnits::start_gemm(Run& run) {
  Activity& activity = *run.activities.front();
  activity.first_cta_started.happen(engine_);
  activity.all_ctas_started.happen(engine_);
  if (activity.meeting == nullptr) return go_on(run);
  activity.meeting->all_began.call_when_happened(waiter_for<&Run::go_on>(&run));
}

void IdealUnits::go_on(Run& run) {
  const TileGroups groups = tile_groups(run.activities.front()->operation->work);
  if (groups.tiles.empty()) {
    if (waits(run, groups)) return;
    return flow(run, run.duration_us, waiter_for<&Run::end>(&run));
  }
  if (run.next_group == groups.count) return end(run);
  if (waits(run, groups)) return;
  const auto tiles = std::accumulate(groups.tiles.begin(), groups.tiles.end(), 0.0);
  flow(run, run.duration_us * static_cast<double>(groups.tiles[run.next_group]) / tiles,
       waiter_for<&Run::end_group>(&run));
}

void IdealUnits::Run::end_group() {
  activities.front()->tile_groups[next_group++].happen(units->engine_);
  go_on();
}

/// Does the next tile group wait for a counter? Then it goes on once that has been reached.
bool IdealUnits::waits(Run& run, const TileGroups& groups) {
  for (std::size_t i = 0; i < groups.waits.size(); ++i) {
    Occurrence& release = *run.activities.front()->tile_waits[i];
    if (groups.waits[i].tile_group != run.next_group || release.has_happened()) continue;
    release.call_when_happened(waiter_for<&Run::go_on>(&run));
    return true;
  }
  return false;
}

void IdealUnits::flow(Run& run, double work_us, Waiter done) {
  for (Activity* activity : run.activities) {
    activity->first_cta_started.happen(engine_);
    activity->all_ctas_started.happen(engine_);
  }
  if (work_us <= 0) return engine_.at(engine_.now(), done);
  if (run.path < 0) run.path = pool_.add_path(run.uses);
  pool_.start(work_us, 1.0, run.path, done);
}

void IdealUnits::end(Run& run) {
  for (Activity* activity : run.activities) {
    if (!activity->tile_groups.empty()) activity->tile_groups.back().happen(engine_);
    activity->finish_stores(engine_);
  }
}

}  // namespace weft::sim
