// A layer made of the schedules that its pairs are advised to have, each asked about by itself.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// Of schedules that run inside of layers, those of the highest expected gain; where ranks own rows the two pairs of a
/// block order them alike. `pairs` are the answers at the layer's size and form, in the order of the layer; only what
/// `is_allowed` is looked at. Empty where nothing gains.
std::optional<Pairs> composed_layer(const std::vector<const Answer*>& pairs, const LayerWorkload& layer,
                                    const std::function<bool(const Explored&)>& is_allowed);

/// The schedules of the `pairs` that `layer` runs, by the names of their answers.
std::vector<std::pair<std::string, const Explored*>> parts_of(const Pairs& layer,
                                                              const std::vector<const Answer*>& pairs);

}  // namespace weft::scenarios::study
