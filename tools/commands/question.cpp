#include "tools/commands/question.hpp"

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/study/exploration.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {

std::pair<scenarios::Scenario, Machine> read_question(const AskedQuestion& asked) {
  std::optional<Machine> named;
  if (!asked.machine.empty()) named = read_machine(machine_path(asked.machine));
  scenarios::Scenario scenario =
      scenarios::read_question(asked.what, {.gpus = asked.gpus,
                                            .sizes = asked.sizes,
                                            .machine_gpus = named ? std::optional(named->gpus) : std::nullopt,
                                            .sequences = asked.sequences,
                                            .prefix = asked.prefix});
  const Machine machine =
      named && scenario.machine.empty() ? std::move(*named) : study::machine_of(scenario, asked.machine, asked.what);
  return {scenarios::as_machine_computes(std::move(scenario), machine), machine};
}

}  // namespace weft::tools::commands
