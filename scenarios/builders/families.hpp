// One function for each family, each in its own file; docs of the families stand there. Sizes have been checked
// (check_sizes) and the GPUs exist. InputError as build().
#pragma once

#include "models/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

Schedule build_serial(const Case& request);
Schedule build_decomposition(const Case& request);
Schedule build_concurrent(const Case& request);
Schedule build_layer(const Case& request, const LayerWorkload& layer);

}  // namespace weft::scenarios
