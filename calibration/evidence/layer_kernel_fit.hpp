// The numbers of weft's own kernels between the GEMMs of a layer, from such kernels alone under load.
#pragma once

#include <cstddef>
#include <vector>

#include "calibration/evidence/load.hpp"
#include "calibration/fitting/number_fit.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

inline constexpr std::size_t fewest_loads = 4;  ///< that tell a number; of fewer it stays as it is

/// By least squares of simulated times at the clocks that were read: of attention without a cache efficiency and start
/// of own_attention's tiles, with heads of 64 and with longer ones, or of 300 and more, with and without one, all of
/// own_attention but own_attention.decode; of those that our kernel of few queries runs its start and hbm_share, or
/// of 60 and more all of own_attention.decode; of norms that touch more than the L2 holds own_rows.hbm_share, or of 300
/// and more norms and activations of any size all of own_rows but what quantize and gathers draw; and of norms of other
/// layouts, where the profile knows them, reordering.norm_tiles, norm_sub_tiles and norm_rows. power.attention_energy,
/// attention_energy_64 and decode_energy, of loads whose power is known: medians of what is left above idle, static and
/// HBM's power.
std::vector<fitting::FittedNumber> fit_layer_kernels(const Machine& machine, const std::vector<Load>& loads);

}  // namespace weft::calibration::evidence
