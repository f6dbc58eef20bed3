#include "sim/observer.hpp"

#include <algorithm>

namespace weft::sim {

Observer::Observer(const Engine& engine, const SimulatedMachine& device, const Machine& machine, int gpus, int ranks)
    : engine_(engine),
      device_(device),
      machine_(machine),
      gpus_(gpus),
      ranks_(ranks),
      histories_(static_cast<std::size_t>(ranks)) {}

/// In the order of tracks().
std::array<double, Observer::quantities> Observer::values_of(int rank) const {
  const UnitLoads loads = device_.loads(rank);
  double out_GBps = loads.out_GBps, in_GBps = loads.in_GBps;
  if (ranks_ < gpus_ && machine_.fabric.kind == FabricKind::mesh)  // one link stands for all, both ways
    out_GBps = in_GBps = out_GBps * (gpus_ - 1);
  return {static_cast<double>(loads.busy_sms),
          static_cast<double>(loads.transfer_sms),
          loads.hbm_GBps,
          out_GBps,
          in_GBps,
          static_cast<double>(loads.copy_engines)};
}

void Observer::look() {
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::array<double, quantities> values = values_of(rank);
    for (std::size_t i = 0; i < quantities; ++i) {
      History& history = histories_[static_cast<std::size_t>(rank)][i];
      if (history.empty() || history.back().value != values[i]) history.push_back({engine_.now(), values[i]});
    }
  }
}

/// Of one GPU and direction, all of its links together.
double Observer::link_capacity_GBps() const {
  const Fabric& fabric = machine_.fabric;
  switch (fabric.kind) {
    case FabricKind::nvswitch:
      return fabric.link.GBps;
    case FabricKind::mesh:
      return fabric.link.GBps * (gpus_ - 1);
    case FabricKind::nvlink_pairs:
      return fabric.link.GBps + (gpus_ > 2 ? fabric.host.pcie.GBps : 0);
    case FabricKind::pcie:
      break;
  }
  return fabric.host.pcie.GBps;
}

std::vector<Track> Observer::tracks(int rank, Picoseconds begin, Picoseconds end) const {
  const double sms = machine_.gpu.sms(), links_GBps = link_capacity_GBps();
  std::vector<Track> tracks{
      {.name = "SMs busy", .unit = "SMs", .gpu = rank, .capacity = sms, .points = {}},
      {.name = "SMs held by transfers", .unit = "SMs", .gpu = rank, .capacity = sms, .points = {}},
      {.name = "HBM", .unit = "GB/s", .gpu = rank, .capacity = machine_.gpu.hbm_GBps, .points = {}},
      {.name = "links out", .unit = "GB/s", .gpu = rank, .capacity = links_GBps, .points = {}},
      {.name = "links in", .unit = "GB/s", .gpu = rank, .capacity = links_GBps, .points = {}},
      {.name = "copy engines",
       .unit = "engines",
       .gpu = rank,
       .capacity = static_cast<double>(machine_.copy_engines.per_gpu),
       .points = {}}};
  for (std::size_t i = 0; i < quantities; ++i) {
    std::vector<TrackPoint>& points = tracks[i].points;
    points.push_back({});
    for (const Change& change : histories_[static_cast<std::size_t>(rank)][i]) {
      if (change.time > end) break;
      if (change.time <= begin)
        points.back().value = change.value;
      else
        points.push_back({to_us(change.time - begin), change.value});
    }
  }
  return tracks;
}

Track power_track(const std::vector<PowerSpan>& spans, const Power& power) {
  Track track{.name = "power", .unit = "W", .gpu = 0, .capacity = power.limit_W, .points = {}};
  for (const PowerStep& step : PowerChanges(spans, 0).steps(power.idle_W)) {
    const TrackPoint point{std::max(0.0, step.from_us), step.power_W};
    if (track.points.empty() || track.points.back().at_us != point.at_us)
      track.points.push_back(point);
    else
      track.points.back() = point;
  }
  return track;
}

}  // namespace weft::sim
