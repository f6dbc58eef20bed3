#include "calibration/fitting/transfer_energy.hpp"

#include <algorithm>

#include "models/base/statistics.hpp"

namespace weft::calibration::fitting {

std::optional<TransferEnergy> transfer_energy(const std::vector<TransferObservation>& observations, double idle_W) {
  constexpr double long_us = 50;
  constexpr std::size_t fewest = 3;
  std::vector<double> energies;
  for (const TransferObservation& one : observations)
    if (one.time_us >= long_us && one.power_W > 0)
      energies.push_back(std::max(0.0, (one.power_W - idle_W) * one.time_us - one.other_uJ) * 1e6 / one.bytes);
  if (energies.size() < fewest) return std::nullopt;
  return TransferEnergy{quantile(energies, 0.5), quantile(energies, 0.1), quantile(energies, 0.9), energies.size()};
}

}  // namespace weft::calibration::fitting
