// The schedule of a pair inside of a layer: an object with a family and its keys, in a case and as one of its own.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/family_rules.hpp"

namespace weft::scenarios {

/// The families that run inside of layers.
std::vector<const FamilyRules*> families_of_pairs();

/// The pair alone in the place of the layer's schedule, whose launch, priority, host and collectives it shares.
ScheduleChoice alone(const PairSchedule& pair, const ScheduleChoice& layer);
/// Back; empty for a family that does not run inside of layers.
std::optional<PairSchedule> inside_layer(const ScheduleChoice& choice);

/// In how many chunks an all-gather or a reduce-scatter orders a rank's rows (models/schedule/row_order.hpp): those of
/// a layer's block must agree.
int row_chunks(const PairSchedule& pair);

}  // namespace weft::scenarios
