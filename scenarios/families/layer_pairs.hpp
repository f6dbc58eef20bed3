// The pairs of a layer as workloads of their own, and what is searched of them.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// The keys of Pairs, in the order of LayerPair.
inline constexpr std::array<std::pair<std::string_view, std::optional<PairSchedule> Pairs::*>, 4> named_pairs{
    {{"qkv", &Pairs::qkv}, {"o", &Pairs::o}, {"gate_up", &Pairs::gate_up}, {"down", &Pairs::down}}};

/// The layers of the case with what is open in `pairs` closed: in the first, what a model likes best for each pair
/// alone, in the second the next, and so on. Throws InputError as build().
std::vector<Family> searched_pairs(const Case& request, const Pairs& pairs, const Machine& machine);

/// The pairs of the case's layer, all under its family.
Pairs under_one_family(const Case& request);

}  // namespace weft::scenarios::families
