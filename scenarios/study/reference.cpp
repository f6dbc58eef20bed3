#include "scenarios/study/reference.hpp"

#include "scenarios/families/build.hpp"

namespace weft::scenarios::study {

std::optional<Schedule> reference_of(const Case& request, const Machine& machine) {
  const auto* layer = std::get_if<LayerWorkload>(&request.workload);
  if (layer == nullptr) return std::nullopt;
  if (!layer->sequence_parallel && request.schedule == ScheduleChoice{.family = Serial{}}) return std::nullopt;
  Case serial = request;
  std::get<LayerWorkload>(serial.workload).sequence_parallel = false;
  serial.schedule = ScheduleChoice{.family = Serial{}};
  return families::build(serial, machine);
}

}  // namespace weft::scenarios::study
