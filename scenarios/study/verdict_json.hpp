// A verdict, for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::study {

nlohmann::ordered_json to_json(const Odds& odds);

/// {"pays_from", "of": "layer" | "pairs", "layers", "memory_GB": {"weights", "keys_values", "activations"} or null,
/// "sizes": [{"size", "baseline": {"plan", "time_us"}, "best": {"plan", "time_us", "prefill_ms", "odds", "schedules":
/// [{"pair", "schedule"}]}, "runnable": the same or null}]}. A prefill is all layers, and nothing else.
nlohmann::ordered_json to_json(const Verdict& verdict);

/// [{"pattern", "gpus", "pays_from", "reason"}]; pays_from is null where overlap does not pay at the largest size, and
/// `reason` there where the pattern cannot be split over so many GPUs.
nlohmann::ordered_json to_json(const std::vector<Crossover>& crossovers);

}  // namespace weft::scenarios::study
