// Schedules in files: nobody gets or leaves one that cannot run, or whose operations race.
#pragma once

#include <filesystem>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Reads and checks (check.hpp). Throws InputError "FILE: FIELD: …".
Schedule read_schedule(const std::filesystem::path& path);

/// Checks, and writes as write_schedule() does (schedule_json.hpp). Throws InputError for what check() refuses and for
/// a file that cannot be written.
void write_checked(const std::filesystem::path& path, const Schedule& schedule);

}  // namespace weft
