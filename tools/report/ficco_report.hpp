// What FiCCO's schedules of one pair lose, and its own rule beside the simulator's choice.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "scenarios/study/exploration.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {

/// A table of the two losses of each FiCCO schedule, and one sentence about the rule; "" for a pair that has none.
std::string ficco_text(const study::Answer& answer, const Machine& machine);

/// {"gemm_dil", "transfer_dil", "gemm_cil", "transfer_cil"}, all ratios.
nlohmann::ordered_json to_json(const study::Inefficiency& inefficiency);

/// {"rule", "rule_time_us", "fastest", "fastest_time_us"}: schedules as cases have them; null for a pair that has none.
/// The rule's time is null where its schedule is no candidate, such as one whose rows cannot be cut.
nlohmann::ordered_json ficco_json(const study::Answer& answer, const Machine& machine);

}  // namespace weft::tools::report
