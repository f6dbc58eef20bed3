// Schedules for tests that do not care how a search ends.
#pragma once

#include "scenarios/families/build.hpp"

namespace weft::scenarios {

/// What the case leaves open is as the models like it best; nothing is run.
inline Schedule built_by_model(Case request, const Machine& machine) {
  request.schedule = families::closed_choices(request, machine).front();
  return families::build(request, machine);
}

}  // namespace weft::scenarios
