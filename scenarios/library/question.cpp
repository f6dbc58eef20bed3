#include "scenarios/library/question.hpp"

#include <utility>

#include "models/base/input_error.hpp"
#include "models/machine/machine_files.hpp"

namespace weft::scenarios::library {
namespace {

/// A profile that the scenario names has to be there even if another is asked about.
void require_own_machine(const Scenario& scenario, const std::string& file) {
  try {
    if (!scenario.machine.empty()) machine_path(scenario.machine);
  } catch (const InputError& error) {
    throw error.in_file(file);
  }
}

QuestionOptions options_of(const AskedQuestion& asked, std::optional<int> machine_gpus) {
  return {.gpus = asked.gpus, .sizes = asked.sizes, .machine_gpus = machine_gpus, .step = asked.step};
}

}  // namespace

bool is_given(const std::string& field, const AskedQuestion& asked) {
  return scenarios::is_given(field, options_of(asked, std::nullopt));
}

OpenQuestion read_question(const AskedQuestion& asked) {
  std::shared_ptr<const OpenProfile> profile;
  if (!asked.machine.empty()) profile = std::make_shared<OpenProfile>(asked.machine);
  const auto machine_gpus = profile ? std::optional(profile->machine.gpus) : std::nullopt;
  Scenario scenario = scenarios::read_question(asked.what, options_of(asked, machine_gpus));
  require_own_machine(scenario, asked.what);
  if (!profile && scenario.machine.empty())
    throw InputError("--machine", "expected the name or path of a profile, since " + asked.what + " names none");
  if (!profile) profile = std::make_shared<OpenProfile>(scenario.machine);
  scenario = as_machine_computes(std::move(scenario), profile->machine);
  return {std::move(scenario), std::move(profile)};
}

}  // namespace weft::scenarios::library
