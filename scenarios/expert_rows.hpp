// How a router spreads tokens over the experts of a layer.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Rows of each expert when `tokens` tokens go to experts_per_token different experts each. The first expert is the
/// busiest, with expert_imbalance times the mean (never more than one row a token); the others share the rest evenly.
/// Where tokens choose by chance, both are about the experts that some token is expected to choose, and the other ones
/// have no rows.
/// Rounded so that the rows add up to tokens x experts_per_token.
std::vector<std::int64_t> expert_rows(std::int64_t tokens, const LayerWorkload& layer);

}  // namespace weft::scenarios
