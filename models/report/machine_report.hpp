// Machine profiles as tables.
#pragma once

#include <filesystem>

#include "models/report/report.hpp"

namespace weft::report {

/// Every number of a profile with its unit, meaning, range and source; those that it leaves out last. Throws InputError
/// as read_machine() does.
Table numbers_of(const std::filesystem::path& profile);

/// Names of the shipped profiles, and what they are of.
Table all_machines();

}  // namespace weft::report
