// Reading a schedule from a file: nobody gets one that cannot run.
#pragma once

#include <filesystem>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Reads and validates (see validation.hpp). Throws InputError "FILE: FIELD: …".
Schedule read_schedule(const std::filesystem::path& path);

}  // namespace weft
