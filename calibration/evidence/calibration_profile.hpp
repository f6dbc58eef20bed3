// A machine profile as a JSON document whose numbers are replaced one by one; everything else stays as it is.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

/// In the file's order of keys, with the networks that it shares with another profile. Throws InputError "FILE: …".
nlohmann::ordered_json read_profile(const std::filesystem::path& path);

/// Five significant digits: fewer than any measurement determines lose nothing.
double rounded(double value);

/// What a profile says under this name; of a section in a section both are named, "fabric.host". Throws InputError
/// where it says nothing.
nlohmann::ordered_json& section_of(nlohmann::ordered_json& profile, const std::string& name);

/// Replaces a number, or puts it where the profile had left it out. `note` may be empty. Throws InputError for what is
/// no number of a profile.
void set_number(nlohmann::ordered_json& profile, const std::string& section, const std::string& key, double value,
                const std::string& source, const std::string& note);

/// Replaces all curves under `key` (collectives, symmetric_collectives) of the same transport, collective and GPU
/// count; the others stay.
void set_curves(nlohmann::ordered_json& profile, const std::string& key, const std::vector<CollectiveCurve>& curves,
                const std::string& source);

/// Replaces the range of each quantity; those of other quantities stay.
void set_ranges(nlohmann::ordered_json& profile, const std::vector<CalibratedRange>& ranges);

/// Replaces the bands of each of its strata in its condition; those of others stay.
void set_errors(nlohmann::ordered_json& profile, const ErrorBands& errors, const std::string& source);

/// Replaces the section "conditions", or puts it before "gpu", where it stands by what the machine is.
void set_conditions(nlohmann::ordered_json& profile, const nlohmann::ordered_json& conditions);

}  // namespace weft::calibration::evidence
