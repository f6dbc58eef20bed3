// What the units of each simulated GPU do, instant by instant.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "models/execution/timeline.hpp"
#include "sim/energy.hpp"
#include "sim/simulated_machine.hpp"

namespace weft::sim {

/// Looks at the devices whenever all of an instant has happened (Engine::watch) and keeps what has changed.
class Observer {
 public:
  /// `ranks` simulated GPUs, 1 where one stands for all `gpus` of the schedule. Refers to its arguments.
  Observer(const Engine& engine, const SimulatedMachine& device, const Machine& machine, int gpus, int ranks);

  void look();
  /// From `begin` on, which is their time 0, to `end`.
  std::vector<Track> tracks(int rank, Picoseconds begin, Picoseconds end) const;

 private:
  static constexpr std::size_t quantities = 6;
  struct Change {
    Picoseconds time;
    double value = 0;
  };
  using History = std::vector<Change>;

  std::array<double, quantities> values_of(int rank) const;
  double link_capacity_GBps() const;

  const Engine& engine_;
  const SimulatedMachine& device_;
  const Machine& machine_;
  const int gpus_, ranks_;
  std::vector<std::array<History, quantities>> histories_;  // by rank
};

/// The power of a GPU: idle, and what each operation takes while it lasts.
Track power_track(const std::vector<PowerSpan>& spans, const Power& power);

}  // namespace weft::sim
