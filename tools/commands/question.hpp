// What a command is asked about, and on which machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/scenario.hpp"

namespace weft::tools::commands {

struct AskedQuestion {
  std::string what, machine;  ///< a scenario, a config.json or its folder, or words; a profile's name or path, or none
  std::optional<int> gpus;
  std::vector<std::int64_t> sizes;
  std::optional<std::int64_t> sequences = {}, prefix = {};
};

/// A machine that is named says how many GPUs a question has that does not. Throws InputError as read_question() and
/// machine_of() do.
std::pair<scenarios::Scenario, Machine> read_question(const AskedQuestion& asked);

}  // namespace weft::tools::commands
