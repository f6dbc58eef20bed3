// What other software has to be told to run as advised: a file for each, in that software's own format, and
// settings.json, which says what each file is, for which version and why. docs/settings.md shows them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

struct SettingsFile {
  std::string name;     ///< of the file, with the version that it was written for
  std::string tool;     ///< "vLLM 0.18"
  std::string use;      ///< how the tool gets it
  std::string because;  ///< what of the exploration it follows from
  std::string text;
};

/// Of each software that some answer says something about; the last is settings.json. Where too much is assumed for
/// any advice (`grade`, of evidence_of_advice()) nobody is told to overlap anything.
std::vector<SettingsFile> settings_of(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                                      Grade grade);

/// The files that the settings.json of an earlier answer names in this folder; none where there is no such file. Throws
/// InputError for one that is something else.
std::vector<std::string> settings_of_before(const std::filesystem::path& folder);

}  // namespace weft::scenarios::study
