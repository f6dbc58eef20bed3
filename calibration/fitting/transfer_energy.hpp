// What moving bytes between GPUs costs, from the power of collectives and copies alone under load.
#pragma once

#include <optional>
#include <vector>

namespace weft::calibration::fitting {

/// A collective or copies on every GPU, again and again.
struct TransferObservation {
  double bytes = 0;     ///< through a GPU's port, of one direction, in an iteration
  double other_uJ = 0;  ///< of an iteration, for what is no transfer: the HBM
  double time_us = 0;
  double power_W = 0;
};

struct TransferEnergy {
  double pJ_per_byte = 0;
  double low = 0, high = 0;  ///< of the middle 80 %
  std::size_t transfers = 0;
};

/// The median of ((power - idle) x time - other) / bytes over transfers that are long enough for their bytes to matter;
/// empty with fewer than three of them.
std::optional<TransferEnergy> transfer_energy(const std::vector<TransferObservation>& observations, double idle_W);

}  // namespace weft::calibration::fitting
