#include "models/check/check.hpp"

#include "models/base/input_error.hpp"
#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"

namespace weft {

void check(const Schedule& schedule) {
  validate(schedule);
  if (const std::vector<Race> races = find_races(schedule); !races.empty())
    throw InputError("operations",
                     "expected conflicting operations to be ordered, got a race: " + races.front().message);
}

}  // namespace weft
