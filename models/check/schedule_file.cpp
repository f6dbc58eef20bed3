#include "models/check/schedule_file.hpp"

#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/check/validation.hpp"
#include "models/schedule/schedule_json.hpp"

namespace weft {

Schedule read_schedule(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    Schedule schedule = schedule_from_json(json);
    validate(schedule);
    return schedule;
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft
