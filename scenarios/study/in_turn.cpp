#include "scenarios/study/in_turn.hpp"

#include "models/base/input_error.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/settle.hpp"

namespace weft::scenarios::study {

std::vector<Case> in_turn(std::vector<Case> mix, const Machine& machine, Executor& executor,
                          const MixClock& clock_of_mix_MHz) {
  std::vector<Case*> done;
  std::vector<Schedule> schedules;
  for (Case& one : mix) {
    try {
      require_gpus(one.gpus, machine);
      if (families::is_open(one.schedule)) one = settle(one, machine, executor).request;
      schedules.push_back(families::build(one, machine));
      done.push_back(&one);
    } catch (const InputError&) {
    }
  }
  if (done.empty()) return mix;
  const double clock_MHz = clock_of_mix_MHz(schedules, machine);
  for (Case* one : done) one->condition.fixed_clock_MHz = clock_MHz;
  return mix;
}

}  // namespace weft::scenarios::study
