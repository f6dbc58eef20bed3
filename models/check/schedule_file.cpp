#include "models/check/schedule_file.hpp"

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/check/check.hpp"
#include "models/schedule/schedule_json.hpp"

namespace weft {

Schedule read_schedule(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    Schedule schedule = schedule_from_json(json);
    check(schedule);
    return schedule;
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

void write_checked(const std::filesystem::path& path, const Schedule& schedule) {
  check(schedule);
  write_schedule(path, schedule);
}

}  // namespace weft
